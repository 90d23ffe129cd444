"""Every team stays below the model's window, or says before a call why it cannot."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agentkit import runs
from agentkit.errors import ContextTooLong
from agentkit.events import Compressed, Noted
from agentkit.llm.calls.room import STRATEGY
from agentkit.llm.calls.scripted import scripted_model
from agentkit.llm.tokens.counting import count_messages
from agentkit.messages import message
from agentkit.retrieval import Hit
from agentkit.teams import Question, Task, team
from tests.teams.stage import Played, asked, call, hit

WINDOW = 3_000
LONG = "The river flows from the mountains to the sea, past many towns. " * 30


def _played(team_id: str, model: Any, **settings: Any) -> Played:
    hits = [hit(number, f"River {number}. {LONG}") for number in range(1, 13)]

    def look_up(query: str) -> list[Hit]:
        return hits

    task = Task(
        Question("How long is it?"),
        model,
        look_up,
        answer_id="answer",
        parent_id="question",
        **settings,
    )
    run = runs.start(lambda: team(team_id).work(task), kind="chat", owner="stage", chat_id="chat")
    played = Played([recorded.event for recorded in run])
    played.result = run.result()
    return played


def _replies(request: dict[str, Any]) -> Any:
    said = " ".join(str(each.get("content")) for each in request["messages"])
    if "Break the user's question" in said:
        return "river one\nriver two"
    if "tools" in request and request["messages"][-1]["role"] != "tool":
        return call("search_documents", query="river")
    return "It is long [1]. TERMINATE"


@pytest.mark.parametrize("team_id", ["answer", "research", "assistant", "group:round_robin"])
def test_no_request_of_a_team_is_longer_than_the_window(team_id: str) -> None:
    model = replace(scripted_model(_replies), context_window=WINDOW)  # type: ignore[arg-type]
    history = [message("user" if n % 2 == 0 else "assistant", LONG) for n in range(6)]
    played = _played(team_id, model, history=history)
    assert played.final.content.startswith("It is long [1].")
    sizes = [count_messages(messages, "scripted")[0] for messages in asked(model)]
    assert max(sizes) < WINDOW
    assert all(
        "How long is it?" in str(messages) or "river" in str(messages) for messages in asked(model)
    )
    assert any(event.strategy == STRATEGY for event in played.of(Compressed))


def test_of_passages_that_do_not_all_fit_the_best_are_given_and_that_is_told() -> None:
    model = replace(scripted_model(["It is long [1][9]."]), context_window=WINDOW)
    played = _played("answer", model)
    assert [each["marker"] for each in played.final.extra["citations"]] == [1]
    assert [told.text for told in played.of(Noted)] == [
        "Of 12 passages, the first 4 fit into the model's window."
    ]
    assert len(asked(model)) == 1


def test_a_question_that_does_not_fit_is_refused_before_a_call() -> None:
    model = replace(scripted_model(["never"]), context_window=300)
    with pytest.raises(ContextTooLong, match="so it was not sent"):
        _played("answer", model)
    assert asked(model) == []
