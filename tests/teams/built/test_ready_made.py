"""The ready-made teams as documents: asked the same, their models are asked the same."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentkit.core.tools import effects
from agentkit.llm.calls.scripted import ScriptedClient, scripted_model
from agentkit.messages import message
from agentkit.retrieval import Hit
from agentkit.teams import registry, team
from agentkit.teams.built.document import read_document
from agentkit.teams.built.problems import find_problems
from agentkit.teams.built.ready_made import ready_made
from agentkit.teams.built.script import write_script
from agentkit.teams.built.team import build_team
from tests.teams.stage import RIVERS, asked, call, play

IDS = [known.id for known in registry.teams()]
HISTORY = [message("user", "Hello"), message("assistant", "Hi there.")]
FOUND = [call("search_documents", query="Danube"), call("find_exact", text="Volga")]
PLANNED = "Plan: find it\n#E1 = search_documents[Danube]\nPlan: halve\n#E2 = calculate[6 / 2]"
CASES: dict[str, list[Any]] = {
    "answer": ["How long is the Danube?", "It is long [1]."],
    "research": ["How long is the Danube?", "Danube\nVolga", "Long [1][2]."],
    "plan": [PLANNED, "It is long [1]."],
    "assistant": [*FOUND, "It is long [1]."],
    "tools": [*FOUND, call("todays_date"), call("send", amount=5), "Long [1].\n**TERMINATE**"],
    "group:round_robin": [FOUND[0], "Found [1].", "Well said.", "Long [1].\nTERMINATE"],
    "group:auto": ["Researcher", FOUND[0], "It is [1].", "Writer", "Long [1].\n**TERMINATE**"],
}


def find(text: str) -> list[Hit]:
    return [hit for hit in RIVERS.values() if text in hit.text]


@effects("some")
def send(amount: int) -> str:
    """Send money."""
    return f"sent {amount}"


def requests(chosen: Any, script: list[Any]) -> list[Any]:
    model = scripted_model(script)
    answers = ["approve"] if any("send" in str(one) for one in script) else []
    played = play(chosen, model, history=HISTORY, find=find, tools=[send], answers=answers)
    assert played.error is None
    assert len(asked(model)) == len(script)
    client = model.client
    assert isinstance(client, ScriptedClient)
    sent = [(one["messages"], one.get("tools")) for one in client.requests]
    return [played.final.content, played.final.extra["citations"], *sent]


@pytest.mark.parametrize("team_id", IDS)
def test_each_has_a_document_that_can_work(team_id: str) -> None:
    document = ready_made(team_id)
    assert find_problems(document) == []
    assert read_document(json.dumps(document.to_json())) == document
    compile(write_script(document), "team.py", "exec")


@pytest.mark.parametrize("team_id", IDS)
def test_it_is_known_for_what_the_ready_made_one_is(team_id: str) -> None:
    ready, built = team(team_id), build_team(ready_made(team_id), "my-team:1")
    told = "name description answers_at_once needs_language_model calls_tools takes_part plans"
    keys = [*told.split(), "hears", "speaks_in_fields", "keeps_secrets"]
    assert {key: getattr(built, key) for key in keys} == {key: getattr(ready, key) for key in keys}
    assert built.agents[-1] == ready.agents[-1]


@pytest.mark.parametrize("team_id", CASES)
def test_it_asks_what_the_ready_made_one_asks(team_id: str) -> None:
    built = build_team(ready_made(team_id), "my-team:1")
    assert requests(built, CASES[team_id]) == requests(team_id, CASES[team_id])
