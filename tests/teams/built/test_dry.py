"""A dry run goes through every team: ready-made, begun from a template, and with odd settings."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from agentkit.documents import DocumentText
from agentkit.events import ModelReplied
from agentkit.teams import registry
from agentkit.teams.built.document import read_document
from agentkit.teams.built.dry import make_stand_in
from agentkit.teams.built.problems import find_problems
from agentkit.teams.built.ready_made import ready_made
from agentkit.teams.built.team import build_team
from agentkit.ui.teams.templates import TEMPLATES, begin
from tests.teams.stage import Played, play

DRAFTS = {one.id: ready_made(one.id).to_json() for one in registry.teams()}
DRAFTS |= {f"new {kind}": begin(kind, kind) for kind in TEMPLATES}
ODD: Mapping[str, Mapping[str, Any]] = {
    "single": {"max_turns": 1},
    "two_agents": {"max_turns": 1},
    "group": {
        "speaker_selection_method": "auto",
        "max_round": 2,
        "ends_on": {"text": "]}{%", "where": "is"},
        "send_introductions": True,
        "func_call_filter": False,
        "allow_repeat_speaker": False,
        "role_for_select_speaker_messages": "user",
        "max_retries_for_selecting_speaker": 0,
        "select_speaker_prompt_template": "Who is next of {agentlist}? {{}}{{",
    },
    "queue": {},
    "retrieve_chat": {
        "max_turns": 1,
        "retrieve_config": {"task": "code", "n_results": 1, "update_context": False},
    },
    "dialogue": {"parser": "tags", "hub": False, "turns_limit": 1},
    "plan": {"prompts": "chinese", "max_turn": 1, "replans": 0, "most_steps": 1, "at_once": 1},
    "answer": {"nothing_prompt": "{", "rewrite_prompt": "}{0}%s"},
    "research": {"parts": 1, "per_part": 1, "passages": 1},
    "table": {"fields": "fields (list), “odd” name (number): x of y, state (open|paid)"},
    "werewolf": {"max_days": 1, "seat": False, "rules_prompt": "{rules} %s {"},
}
"""By the kind of flow, what few would set."""
ODD_AGENT = {
    "system_message": "{braces} %s {0} [1]\n```json\n{}\n```\nTERMINATE UPDATE CONTEXT",
    "description": "\u202ebackwards",
    "is_termination_msg": {"text": "", "where": "is"},
    "max_consecutive_auto_reply": 1,
    "llm": {"temperature": 0.0, "max_tokens": 1},
}


@dataclass
class Paper:
    """A document, whose text looks like what is asked for."""

    name: str = "odd.txt"
    id: str = "d1"

    def read(self) -> DocumentText:
        return DocumentText('{"properties": 1}\nfields: ', (), "text/plain", self.name, None)


def play_dry(draft: Mapping[str, Any]) -> Played:
    document = read_document(draft)
    assert find_problems(document) == []
    team, stand_in = build_team(document, "try"), make_stand_in(document)
    return play(team, stand_in, answer_s=0.0, more={"documents": lambda: [Paper()]})


def make_odd(draft: Mapping[str, Any]) -> dict[str, Any]:
    """A copy with settings that few would choose."""
    odd = copy.deepcopy(dict(draft))
    for agent in odd["agents"]:
        speaks = agent.get("llm", {}) is not None
        agent |= {key: ODD_AGENT[key] for key in ODD_AGENT if key != "llm" or speaks}
    if odd["flow"]["kind"] == "plan":  # what it is told stands in the prompts
        for agent in odd["agents"]:
            del agent["system_message"]
    if odd["flow"].get("transitions"):
        odd["flow"] |= {"transitions": []}
    odd["flow"] |= ODD[odd["flow"]["kind"]]
    for one in odd["flow"].get("chats", ()):
        one |= {"carryover": False, "max_turns": 1, "summary_method": "reflection_with_llm"}
    return odd


@pytest.mark.parametrize("name", DRAFTS)
def test_each_is_gone_through_without_a_model(name: str) -> None:
    played = play_dry(DRAFTS[name])
    assert played.error is None
    assert played.final.content
    assert played.of(ModelReplied)
    assert {one.status for one in played.of(ModelReplied)} == {"ok"}


@pytest.mark.parametrize("name", DRAFTS)
def test_a_copy_of_each_with_odd_settings_is_gone_through_too(name: str) -> None:
    played = play_dry(make_odd(DRAFTS[name]))
    assert played.error is None
    assert played.final.content
