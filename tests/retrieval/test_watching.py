"""Which measurements are out of date, which came out worse, and which are left alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentkit.errors import NotFound
from agentkit.retrieval.evaluation.measuring import measure
from agentkit.retrieval.evaluation.watching import (
    compare_course,
    is_warned,
)
from agentkit.retrieval.options import SearchOptions
from agentkit.retrieval.store.courses import Course
from agentkit.retrieval.store.questions import Question, QuestionSet
from tests.retrieval.conftest import OWNER, Shelf

NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight")


@pytest.fixture
def asked(shelf: Shelf) -> QuestionSet:
    """Eight questions, each answered by a document of its own."""
    texts = [shelf.source(f"{name}.txt", f"The room {name} is {name}.") for name in NUMBERS]
    shelf.library.ingest(OWNER, "Docs", texts)
    shelf.library.set_options(OWNER, "Docs", SearchOptions(mode="lexical"))
    questions = [Question(f"room {name}", {f"{name}.txt": 1}) for name in NUMBERS]
    return shelf.library.questions.create(OWNER, "Docs", "Docs", questions)


def measure_now(shelf: Shelf, asked: QuestionSet) -> None:
    options = shelf.library.options(OWNER, "Docs")
    measure(shelf.library, OWNER, asked.id, "Docs", options)


def find(shelf: Shelf) -> Course:
    (found,) = shelf.library.questions.courses(OWNER)
    return found


def test_nothing_is_due_before_something_changed(shelf: Shelf, asked: QuestionSet) -> None:
    assert shelf.library.questions.courses(OWNER) == [], "it was never measured"
    measure_now(shelf, asked)
    assert (find(shelf).is_due, find(shelf).before_id) == (False, "")
    other = SearchOptions(mode="lexical", top_k=3)
    measure(shelf.library, OWNER, asked.id, "Docs", other)
    assert not find(shelf).is_due, "settings that were only tried change nothing"
    assert shelf.library.questions.courses(OWNER, "Elsewhere") == []


def test_documents_settings_and_an_index_make_it_due(shelf: Shelf, asked: QuestionSet) -> None:
    measure_now(shelf, asked)
    added = shelf.library.ingest(OWNER, "Docs", [shelf.source("nine.txt", "The room nine.")])
    assert (find(shelf).is_due, find(shelf).causes) == (True, ("documents",))
    shelf.library.delete_documents(OWNER, [added[0].document_id])
    assert not find(shelf).is_due, "all is as it was"
    shelf.library.set_options(OWNER, "Docs", SearchOptions(mode="lexical", top_k=2))
    assert find(shelf).causes == ("settings",)
    measure_now(shelf, asked)
    assert not find(shelf).is_due
    made = shelf.library.versions.add(OWNER, "Docs", embedder="fake", max_tokens=16)
    shelf.library.versions.promote(OWNER, made.id)
    assert find(shelf).causes == ("index",)


def test_worse_is_told_by_the_intervals_and_accepted(shelf: Shelf, asked: QuestionSet) -> None:
    measure_now(shelf, asked)
    gone = [one.id for one in shelf.library.documents(OWNER, "Docs") if one.name[0] in "tfs"]
    shelf.library.delete_documents(OWNER, gone[:2])
    measure_now(shelf, asked)
    found = compare_course(shelf.library, OWNER, find(shelf))
    assert found is not None
    assert (found.interval.mean < 0, found.verdict) == (True, "few"), "two of eight are noise"


def test_a_fall_beyond_chance_is_warned_of_until_accepted(shelf: Shelf, asked: QuestionSet) -> None:
    measure_now(shelf, asked)
    gone = [one.id for one in shelf.library.documents(OWNER, "Docs") if one.name != "one.txt"]
    shelf.library.delete_documents(OWNER, gone)
    assert find(shelf).is_due
    measure_now(shelf, asked)
    course = find(shelf)
    found = compare_course(shelf.library, OWNER, course)
    assert found is not None
    assert found.verdict == "worse"
    assert is_warned(course, found.verdict)
    shelf.library.questions.accept(OWNER, asked.id, course.now_id)
    assert not is_warned(find(shelf), found.verdict)
    measure_now(shelf, asked)
    assert not is_warned(find(shelf), found.verdict), "it is the same search"
    assert not find(shelf).is_due


def test_a_set_says_whether_it_is_measured_by_itself(shelf: Shelf, asked: QuestionSet) -> None:
    assert not asked.repeats
    assert shelf.library.questions.set_repeats(OWNER, asked.id, repeats=True).repeats
    assert replace(asked, repeats=True) == shelf.library.questions.one(OWNER, asked.id)
    assert shelf.library.questions.set_asks_teams(OWNER, asked.id, asks_teams=True).asks_teams


def test_each_collection_of_a_set_is_accepted_for_itself(shelf: Shelf, asked: QuestionSet) -> None:
    """And what was accepted goes with its set."""
    questions = shelf.library.questions
    questions.accept(OWNER, asked.id, "one")
    questions.accept(OWNER, asked.id, "other")
    assert questions.accepted(OWNER) == {"one", "other"}
    assert questions.accepted("somebody") == frozenset()
    with pytest.raises(NotFound):
        questions.accept("somebody", asked.id, "one")
    questions.delete(OWNER, asked.id)
    assert questions.accepted(OWNER) == frozenset()
