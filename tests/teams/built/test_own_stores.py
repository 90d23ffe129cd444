"""A store of an agent's own reads files of this computer, so nothing of it is opened unasked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentkit.errors import ConfigError
from agentkit.events import Retrieved
from agentkit.llm.calls.scripted import scripted_model
from agentkit.teams.built.document import read_document
from agentkit.teams.built.team import build_team
from tests.teams.built import drafts
from tests.teams.stage import Played, play

TEA = "Green tea is brewed at 70 degrees."


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    file = tmp_path / "notes.md"
    file.write_text(TEA)
    return file


def ask(notes: Path, *answers: str, db_config: object = None, **more: Any) -> Played:
    config = {"vector_db": "duckdb", "docs_path": [str(notes)], "db_config": db_config or {}}
    draft = drafts.retrieve_chat(retrieve_config=config)
    made = build_team(read_document(draft), "my-team:1")
    model = scripted_model(["At 70 degrees."])
    return play(made, model, "How hot is green tea?", answers=answers, **more)


def test_it_is_shown_and_read_once_the_person_agrees(notes: Path) -> None:
    played = ask(notes, "approve")
    (question,) = played.questions
    assert question.agent == "Documents"
    assert str(notes) in question.draft
    assert question.options == ["approve", "always", "reject"]
    (found,) = played.of(Retrieved)
    assert TEA in str(found.hits)
    assert played.final.content == "At 70 degrees."


@pytest.mark.parametrize("answer", ["reject", "reject\nNot these.", "what?"])
def test_what_is_not_agreed_to_is_not_opened(notes: Path, tmp_path: Path, answer: str) -> None:
    file = tmp_path / "store.duckdb"
    played = ask(notes, answer, db_config={"path": str(file)})
    assert isinstance(played.error, ConfigError)
    assert "Documents was to open a store of its own, and nobody agreed" in str(played.error)
    assert played.of(Retrieved) == []
    assert not file.exists()


def test_nobody_need_agree_twice_in_a_chat(notes: Path) -> None:
    agreed: set[str] = set()
    assert len(ask(notes, "approve", more={"agreed": agreed}).questions) == 1
    assert ask(notes, more={"agreed": agreed}).questions == []
    other = notes.with_name("other.md")
    other.write_text(TEA)
    assert len(ask(other, "approve", more={"agreed": agreed}).questions) == 1


def test_a_permission_for_always_counts_for_this_config_alone(notes: Path) -> None:
    allowed: set[str] = set()
    ask(notes, "always", allowed=allowed)
    assert ask(notes, allowed=allowed).questions == []
    assert len(ask(notes.parent, "reject", allowed=allowed).questions) == 1


def test_none_is_opened_where_the_app_serves_others(notes: Path) -> None:
    played = ask(notes, more={"own_stores": False})
    assert isinstance(played.error, ConfigError)
    assert "serves other machines" in str(played.error)
    assert played.questions == []


@pytest.mark.parametrize(
    "config",
    [
        {"host": "db.example.com", "password": "hunter2"},
        {"connection_string": "postgresql://me:hunter2@db.example.com/notes"},
        {"connection_string": "host=db.example.com password=hunter2 dbname=notes"},
        {"connection_string": "host=localhost password=hunter2\nhost=db.example.com"},
        {"connection_string": "postgresql:///notes?password=hunter2&host=db.example.com"},
        {"connection_string": "host=db.example.com", "password": 'hunter2"hunter2'},
    ],
)
def test_passwords_are_not_kept_in_the_question(notes: Path, config: dict[str, str]) -> None:
    (question,) = ask(notes, "reject", db_config=config).questions
    assert "db.example.com" in question.draft
    assert "hunter2" not in question.draft
