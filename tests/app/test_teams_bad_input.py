"""Teams that cannot work, on the Teams page: told in words, nothing runs, nothing is lost."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from agentkit import runs
from agentkit.ui.teams import drafts as forms_drafts
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, texts
from tests.app.test_prompts import click
from tests.app.test_teams import document_of, run
from tests.teams.built import drafts

HOSTILE = '<img src=x onerror=alert(1)>"]; a -> b [label="'


def changed(draft: dict[str, Any], **agent: Any) -> dict[str, Any]:
    return {**draft, "agents": [draft["agents"][0] | agent, *draft["agents"][1:]]}


def give(document: Any) -> Any:
    """Import a file with this in it."""
    app = open_page("teams")
    text = document if isinstance(document, str) else json.dumps(document)
    app.file_uploader[0].set_value([("team.json", text.encode(), "application/json")])
    return run(app)


REFUSED: dict[str, tuple[Any, str]] = {
    "no json": ("{", "it is not JSON"),
    "no team": ("[]", "makes no agents"),
    "very deep": ('{"a":' * 100_000 + "1" + "}" * 100_000, "it is not JSON"),
    "something else": ({"format": "recipe"}, "its format is 'recipe'"),
    "a newer version": ({**drafts.single(), "version": 9}, "newer than this agentkit knows"),
    "an unknown way": ({**drafts.single(), "flow": {"kind": "swarm"}}, "flow"),
    "an unknown key": (changed(drafts.single(), colour="red"), "agents[1].colour"),
    "1,000 agents": (
        {**drafts.single(), "agents": [drafts.agent(f"A{n}") for n in range(1_000)]},
        "at most 50 items",
    ),
    "half a letter": (changed(drafts.single(), system_message="\ud800"), "half a letter"),
    "a very long prompt": (changed(drafts.single(), system_message="x" * 3_000_000), "characters"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_team_is_refused_with_the_reason(
    workspace: ScriptableWorkspace, name: str
) -> None:
    document, told = REFUSED[name]
    app = give(document)
    assert told in texts(app)
    assert workspace.ledger.settings(OWNER, "").get("teams") is None
    assert workspace.kept_teams.newest(OWNER) == []


CIRCLE = {"sender": "Helper", "recipient": "Asker", "message": "And you?"}
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown tool": (changed(drafts.single(), tools=[{"name": "gone"}]), "no tool 'gone'"),
    "a missing model": (
        changed(drafts.single(), llm={"model": "gone"}),
        "the model 'gone' is not connected",
    ),
    "a circle": (drafts.pair(nested=[CIRCLE]), "that would be a circle"),
    "two of one name": (
        {**drafts.group(), "agents": [drafts.agent("Ann")] * 3},
        "3 agents are called 'Ann'",
    ),
    "nobody of that name": (drafts.group(writer="Zoe"), "there is no agent 'Zoe'"),
    "a hostile name": (
        {
            **drafts.single(),
            "agents": [drafts.agent(HOSTILE)],
            "flow": {"kind": "single", "agent": f"{HOSTILE} "},
        },
        "there is no agent",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_work_is_kept_told_and_not_run(
    workspace: ScriptableWorkspace, name: str
) -> None:
    document, told = WRONG[name]
    app = give(document)
    assert told in texts(app).replace("\\", "")
    [team_id] = workspace.ledger.settings(OWNER, "")["teams"]
    assert app.button(key="save-team").disabled
    assert app.button(key="use-team").disabled
    assert app.button(key=f"team-{team_id}-try-go").disabled
    assert document_of(workspace, team_id)["agents"][0]["name"] == document["agents"][0]["name"]
    assert runs.live(OWNER) == []
    assert workspace.kept_teams.newest(OWNER) == []


def test_a_hostile_prompt_is_only_text(workspace: ScriptableWorkspace) -> None:
    prompt = f"{HOSTILE}\n```\n{{code}}\x00\x1b[2J $x$ :material/home: \u202e"
    app = give(changed(drafts.single(), name=HOSTILE, system_message=prompt) | SOLO)
    [team_id] = workspace.ledger.settings(OWNER, "")["teams"]
    assert document_of(workspace, team_id)["agents"][0]["system_message"] == prompt
    click(app, "save-team")
    [kept] = workspace.kept_teams.newest(OWNER)
    assert kept.document["agents"][0]["system_message"] == prompt


SOLO = {"flow": {"kind": "single", "agent": HOSTILE}}


@pytest.mark.parametrize("change", [{"version": 9}, {"flow": {"kind": "swarm"}}, {"flow": None}])
def test_a_kept_team_of_a_newer_agentkit_is_told_and_stays_as_it_is(
    workspace: ScriptableWorkspace, change: dict[str, Any]
) -> None:
    kept = workspace.save_team(OWNER, drafts.single())
    newer = {**kept.document, **change}
    workspace.kept_teams.save(OWNER, "One", newer, kept.id)
    app = open_page("teams")
    click(app, f"open-{kept.id}")
    assert re.search("cannot be read|newer than this agentkit knows", texts(app))
    assert workspace.kept_teams.find(OWNER, kept.id).document == newer
    click(app, "roll-back-1")
    assert workspace.kept_teams.find(OWNER, kept.id).document == kept.document
    assert not app.button(key="use-team").disabled


def test_a_team_of_an_older_agentkit_has_what_came_since(workspace: ScriptableWorkspace) -> None:
    kept = workspace.save_team(OWNER, drafts.group())
    older = json.loads(json.dumps(kept.document))
    del older["flow"]["ends_on"], older["flow"]["max_round"]
    team = workspace.kept_teams.save(OWNER, "Three", older, kept.id)
    app = open_page("teams")
    click(app, f"open-{team.id}")
    assert app.number_input(key=f"team-{team.id}-0-flow-max_round").value == 16
    assert forms_drafts.open_draft(team.id).document == kept.document


def test_an_address_of_a_team_that_is_not_there_is_told_below_a_title(
    workspace: ScriptableWorkspace,
) -> None:
    app = open_page("teams", team="own:nowhere")
    assert [one.value for one in app.title] == ["Teams"]
    assert len(app.warning) == 1
    assert "All teams" in [one.label for one in app.button]
