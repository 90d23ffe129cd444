"""The assistant: looks up when its model asks for it, numbers what it finds, says why it ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from agentkit import runs
from agentkit.errors import AgentkitError, ModelAuthFailed, Stopped
from agentkit.events import Event, MessageSent, TokenDelta, ToolCalled, ToolReturned
from agentkit.llm.calls.scripted import ScriptedClient, scripted_model
from agentkit.llm.connections.config import offline_model
from agentkit.messages import message
from agentkit.reasons import end_from_json
from agentkit.retrieval import Hit
from agentkit.runs import Run
from agentkit.teams import Answer, assistant
from tests.teams.stage import DANUBE, RIVERS, VOLGA, Played, asked, call, play


def test_passages_are_numbered_on_over_several_searches_and_become_citations() -> None:
    model = scripted_model(
        [
            call("search_documents", query="Danube"),
            call("search_documents", query="Danube and Volga"),
            "The Danube has 2,850 km [1], the Volga is longer [2].\n\nTERMINATE",
        ]
    )
    played = play("assistant", model)
    assert [event.name for event in played.of(ToolCalled)] == ["search_documents"] * 2
    assert [event.content.count("<passage ") for event in played.of(ToolReturned)] == [1, 2]
    final = played.final
    assert final.content == "The Danube has 2,850 km [1], the Volga is longer [2]."
    assert (final.id, final.sender, final.status) == ("answer", "Assistant", "complete")
    assert "end" not in final.extra, "that the assistant was done goes without saying"
    assert [(each["marker"], each["text"]) for each in final.extra["citations"]] == [
        (1, DANUBE),
        (2, VOLGA),
    ]
    assert played.result is not None
    assert played.result.stopped_because == "answered"


def test_exact_words_can_be_looked_up_where_the_task_allows_it() -> None:
    def tools(find: Callable[[str], list[Hit]] | None) -> tuple[set[str], Played]:
        model = scripted_model([call("find_exact", text="2,850"), "2,850 km [1]."])
        played = play("assistant", model, find=find)
        assert isinstance(model.client, ScriptedClient)
        return {tool["function"]["name"] for tool in model.client.requests[0]["tools"]}, played

    names, played = tools(lambda text: [RIVERS["danube"]])
    assert names == {"search_documents", "find_exact"}
    assert [each["text"] for each in played.final.extra["citations"]] == [DANUBE]
    assert tools(None)[0] == {"search_documents"}


def test_inner_messages_follow_one_another_up_to_the_answer() -> None:
    played = play(
        "assistant", scripted_model([call("search_documents", query="Danube"), "2,850 km [1]."])
    )
    chain = [*played.inner, played.final]
    assert [said.parent_id for said in chain] == ["question", *(said.id for said in chain[:-1])]
    assert [said.sender for said in played.inner] == [
        "Library",
        "Assistant",
        "Library",
        "Assistant",
    ]


def test_earlier_turns_go_along_without_their_markers() -> None:
    model = scripted_model(["You are welcome."])
    played = play(
        "assistant",
        model,
        "Thanks!",
        history=[message("user", "How long?"), message("assistant", "2,850 km [1].")],
    )
    sent = asked(model)[0]
    assert [turn["role"] for turn in sent] == ["system", "user", "assistant", "user"]
    assert [turn["content"] for turn in sent[1:]] == ["How long?", "2,850 km .", "Thanks!"]
    assert sent[-1]["name"] == "User"
    assert played.final.extra["citations"] == []


def test_offline_it_answers_from_the_passages() -> None:
    played = play("assistant", offline_model())
    assert played.final.content == f"{DANUBE} [1]"
    assert played.inner == []


def test_whoever_never_stops_searching_answers_from_what_was_found() -> None:
    searches = [call("search_documents", query="Danube")] * (assistant.SEARCHES + 1)
    played = play("assistant", scripted_model([*searches, "2,850 km [1]."]))
    assert len(played.of(ToolCalled)) == assistant.SEARCHES
    assert played.final.content == "2,850 km [1]."
    assert played.result is not None
    assert (played.result.end.kind, played.result.end.limit) == ("replies", assistant.SEARCHES)
    assert end_from_json(played.final.extra["end"]) == played.result.end


def test_many_look_ups_that_find_nothing_end_in_an_answer_that_says_so() -> None:
    searches = [call("search_documents", query="nothing")] * (assistant.SEARCHES + 1)
    model = scripted_model([*searches, "The documents do not tell."])
    played = play("assistant", model)
    assert played.final.content == "The documents do not tell."
    assert played.result is not None
    assert (played.result.end.kind, played.result.end.limit) == ("replies", assistant.SEARCHES)
    assert end_from_json(played.final.extra["end"]) == played.result.end
    assert isinstance(model.client, ScriptedClient)
    assert "tools" not in model.client.requests[-1]


def test_no_answer_at_all_is_an_error_that_says_why() -> None:
    played = play(
        "assistant", scripted_model(lambda request: call("search_documents", query="nothing"))
    )
    assert isinstance(played.error, AgentkitError)
    assert "Assistant wrote no answer: the limit of 8 steps was reached." in str(played.error)


def test_an_empty_last_reply_is_made_up_for_by_what_was_found_or_is_an_error() -> None:
    played = play(
        "assistant",
        scripted_model([call("search_documents", query="Danube"), "TERMINATE", "2,850 km [1]."]),
    )
    assert (played.final.content, played.final.extra.get("end")) == ("2,850 km [1].", None)
    played = play("assistant", scripted_model(["TERMINATE"]))
    assert isinstance(played.error, AgentkitError)
    assert "Assistant wrote no answer: the last reply of the model was empty." in str(played.error)


def test_an_unknown_tool_is_told_to_the_model() -> None:
    played = play("assistant", scripted_model([call("open_door"), "I cannot."]))
    (returned,) = played.of(ToolReturned)
    assert not returned.ok
    assert "search_documents" in returned.content
    assert played.final.content == "I cannot."


def test_stopped_while_it_writes_the_part_is_kept() -> None:
    def stop_after_two(event: Event, run: Run[Answer]) -> None:
        heard.append(event)
        if sum(isinstance(one, TokenDelta) for one in heard) == 2:
            run.stop()

    heard: list[Event] = []
    model = scripted_model(
        [call("search_documents", query="Danube"), "It is [1] " + "long " * 200], delay_s=0.02
    )
    played = play("assistant", model, on_event=stop_after_two)
    assert played.final.status == "stopped"
    assert played.final.content.startswith("It is")
    assert len(played.final.content) < 500
    assert played.result is not None
    assert played.result.stopped_because == "stopped"


def test_stopped_before_a_word_was_written_nothing_is_sent() -> None:
    def stop(request: Mapping[str, Any]) -> str:
        run = runs.current()
        assert run is not None
        run.stop()
        return "Never said."

    played = play("assistant", scripted_model([call("search_documents", query="Danube"), stop]))
    assert isinstance(played.error, Stopped)
    assert [said for said in played.of(MessageSent) if not said.extra["inner"]] == []


def test_an_error_of_the_model_comes_through() -> None:
    played = play("assistant", scripted_model([ModelAuthFailed("no key")]))
    assert isinstance(played.error, ModelAuthFailed)


def test_nothing_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    play("assistant", scripted_model([call("search_documents", query="Danube"), "2,850 km [1]."]))
    assert capsys.readouterr().out == ""
