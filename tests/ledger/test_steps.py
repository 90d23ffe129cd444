"""The narrow rows of what runs did; a folder of an older version gets the same."""

from __future__ import annotations

from datetime import UTC, datetime

from agentkit.events import (
    CodeRan,
    Compressed,
    Event,
    HumanAnswered,
    HumanInputRequested,
    ModelReplied,
    Retrieved,
    ToolReturned,
    Usage,
)
from agentkit.ledger import Chat, Ledger, RunKey, schema
from agentkit.ledger.steps import create_steps
from tests.ledger.conftest import OWNER, record

DONE: list[Event] = [
    ToolReturned("t1", "Worker", "search", True, "found", 1.5),
    ToolReturned("t2", "Worker", "search", False, "no such place", 0.5),
    CodeRan("Coder", "python", "print(1)", 1, "1", seconds=0.25),
    Retrieved("how?", "Kitchen", "hybrid", [{"score": 0.75}, {"score": 0.5}], 0.125),
    Retrieved("why?", "Kitchen", "dense", [], 0.125),
    Compressed("Writer", "summary", True, 10, 3, 900, 300, 50, 0.25, 2.0),
    HumanInputRequested("q1", "Coder", "May this run?", language="python"),
    HumanAnswered("q1", "edit\nprint(2)"),
    HumanInputRequested("q2", "Coder", "What is your name?"),
    HumanAnswered("q2", "My name is a secret"),
    ModelReplied(
        "c1", "Writer", "server", "small", status="failed", usage=Usage(5), retry_in_s=4.0
    ),
]
_ALL = "select * from steps order by run_id, seq"
_CALLS = "select id, team, collection, retry_in_s from llm_calls order by id"


def test_each_step_has_its_figures_and_no_text(ledger: Ledger, chat: Chat) -> None:
    record(ledger, DONE, chat_id=chat.id)
    rows = ledger.database.rows(_ALL)
    assert [(row["kind"], row["name"], row["ok"]) for row in rows] == [
        ("tool", "search", True),
        ("tool", "search", False),
        ("code", "python", False),
        ("search", "hybrid", True),
        ("search", "dense", False),
        ("compression", "summary", True),
        ("asked", "python", True),
        ("answered", "edit", True),
        ("asked", "", True),
        ("answered", "", True),
    ]
    assert {row["owner"] for row in rows} == {OWNER}
    assert [row["collection"] for row in rows[2:5]] == ["Documents", "Kitchen", "Kitchen"]
    assert (rows[3]["found"], rows[3]["best"], rows[4]["found"]) == (2, 0.75, 0)
    saved = rows[5]["tokens_before"] - rows[5]["tokens_after"]
    assert (saved, rows[5]["tokens_spent"], rows[5]["cost"]) == (600, 50, 0.25)
    assert "secret" not in str(rows)
    assert ledger.database.rows(_CALLS) == [
        {"id": "c1", "team": "", "collection": "Documents", "retry_in_s": 4.0}
    ]


def test_an_older_ledger_gets_the_same_rows(ledger: Ledger, chat: Chat) -> None:
    record(ledger, DONE, chat_id=chat.id, at=datetime(2026, 3, 1, tzinfo=UTC))
    record(ledger, DONE[:3])
    database = ledger.database
    written, calls = database.rows(_ALL), database.rows(_CALLS)
    database.execute("drop table steps")
    for column in ("team", "collection", "retry_in_s"):
        database.execute(f"alter table llm_calls drop column {column}")
    create_steps(database)
    assert database.rows(_ALL) == written
    assert database.rows(_CALLS) == calls
    assert schema.add_usage in schema.MIGRATIONS


def test_the_figures_stay_when_the_chat_goes(ledger: Ledger, chat: Chat) -> None:
    record(ledger, DONE, chat_id=chat.id)
    ledger.delete_chat(OWNER, chat.id)
    assert len(ledger.database.rows(_ALL)) == 10


def test_a_run_that_goes_on_with_another_takes_its_steps_over(ledger: Ledger, chat: Chat) -> None:
    before = record(ledger, DONE[:-1], chat_id=chat.id)
    after = record(ledger, DONE, chat_id=chat.id)
    ledger.replace_run(RunKey(before, OWNER, chat.id), RunKey(after, OWNER, chat.id))
    assert {row["run_id"] for row in ledger.database.rows(_ALL)} == {after}
