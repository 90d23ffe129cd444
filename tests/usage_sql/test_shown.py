"""The first rows of a wide view: the same as of the whole, for the price of a few columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pyarrow
import pytest

from agentkit.database import Database, Values
from agentkit.database.asked import Limits, Written
from agentkit.ledger import Ledger
from agentkit.workspace.usage_sql import VIEWS, UsageSql
from tests.ledger.conftest import call, record

OWNER, OTHER = "ann", "bob"
CALLS = 60
FEW = Limits(seconds=60, rows=7)
T = TypeVar("T")


class Watched(Database):
    """It notes which columns of how many rows were read, and does something before a reading."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.read: list[tuple[int, int]] = []
        self.before: Callable[[], object] = list

    def read_together(
        self, statements: Mapping[str, tuple[str, Values]], take: Callable[[Any], T]
    ) -> dict[str, T]:
        rows = super().read_together(statements, lambda found: found.read_all())
        self.read += [(one.num_columns, one.num_rows) for one in rows.values()]
        self.before()
        return super().read_together(statements, take)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Watched]:
    """Calls of two people, each with another number of seconds."""
    opened = Watched(tmp_path / "agentkit.duckdb")
    ledger = Ledger(opened)
    for owner in (OTHER, OWNER):
        events = [
            call(model=f"model-{n % 4}", seconds=float(n * 37 % 101), cost=0.25)
            for n in range(CALLS)
        ]
        record(ledger, events, owner=owner)
    yield opened
    opened.close()


@pytest.fixture
def usage(database: Watched) -> Iterator[UsageSql]:
    opened = UsageSql(database)
    yield opened
    opened.close()


def ask(usage: UsageSql, sql: str, limits: Limits = FEW) -> tuple[list[dict[str, Any]], Written]:
    made, written = usage.ask(OWNER, sql, limits=limits)
    with made, pyarrow.ipc.open_stream(made) as reader:
        return reader.read_all().to_pylist(), written


WIDE = len(VIEWS["calls"].columns)
SHOWN = {
    "select * from calls order by seconds": 1,
    "select * exclude (cost) from calls c where c.model = 'model-1' order by c.seconds desc": 2,
    "select *, model from calls where seconds > 20 order by seconds limit 5 offset 3": 1,
    "select * from calls where seconds + 1 > 20 order by lower(model), -seconds limit 10%": 2,
}


@pytest.mark.parametrize("sql", SHOWN)
def test_the_rows_are_those_of_the_whole(usage: UsageSql, database: Watched, sql: str) -> None:
    whole = usage.views(OWNER).sql(sql).to_pylist()
    database.read.clear()
    usage.forget()
    rows, written = ask(usage, sql)
    assert rows == whole[:7]
    assert written == Written(len(rows), more=len(whole) > 7)
    # What is filtered and sorted by with the number of each row, then the rows that are shown.
    assert database.read == [(SHOWN[sql] + 1, CALLS), (WIDE + 1, len(rows))]


def test_without_an_order_the_rows_are_some_of_the_owners(usage: UsageSql) -> None:
    rows, written = ask(usage, "from calls")
    assert written == Written(7, more=True)
    every = usage.views(OWNER).arrow("calls").to_pylist()
    assert len(every) == CALLS
    assert all(row in every for row in rows)
    assert len({row["id"] for row in rows}) == 7


def test_no_rows_at_all(usage: UsageSql) -> None:
    assert ask(usage, "select * from calls where seconds < 0") == ([], Written(0))


def test_a_file_has_all_rows(usage: UsageSql, tmp_path: Path) -> None:
    written = usage.write(OWNER, "select * from calls order by seconds", tmp_path / "out")
    assert written == Written(CALLS)


def test_what_changes_meanwhile_is_looked_for_again(usage: UsageSql, database: Watched) -> None:
    """A row may have another number then: what is shown is all of one moment."""
    sql = "select * from calls order by seconds desc"

    def change() -> None:
        if len(database.read) == 2:  # the rows were found, and are now read
            database.execute("delete from llm_calls where seconds > 50")

    database.before = change
    rows, _ = ask(usage, sql)
    assert len(database.read) == 4
    left = sorted((n * 37 % 101 for n in range(CALLS)), reverse=True)
    assert [row["seconds"] for row in rows] == [one for one in left if one <= 50][:7]


def test_what_changes_all_the_time_is_answered_as_a_whole(
    usage: UsageSql, database: Watched
) -> None:
    database.before = lambda: database.execute("update llm_calls set cost = 0.5 where false")
    rows, written = ask(usage, "select * from calls order by seconds")
    assert written == Written(7, more=True)
    assert rows[0]["seconds"] == 0.0
    assert database.read[-1] == (WIDE, CALLS)


def test_more_than_may_be_kept_is_let_go_of(database: Watched) -> None:
    usage = UsageSql(database, most_kept=10_000)
    ask(usage, "select sum(seconds) as s from calls")
    assert 0 < usage.bytes() <= 10_000
    ask(usage, "select sum(seconds) as s, max(c) as c from calls c")
    assert usage.bytes() == 0
    usage.close()
