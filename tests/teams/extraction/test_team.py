"""The team: fields out of the question, a table in Markdown with markers, and everything of it with
the message.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from agentkit import runs
from agentkit.errors import ConfigError
from agentkit.events import Event, MessageSent
from agentkit.llm import Model
from agentkit.llm.calls.scripted import scripted_model
from agentkit.llm.connections.config import offline_model
from agentkit.teams import Answer, Question, Task, team
from agentkit.teams.citing import MARKER
from agentkit.teams.extraction.question import find_schema
from agentkit.teams.extraction.team import escape_cell
from agentkit.teams.task import Readable
from agentkit.ui.text import markdown
from tests.teams.extraction.papers import Broken, Typed

A, B = Typed("a.txt", "Total: 12.50 EUR\nDate: 2025-03-03", 1), Typed("b.txt", "Total: 7 EUR", 4)
QUESTION = "Make a table of: total (number): with tax, date (date)"
"""Offline: the literal values."""


def ask(
    question: str, documents: Sequence[Readable], model: Model | None = None
) -> tuple[Answer, MessageSent, list[Event]]:
    task = Task(
        Question(question),
        model or offline_model(),
        lambda query: [],
        answer_id="answer",
        parent_id="question",
        documents=lambda: documents,
    )
    run = runs.start(lambda: team("table").work(task), kind="chat", owner="stage", chat_id="chat")
    events = [recorded.event for recorded in run]
    (final,) = [
        event for event in events if isinstance(event, MessageSent) and not event.extra["inner"]
    ]
    return run.result(), final, events


def test_a_table_with_a_marker_behind_each_value() -> None:
    answer, final, _ = ask(QUESTION, [A, B, Broken()])
    lines = answer.text.split("\n\n")[0].splitlines()
    assert lines == [
        "| Document | total | date |",
        "| --- | --- | --- |",
        "| a.txt | 12.5\u00a0[1] | 2025-03-03\u00a0[2] |",
        "| b.txt | 7\u00a0[3] |  |",
        "| broken.pdf |  |  |",
    ]
    assert "- broken.pdf: broken.pdf is damaged" in answer.text
    assert [
        (cited.marker, cited.document, cited.page, cited.text) for cited in answer.citations
    ] == [
        (1, "a.txt", 1, "Total: 12.50 EUR"),
        (2, "a.txt", 1, "Date: 2025-03-03"),
        (3, "b.txt", 4, "Total: 7 EUR"),
    ]
    assert final.id == "answer"
    assert final.extra["citations"] == [cited.to_json() for cited in answer.citations]
    assert len(final.extra["table"]["rows"]) == 3
    assert (answer.stopped_because, team("table").needs_language_model) == ("answered", False)


def test_at_most_thirty_rows_are_shown_and_all_travel_with_the_message() -> None:
    answer, final, _ = ask(
        "table of: total (number)",
        [Typed(f"{number}.txt", f"Total: {number}") for number in range(31)],
    )
    assert answer.text.count("\n| ") == 31
    assert "The first 30 of 31 rows are shown." in answer.text
    assert len(final.extra["table"]["rows"]) == 31
    assert len(MARKER.findall(answer.text)) == len(answer.citations) == 30


def test_a_json_schema_in_the_question() -> None:
    schema = {"type": "object", "properties": {"total": {"type": "number"}}}
    answer, _, _ = ask(f"Please:\n```json\n{json.dumps(schema)}\n```", [B])
    assert "| b.txt | 7\u00a0[1] |" in answer.text
    task = Task(Question('{"type": "object"'), offline_model(), lambda query: [])
    with pytest.raises(ConfigError, match="not valid JSON"):
        team("table").work(task)


def test_offline_a_question_without_fields_is_told_how_to_ask() -> None:
    answer, final, _ = ask("What is the total?", [A])
    assert "table of: invoice number, date (date)" in answer.text
    assert (answer.citations, answer.stopped_because, final.extra["citations"]) == (
        (),
        "no evidence",
        [],
    )


def test_without_documents_it_says_so() -> None:
    assert "There are no documents" in ask(QUESTION, [])[0].text
    assert (
        "There are no documents"
        in team("table").work(Task(Question(QUESTION), offline_model(), lambda query: [])).text
    )


def test_a_language_model_names_the_fields_first() -> None:
    fields = {"fields": [{"name": "total", "type": "number", "description": "with tax"}]}
    twice = {
        "fields": fields["fields"] * 2 + [{"name": "TOTAL", "type": "date", "description": ""}]
    }
    value = {"total": {"value": 7, "quote": "Total: 7 EUR"}}
    model = scripted_model([json.dumps(twice), json.dumps(fields), json.dumps(value)])
    answer, _, events = ask("What do the bills come to?", [B], model)
    assert "| b.txt | 7\u00a0[1] |" in answer.text
    inner = [event for event in events if isinstance(event, MessageSent) and event.extra["inner"]]
    assert [event.sender for event in inner] == ["Planner", "Extractor"]
    assert all(
        event.extra["silent"] for event in inner
    )  # the JSON is no talk; how it was read is told by ReplyParsed
    none = scripted_model([json.dumps({"fields": []})])
    assert "names no fields" in ask("Hello!", [B], none)[0].text


def test_what_is_not_verified_is_said() -> None:
    model = scripted_model([json.dumps({"total": {"value": 8, "quote": "Total: 8"}})])
    answer, _, _ = ask("table of: total (number)", [B], model)
    assert "| b.txt | 8 (unverified) |" in answer.text
    assert "check them" in answer.text
    assert answer.citations == ()


@pytest.mark.parametrize(
    "text",
    [
        "a | b",
        "x [1] y",
        "*bold*",
        "`code`",
        "$a_b$",
        "<b>",
        "~~no~~",
        "\\[x_1\\]",
        ":smile: :red[x]",
        "# no",
    ],
)
def test_words_of_documents_stay_words(text: str) -> None:
    """Neither a cell border nor the marker of a citation, and no formatting, also after the app has
    made it safe.
    """
    shown = escape_cell(text)
    assert "|" not in shown
    assert not MARKER.search(shown)
    assert markdown.answer(shown, "m", {1}) == shown
    assert not set("*_~<>#").intersection(
        shown.replace("\\*", "")
        .replace("\\_", "")
        .replace("\\~", "")
        .replace("\\<", "")
        .replace("\\>", "")
        .replace("\\#", "")
        .replace("&#", "")
    )


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("total, date", ["total", "date"]),
        ("total (number), date (date): when it was written", ["total", "date"]),
        ("date (date)", ["date"]),
        ("Hello, how are you", None),
        ("total", None),
        ("What is the total, and the date?", None),
        ("Please give me totals, dates", None),
        ("The total and the date of every invoice that we have, with its number", None),
    ],
)
def test_a_bare_list_is_taken_for_the_fields(question: str, names: list[str] | None) -> None:
    schema = find_schema(question, offline_model())
    assert (None if schema is None else schema.names) == names
