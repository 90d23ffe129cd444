"""Teams on the Teams page: brought in from files, renamed, rolled back, duplicated, deleted, and
kept as they were by the chats that used them.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from agentkit.errors import ConfigError
from agentkit.events import HumanInputRequested
from agentkit.runs import Run
from agentkit.teams import Answer, Question, Team
from agentkit.teams.built.document import read_document
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, texts
from tests.app.test_prompts import choose, click
from tests.teams.built import drafts

SCRIPT = b"""a = AssistantAgent('solo', description=make())
raise SystemExit(9)
"""


def give(app: AppTest, name: str, content: bytes) -> None:
    """Choose a file to import."""
    uploader: Any = app.get_by_key("team-file-0")
    uploader.set_value([(name, content, "text/plain")]).run()
    assert not app.exception, app.exception[0].stack_trace


def test_a_script_is_imported_and_what_did_not_fit_is_told(kitchen: ScriptableWorkspace) -> None:
    app = open_page("teams")
    give(app, "solo.py", SCRIPT)
    assert "a: description is computed, so it was not taken" in texts(app).replace("\\", "")
    click(app, "save-team")
    [kept] = kitchen.kept_teams.newest(OWNER)
    assert [one["name"] for one in kept.document["agents"]] == ["solo"]


def test_one_of_several_workflows_is_chosen(kitchen: ScriptableWorkspace) -> None:
    ends = {"sender": {"type": "userproxy"}, "receiver": {"type": "assistant"}}
    flows = [{"name": name, **ends} for name in ("First", "Second")]
    app = open_page("teams")
    give(app, "studio.json", json.dumps({"workflows": flows}).encode())
    assert [one.value for one in app.title] == ["Teams"]
    app.radio(key="team-workflow").set_value(1).run()
    assert not app.exception
    assert [one.value for one in app.title] == ["Second"]


def test_what_was_exported_is_imported_as_it_was(kitchen: ScriptableWorkspace) -> None:
    whole = read_document(drafts.group()).to_json()
    app = open_page("teams")
    give(app, "three.team.json", json.dumps(whole).encode())
    click(app, "save-team")
    [kept] = kitchen.kept_teams.newest(OWNER)
    assert kept.document == whole
    assert Team.from_json(kept.document).agents == ("Ann", "Bob", "Cid")


def test_a_store_of_its_own_is_opened_for_this_machine_alone(
    kitchen: ScriptableWorkspace, tmp_path: Path
) -> None:
    (tmp_path / "notes.md").write_text("Steep it at 80 degrees.")
    config = {"vector_db": "duckdb", "docs_path": [str(tmp_path / "notes.md")]}
    kept = kitchen.save_team(OWNER, drafts.retrieve_chat(retrieve_config=config))
    model = kitchen.script("Steeped at 80 degrees.", "Yes.", "No.")
    asked = Question("How hot?", "Kitchen", kept.key, model.id)
    run = kitchen.ask(OWNER, asked)
    (request,) = answer_all(run, "approve")
    assert str(tmp_path) in request.draft
    assert run.result().text == "Steeped at 80 degrees."

    asked = dataclasses.replace(asked, chat_id=run.chat_id)
    again = kitchen.ask(OWNER, asked)
    assert answer_all(again) == []  # agreed to in this chat

    kitchen.adopt(dataclasses.replace(kitchen.settings, open=True))
    refused = kitchen.ask(OWNER, asked)
    with pytest.raises(ConfigError, match="serves other machines"):
        refused.result()


def answer_all(run: Run[Answer], *answers: str) -> list[HumanInputRequested]:
    """What the run asks, each answered in turn, until it ends."""
    asked, left = [], list(answers)
    for event in (one.event for one in run):
        if isinstance(event, HumanInputRequested):
            asked.append(event)
            run.answer(left.pop(0), event.request_id)
    return asked


def test_a_team_is_renamed_rolled_back_duplicated_and_deleted(
    kitchen: ScriptableWorkspace,
) -> None:
    first = kitchen.save_team(OWNER, drafts.retrieve_chat())
    model = kitchen.script("Steeped at 80 degrees [1].")
    run = kitchen.ask(OWNER, Question("How hot?", "Kitchen", first.key, model.id))
    run.result()

    app = open_page("teams", team=first.id)
    name: Any = next(one for one in app.text_input if one.label == "Name")
    name.set_value("Tea readers").run()
    click(app, "save-team")
    assert kitchen.kept_teams.find(OWNER, first.id).name == "Tea readers"
    chat = kitchen.ledger.chat(OWNER, run.chat_id or "")
    assert kitchen.team(OWNER, chat.team).name == "RetrieveChat", "chats keep their version"

    click(app, "roll-back-1")
    newest = kitchen.kept_teams.find(OWNER, first.id)
    assert (newest.version, newest.name) == (3, "RetrieveChat")

    app = open_page("teams")
    choose(app, f"team-menu-{first.id}", "Duplicate")
    assert [one.name for one in kitchen.kept_teams.newest(OWNER)] == [
        "RetrieveChat",
        "RetrieveChat (2)",
    ]
    choose(app, f"team-menu-{first.id}", "Delete")
    assert [one.name for one in kitchen.kept_teams.newest(OWNER)] == ["RetrieveChat (2)"]
    click(app, "restore-team")
    assert len(kitchen.kept_teams.newest(OWNER)) == 2
