"""What is said of a passage goes on into a question set, and can be taken back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentkit.database import Database
from agentkit.errors import NotFound
from agentkit.retrieval import Hit
from agentkit.retrieval.store.marks import Marks
from agentkit.retrieval.store.questions import Question, Questions
from agentkit.retrieval.store.schema import MIGRATIONS

OWNER, ASKED = "ann", "How hot is green tea brewed?"


@pytest.fixture
def marks(tmp_path: Path) -> Iterator[Marks]:
    database = Database(tmp_path / "agentkit.duckdb")
    database.migrate("retrieval", MIGRATIONS)
    yield Marks(database, Questions(database))
    database.close()


@pytest.fixture
def questions(marks: Marks) -> Questions:
    return marks._questions


def hit(document: str, start: int = 0, end: int = 20) -> Hit:
    return Hit(1, 0.5, 1, document, document, None, "", "", start, end, "x" * (end - start), {})


def test_a_right_passage_adds_the_question_and_a_wrong_one_takes_the_document_out(
    marks: Marks, questions: Questions
) -> None:
    made = questions.create(OWNER, "Tea", "Kitchen", [Question("Why?", {"why.md": 1})])
    marks.keep(OWNER, made.id, f" {ASKED} ", hit("tea.md"), right=True)
    marks.keep(OWNER, made.id, ASKED, hit("kettle.md"), right=True)
    expected = {"tea.md": 1, "kettle.md": 1}
    assert questions.questions(OWNER, made.id)[1] == Question(ASKED, expected)
    marks.keep(OWNER, made.id, ASKED, hit("kettle.md", 10, 15), right=False)
    assert questions.questions(OWNER, made.id)[1] == Question(ASKED, {"tea.md": 1})
    said = [(mark.document, mark.right) for mark in marks.of(OWNER, made.id, ASKED)]
    assert said == [("tea.md", True), ("kettle.md", False)]
    assert questions.one(OWNER, made.id).questions == 2
    marks.keep(OWNER, made.id, ASKED, hit("tea.md"), right=False)
    assert [one.text for one in questions.questions(OWNER, made.id)] == ["Why?"]


def test_a_document_with_a_right_passage_is_expected_whatever_its_others_are(
    marks: Marks, questions: Questions
) -> None:
    made = questions.create(OWNER, "Tea")
    marks.keep(OWNER, made.id, ASKED, hit("tea.md", 0, 20), right=True)
    marks.keep(OWNER, made.id, ASKED, hit("tea.md", 50, 90), right=False)
    assert questions.questions(OWNER, made.id) == [Question(ASKED, {"tea.md": 1})]
    marks.keep(OWNER, made.id, ASKED, hit("tea.md", 0, 20), right=None)
    assert questions.questions(OWNER, made.id) == []


def test_what_is_taken_back_leaves_the_set_as_it_was(marks: Marks, questions: Questions) -> None:
    before = [Question(ASKED, {"tea.md": 3, "kettle.md": 1}), Question("Why?", {"why.md": 1})]
    made = questions.create(OWNER, "Tea", questions=before)
    for right in (True, False):
        marks.keep(OWNER, made.id, ASKED, hit("tea.md"), right=right)
        marks.keep(OWNER, made.id, ASKED, hit("cup.md"), right=right)
    assert questions.questions(OWNER, made.id)[0].expected == {"kettle.md": 1}
    marks.keep(OWNER, made.id, ASKED, hit("tea.md"), right=None)
    marks.keep(OWNER, made.id, ASKED, hit("cup.md"), right=None)
    assert questions.questions(OWNER, made.id) == before
    assert marks.of(OWNER, made.id, ASKED) == []


def test_marks_go_with_their_set_and_are_an_owners_own(marks: Marks, questions: Questions) -> None:
    made = questions.create(OWNER, "Tea")
    with pytest.raises(NotFound):
        marks.keep("bob", made.id, ASKED, hit("tea.md"), right=True)
    marks.keep(OWNER, made.id, ASKED, hit("tea.md"), right=True)
    questions.delete(OWNER, made.id)
    with pytest.raises(NotFound):
        marks.of(OWNER, made.id, ASKED)
    assert marks._database.value("select count(*) from marks") == 0
