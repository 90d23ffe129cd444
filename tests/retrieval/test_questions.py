"""Question sets: kept by owner, replaced whole, and the same after a way through a file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentkit.database import Database
from agentkit.errors import ConfigError, NotFound
from agentkit.messages import new_id
from agentkit.retrieval.evaluation.question_files import (
    entries,
    question_of,
    read_questions,
    sample_questions,
    to_csv,
    to_json_lines,
)
from agentkit.retrieval.options import SearchOptions
from agentkit.retrieval.store.questions import Measurement, Question, QuestionResult, Questions
from agentkit.retrieval.store.schema import MIGRATIONS
from agentkit.retrieval.types import utc_now
from agentkit.settings import Settings

TEA = Question("How hot is green tea brewed?", {"tea.md": 2, "kettle.pdf": 1})
PUMP = Question("How long is the warranty?", {"pump.txt": 1})

words = (
    st.text(st.characters(codec="utf-8"), min_size=1).map(lambda text: text.strip()).filter(bool)
)
questions = st.builds(
    Question, words, st.dictionaries(words, st.integers(1, 1_000), min_size=1, max_size=4)
)


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Questions]:
    database = Database(tmp_path / "agentkit.duckdb")
    database.migrate("retrieval", MIGRATIONS)
    yield Questions(database)
    database.close()


def test_a_set_is_made_filled_renamed_and_deleted(kept: Questions) -> None:
    made = kept.create("ann", " Kitchen questions ", "Kitchen", [TEA])
    assert (made.name, made.collection, made.questions) == ("Kitchen questions", "Kitchen", 1)
    assert kept.replace_questions("ann", made.id, [PUMP, TEA]).questions == 2
    assert kept.questions("ann", made.id) == [PUMP, TEA]
    assert kept.rename("ann", made.id, "Tea").name == "Tea"
    assert kept.rename("ann", made.id, "Tea").name == "Tea", (
        "the name that it has is no other set's"
    )
    kept.create("ann", "alpha")
    assert [one.name for one in kept.sets("ann")] == ["alpha", "Tea"]
    assert kept.named("ann", "Tea").id == made.id
    kept.delete("ann", made.id)
    assert [one.name for one in kept.sets("ann")] == ["alpha"]
    with pytest.raises(NotFound, match="there are: alpha"):
        kept.named("ann", "Tea")


@pytest.mark.parametrize("name", ["", "   ", "a\nb", "x" * 121, "\u200b"])
def test_impossible_names(kept: Questions, name: str) -> None:
    with pytest.raises(ConfigError, match="1 to 120 printable"):
        kept.create("ann", name)


def test_a_name_is_an_owners_once(kept: Questions) -> None:
    kept.create("ann", "Tea")
    kept.create("bob", "Tea")
    other = kept.create("ann", "Pump")
    with pytest.raises(ConfigError, match="already"):
        kept.create("ann", "Tea")
    with pytest.raises(ConfigError, match="already"):
        kept.rename("ann", other.id, "Tea ")


def test_others_see_and_change_nothing(kept: Questions) -> None:
    made = kept.create("ann", "Tea", questions=[TEA])
    kept.keep("ann", measurement := measured(made.id))
    with pytest.raises(NotFound):
        kept.questions("bob", made.id)
    with pytest.raises(NotFound):
        kept.replace_questions("bob", made.id, [])
    with pytest.raises(NotFound):
        kept.rename("bob", made.id, "Mine")
    with pytest.raises(NotFound):
        kept.delete("bob", made.id)
    with pytest.raises(NotFound):
        kept.history("bob", made.id)
    with pytest.raises(NotFound):
        kept.measurement("bob", measurement.id)
    with pytest.raises(NotFound):
        kept.keep("bob", measured(made.id))
    assert kept.sets("bob") == []
    assert kept.questions("ann", made.id) == [TEA]


def measured(set_id: str) -> Measurement:
    results = (
        QuestionResult(TEA.text, {"tea.md": 3, "kettle.pdf": None}, 0.5, True, 0.01),
        QuestionResult(PUMP.text, {"pump.txt": None}, 0.0, False, 0.02),
    )
    options = SearchOptions(mode="dense", top_k=5, min_score=0.2)
    return Measurement(
        new_id(),
        set_id,
        "Kitchen",
        "v1",
        options,
        {"ndcg_10": 0.5, "questions": 1},
        utc_now(),
        results,
    )


def test_measurements_are_kept_newest_first(kept: Questions) -> None:
    made = kept.create("ann", "Tea", questions=[TEA])
    first, second = measured(made.id), measured(made.id)
    kept.keep("ann", first)
    kept.keep("ann", second)
    history = kept.history("ann", made.id)
    assert [one.id for one in history] == [second.id, first.id]
    assert [one.results for one in history] == [(), ()], "a history is light"
    assert kept.measurement("ann", first.id) == first
    assert [one.best_rank for one in first.results] == [3, None]
    kept.delete("ann", made.id)
    with pytest.raises(NotFound):
        kept.measurement("ann", first.id)


@pytest.mark.parametrize(
    ("text", "expected", "message"),
    [
        (" ", {"a": 1}, "empty"),
        ("Why?", {}, "'Why\\?' has no expected document"),
        ("Why?", {" ": 1}, "no expected document"),
        ("Why?", {"a": 0}, "grade of 'a' is 0"),
        ("Why?", {"a": 1_001}, "from 1 to 1,000"),
        ("Why?", {"a": True}, "grade of 'a' is True"),
        ("Why?", {"a": 1.5}, "grade of 'a' is 1.5"),
    ],
)
def test_impossible_questions(text: str, expected: dict[str, int], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Question(text, expected)


@given(given_questions=st.lists(questions, min_size=1, max_size=5))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_stored_is_what_comes_back(
    given_questions: list[Question], kept: Questions
) -> None:
    known = kept.sets("ann") or [kept.create("ann", "Any")]
    kept.replace_questions("ann", known[0].id, given_questions)
    assert kept.questions("ann", known[0].id) == given_questions


def test_half_a_surrogate_pair_is_stored_as_a_question_mark(kept: Questions) -> None:
    made = kept.create("ann", "Odd", questions=[Question("Wh\ud800y?", {"a\udfff.txt": 1})])
    assert kept.questions("ann", made.id) == [Question("Wh?y?", {"a?.txt": 1})]


@given(st.lists(questions, min_size=1, max_size=5))
def test_files_bring_every_question_back(given_questions: list[Question]) -> None:
    assert read_questions("set.csv", to_csv(given_questions).encode()) == given_questions
    assert read_questions("set.jsonl", to_json_lines(given_questions).encode()) == given_questions


@given(questions)
def test_expected_documents_are_read_as_they_are_written(question: Question) -> None:
    assert question_of(question.text, entries(question)) == question


def test_a_csv_as_people_write_it() -> None:
    plain = (
        "question,notes,expected\r\nHow hot?,x, tea.md | kettle.pdf=2 |\r\n\r\nWhy?,,a=b.txt\r\n"
    )
    assert read_questions("tea.csv", plain.encode()) == [
        Question("How hot?", {"tea.md": 1, "kettle.pdf": 2}),
        Question("Why?", {"a=b.txt": 1}),
    ]
    semicolons = '\ufeffQuestion;Expected\n"How hot; really?";tea.md\n'
    assert read_questions("tea.csv", semicolons.encode()) == [
        Question("How hot; really?", {"tea.md": 1})
    ]


def test_a_spreadsheet_runs_nothing() -> None:
    text = to_csv([Question('=HYPERLINK("x")', {"@evil": 1})])
    assert text.splitlines()[1] == '"\'=HYPERLINK(""x"")",\'@evil'


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.csv", b"", "a.csv has no questions"),
        ("a.csv", b"question,expected\n", "a.csv has no questions"),
        (
            "a.csv",
            b"Why?,a.txt\n",
            (
                "a.csv begins with 'Why?, a.txt'; its first line must name the columns question,"
                " expected"
            ),
        ),
        (
            "a.csv",
            b"question,expected\nWhy?,a.txt\n\nHow?,|\n",
            "a.csv line 4: The question 'How?' has no expected document",
        ),
        ("a.csv", b"question,expected\nWhy?\n", "a.csv line 2 has 1 cells"),
        ("a.csv", b"question,expected\nWhy?,a=0\n", "a.csv line 2: The grade of 'a' is 0"),
        ("a.csv", b'question,expected\n"Why?,a.txt\n', "a.csv line 2 is not CSV"),
        (
            "a.csv",
            "question,expected\nWarum für?,a".encode("latin-1"),
            "a.csv is not text in UTF-8",
        ),
        (
            "a.jsonl",
            b'{"question": "Why?", "expected": ["a"]}\nnonsense\n',
            "a.jsonl line 2 is not a JSON object",
        ),
        (
            "a.jsonl",
            b'{"question": "Why?"}\n',
            "a.jsonl line 1 is not a JSON object with question and expected",
        ),
        ("a.jsonl", b"[1]\n", "a.jsonl line 1 is not"),
        ("a.jsonl", b'{"question": 5, "expected": ["a"]}\n', "a.jsonl line 1 has question 5"),
        ("a.jsonl", b'{"question": "Why?", "expected": [5]}\n', "give a text, and names"),
        (
            "a.jsonl",
            b'{"question": "Why?", "expected": {"a": 0.5}}\n',
            "a.jsonl line 1: The grade of 'a' is 0.5",
        ),
        ("a.jsonl", b"[" * 100_000 + b"\n", "a.jsonl line 1 is not"),
    ],
)
def test_a_file_that_cannot_be_understood_says_where(name: str, data: bytes, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        read_questions(name, data)


@given(st.binary(max_size=200))
def test_any_bytes_are_questions_or_refused(data: bytes) -> None:
    for name in ("a.csv", "a.jsonl"):
        for given_bytes in (data, b"question,expected\n" + data):
            with suppress(ConfigError):
                assert read_questions(name, given_bytes)


def test_the_questions_of_the_samples() -> None:
    settings = Settings()
    found = sample_questions(settings.sample_questions.read_text(encoding="utf-8"))
    assert len(found) > 20
    assert {name for one in found for name in one.expected} <= {
        path.name for path in settings.samples.iterdir()
    }
