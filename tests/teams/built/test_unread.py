"""Settings of agents that nobody reads as the team works together: told, and no harm."""

from __future__ import annotations

from typing import Any

import pytest

from agentkit.teams import teams
from agentkit.teams.built.document import read_document
from agentkit.teams.built.problems import find_problems
from agentkit.teams.built.ready_made import ready_made
from agentkit.teams.built.unread import Unread, list_unread
from agentkit.ui.teams.templates import TEMPLATES, begin
from tests.teams.built import drafts

COMPRESS = {"mode": "COMPRESS"}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "nothing": (drafts.pair(), {}, []),
    "compression in a talk": (drafts.group(), {"compress_config": COMPRESS}, []),
    "compression in fields": (
        drafts.discussion(),
        {"compress_config": COMPRESS},
        ["compress_config"],
    ),
    "compression without a model": (
        drafts.queue(),
        {"llm": None, "compress_config": COMPRESS},
        ["compress_config"],
    ),
    "words of one that runs code": (
        drafts.pair(),
        {"role": "runner", "code": {}, "system_message": "Be kind.", "llm": {"seed": 1}},
        ["system_message", "llm"],
    ),
    "code in a plan": (drafts.plan(), {"code": {}, "silent": True}, ["code", "silent"]),
    "tools of one that only answers": (
        drafts.cited_answer(),
        {"tools": [{"name": "calculate"}], "human_input_mode": "ALWAYS"},
        ["tools", "human_input_mode"],
    ),
    "memory in a talk": (drafts.single(), {"dialog": {"use_memory": False}}, ["dialog"]),
}


@pytest.mark.parametrize("name", CASES)
def test_what_nobody_reads_is_found(name: str) -> None:
    draft, settings, wanted = CASES[name]
    first, *others = draft["agents"]
    document = read_document({**draft, "agents": [first | settings, *others]})
    assert list_unread(document) == [Unread(f"agents[1].{one}") for one in wanted]
    assert find_problems(document) == [], "it is no reason not to work"


@pytest.mark.parametrize("kind", ["solver", "writer"])
def test_who_only_writes_looks_nothing_up(kind: str) -> None:
    draft = drafts.plan() if kind == "solver" else drafts.research()
    draft["agents"][1]["documents"] = {}
    assert list_unread(read_document(draft)) == [Unread("agents[2].documents")]


def test_who_takes_no_part_is_found() -> None:
    draft = drafts.group(agents=["Ann", "Cid"])
    assert list_unread(read_document(draft)) == [Unread("agents[2].name", takes_no_part=True)]


@pytest.mark.parametrize("team", teams(), ids=lambda team: team.id)
def test_ready_made_teams_have_no_such_settings(team: Any) -> None:
    assert list_unread(ready_made(team.id)) == []


@pytest.mark.parametrize("kind", TEMPLATES)
def test_nor_have_those_to_begin_with(kind: str) -> None:
    assert list_unread(read_document(begin(kind, "Team"))) == []


@pytest.mark.parametrize("gift", [{"tools": [{"name": "calculate"}]}, {"documents": {}}])
def test_who_runs_code_calls_no_tools(gift: dict[str, Any]) -> None:
    draft = drafts.pair()
    draft["agents"][0] |= {"code": {}, "llm": {}, **gift}
    assert [one.place for one in find_problems(read_document(draft))] == ["agents[1].code"]


def test_who_runs_code_cannot_answer() -> None:
    draft = drafts.pair()
    draft["agents"][1] = drafts.agent("Helper", code={})
    problems = find_problems(read_document(draft))
    assert [(one.place, one.text) for one in problems] == [
        ("flow.answers", "Helper has no model to answer with")
    ]
