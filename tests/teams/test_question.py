"""A question as one value: by name or whole, stored and read back, also from what older versions
stored.
"""

from __future__ import annotations

import json
import os
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import get_type_hints

import pytest

from agentkit.events import MessageSent
from agentkit.retrieval import Source
from agentkit.retrieval.types import Scope
from agentkit.teams import Question
from agentkit.teams.question import EVERYTHING, Facts, scope_from_json, scope_to_json

MOMENT = datetime.fromisoformat("2026-03-01T08:30:00")
FILE = Source("tea.txt", Path("/uploads/1/0"), "upload:tea.txt")
SCOPE = Scope(document_ids=["d"], tags=["mild"], added_from=MOMENT, last_page=4)
WHOLE = Question(
    "How hot?", "Kitchen", "plan", "gpt", "c", "", [FILE], True, SCOPE, 900, "m", go_on=True
)


@pytest.mark.parametrize("question", [Question("How hot?"), WHOLE])
def test_what_is_stored_comes_back_as_it_was(question: Question) -> None:
    assert Question.from_json(json.loads(json.dumps(question.to_json()))) == question


def test_stored_are_its_team_and_what_is_not_as_it_is_by_default() -> None:
    assert Question("How hot?").to_json() == {"text": "How hot?", "team_id": "answer"}
    assert scope_to_json(EVERYTHING) == {}
    assert scope_from_json(scope_to_json(SCOPE)) == SCOPE


def test_a_file_may_have_any_name() -> None:
    odd = Question("?", attachments=[Source("a", Path(os.fsdecode(b"/\xff")), "upload:a")])
    assert Question.from_json(json.loads(json.dumps(odd.to_json()))) == odd


def test_all_its_facts_can_be_given_by_name() -> None:
    whole = get_type_hints(Question)
    assert whole.pop("text") is str
    assert get_type_hints(Facts) == {one.name: whole[one.name] for one in fields(Question)[1:]}


def said(extra: dict[str, object]) -> MessageSent:
    return MessageSent("m", None, "user", "team", "user", "How hot?", extra=extra)


def test_a_message_of_an_older_version_is_read() -> None:
    message = said(
        {
            "collection_id": "5",
            "team": "plan",
            "attachments": ["tea.txt"],
            "kept": True,
            "files": [["tea.txt", "/uploads/1/0", "upload:tea.txt"]],
            "missing": [],
            "begun": "",
            "scope": {"tags": ["mild"], "added_from": "2026-03-01T08:30:00"},
        }
    )
    scope = Scope(tags=["mild"], added_from=MOMENT)
    assert Question.from_message(message) == Question(
        "How hot?", team_id="plan", attachments=[FILE], keep_attachments=True, scope=scope
    )


def test_of_the_oldest_messages_the_names_of_files_are_known_and_the_team_is_the_chats() -> None:
    question = Question.from_message(said({"attachments": ["tea.txt"]}), "research")
    (file,) = question.attachments
    assert (file.name, file.origin, file.path.is_file()) == ("tea.txt", "upload:tea.txt", False)
    assert (question.team_id, question.keep_attachments) == ("research", False)
    assert Question.from_message(said({"team_id": "plan"}), "research").team_id == "plan"


def test_a_question_that_waited_in_an_older_version_is_read() -> None:
    waiting = {
        "id": "1",
        "text": "How hot?",
        "keep": True,
        "parent_id": None,
        "scope": {},
        "choice": {"collection": "Kitchen", "team": "plan", "model": "gpt"},
        "files": [["tea.txt", "/uploads/1/0", "upload:tea.txt"]],
        "again": "m",
        "go_on": True,
    }
    assert Question.from_json(waiting) == Question(
        "How hot?",
        "Kitchen",
        "plan",
        "gpt",
        attachments=[FILE],
        keep_attachments=True,
        again="m",
        go_on=True,
    )
