"""Teams under a limit: what was written is the answer, with the reason; without any, the limit is
the error.
"""

from __future__ import annotations

from typing import Any

import pytest

from agentkit.errors import LimitReached
from agentkit.events import LimitTold, ModelReplied
from agentkit.llm.calls.limits import Limit, limited
from agentkit.llm.calls.scripted import scripted_model
from tests.teams.stage import DANUBE, Played, asked, call, play

LONG = "The river was measured in many ways by many people over many years. " * 40


def under(tokens: int, team_id: str, *replies: Any, **settings: Any) -> tuple[Played, Any]:
    model = scripted_model(list(replies))
    with limited(run=Limit(tokens=tokens)):
        return play(team_id, model, **settings), model


def taken(played: Played) -> int:
    return sum(event.usage.total for event in played.of(ModelReplied))


def test_what_the_writer_wrote_last_is_the_answer() -> None:
    turns: list[Any] = [
        "It is 2,850 km long.",
        f"Nothing is missing. {LONG}",
        "The Danube is 2,850 km long, I think.",
        LONG,
        LONG,
    ]
    played, model = under(2_500, "group:round_robin", *turns)
    assert 3 <= len(asked(model)) < 5
    assert played.result is not None
    assert played.result.text == "The Danube is 2,850 km long, I think."
    assert (played.result.end.kind, played.result.end.limit, played.result.end.unit) == (
        "allowance",
        2_500,
        "tokens",
    )
    assert played.final.extra["end"] == played.result.end.to_json()
    assert (played.final.status, played.final.sender) == ("complete", "Writer")
    assert taken(played) <= 2_500


def test_with_nothing_written_the_answer_is_made_from_what_was_found_if_that_fits() -> None:
    # The note beside the call makes the next prompt too long; the question with the passage alone
    # is short.
    noted = {**call("search_documents", query="Danube"), "content": LONG}
    played, model = under(1_300, "assistant", noted, "It is 2,850 km long [1].")
    assert len(asked(model)) == 2
    assert played.result is not None
    assert played.result.text == "It is 2,850 km long [1]."
    assert played.final.extra["end"] == {
        "kind": "allowance",
        "agent": "Assistant",
        "limit": 1_300,
        "unit": "tokens",
    }
    assert [each["text"] for each in played.final.extra["citations"]] == [DANUBE]
    assert taken(played) <= 1_300


@pytest.mark.parametrize(
    ("team_id", "agent"),
    [("answer", "Assistant"), ("research", "Researcher"), ("assistant", "Assistant")],
)
def test_without_any_answer_the_limit_is_the_error(team_id: str, agent: str) -> None:
    played, model = under(20, team_id)
    assert asked(model) == []
    assert isinstance(played.error, LimitReached)
    told = played.of(LimitTold)[-1]
    assert (told.agent, told.scope, told.unit, told.limit, told.reached) == (
        agent,
        "run",
        "tokens",
        20,
        True,
    )
    assert str(played.error).startswith(
        f"The limit of 20 tokens was reached: with the next call of {agent}, the run would take at"
        f" least {told.used:,} tokens."
    )


def test_passages_that_no_longer_fit_either_end_in_the_limit() -> None:
    played, model = under(350, "assistant", call("search_documents", query="Danube"), "never asked")
    assert len(asked(model)) == 1
    assert isinstance(played.error, LimitReached)
    assert played.result is None
