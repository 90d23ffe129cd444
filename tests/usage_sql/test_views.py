"""The views that a SELECT may read: as they are documented, each owner's own, and with the same
totals as everywhere else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pyarrow
import pytest
from pyarrow import csv, parquet

from agentkit.api import Held
from agentkit.api import Workspace as OpenedFromElsewhere
from agentkit.database import Database, Values
from agentkit.database.asked import Limits
from agentkit.errors import ConfigError, NotFound, SqlRefused
from agentkit.events import Event, MessageSent, Retrieved, Usage
from agentkit.ledger import queries
from agentkit.ledger.feedback import rate
from agentkit.ledger.queries import CallFilter
from agentkit.messages import new_id
from agentkit.retrieval import FakeEmbedder
from agentkit.settings import Settings
from agentkit.workspace import Workspace
from agentkit.workspace.usage_sql import VIEWS, UsageSql
from tests.ledger.conftest import call, record

PAGE = Path(__file__).parents[2] / "docs" / "usage-sql.md"
OWNER, OTHER = "ann", "bob"
T = TypeVar("T")


@pytest.fixture
def workspace(settings: Settings) -> Iterator[Workspace]:
    """What two people did: calls with and without a price, a look-up, an answer that cites."""
    opened = Workspace(settings, FakeEmbedder())
    for owner in (OWNER, OTHER):
        fill(opened, owner)
    yield opened
    opened.close()


def fill(workspace: Workspace, owner: str) -> None:
    ledger = workspace.ledger
    chat = ledger.create_chat(owner, f"Rivers of {owner}", "answer", "offline", "Documents")
    hits = [{"document_id": "d1", "score": 0.75}, {"document_id": "d2", "score": 0.5}]
    cited = {"marker": 1, "document_id": "d1", "document": "danube.txt", "score": 0.75}
    answer = MessageSent(
        new_id(), None, "Assistant", "user", "assistant", "Long [1].", extra={"citations": [cited]}
    )
    events: list[Event] = [
        Retrieved("how long", "Documents", "hybrid", hits, 0.25, left_out={"weak": 3}),
        call(Usage(100, 40, 5, output=20, reasoning=7), cost=0.25),
        call(Usage(10, output=2, estimated=True), model="secret"),
        replace(call(), status="failed", error="=no"),
        answer,
    ]
    record(ledger, events, owner=owner, chat_id=chat.id, message_id=answer.id)
    rate(ledger, owner, answer.id, "up", "well said")
    workspace.library.create_collection(owner, "Papers")


def test_the_page_tells_every_column() -> None:
    told: dict[str, list[tuple[str, ...]]] = {}
    for section in re.split(r"^### ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        rows = re.findall(r"^\| (\w+) \| ([\w\[\]]+) \| (.+) \|$", section, flags=re.MULTILINE)
        told[section.split("\n", 1)[0]] = rows[1:]  # without the head
    assert told == {
        view.name: [(one.name, one.kind, one.about) for one in view.columns]
        for view in VIEWS.values()
    }


KINDS = {
    "varchar": pyarrow.string(),
    "varchar[]": pyarrow.list_(pyarrow.string()),
    "integer": pyarrow.int32(),
    "bigint": pyarrow.int64(),
    "double": pyarrow.float64(),
    "boolean": pyarrow.bool_(),
    "timestamp": pyarrow.timestamp("us"),
}


@pytest.mark.parametrize("name", VIEWS)
def test_columns_have_the_types_that_are_told(workspace: Workspace, name: str) -> None:
    found = workspace.usage_views(OWNER).arrow(name)
    types = {one.name: one.type for one in found.schema}
    assert types == {one.name: KINDS[one.kind] for one in VIEWS[name].columns}


def test_each_sees_their_own_rows(workspace: Workspace) -> None:
    sql = """select (select count(*) from calls) as calls, (select count(*) from runs) as runs,
        (select count(*) from messages) as messages, (select count(*) from citations) as citations,
        (select count(*) from retrievals) as retrievals, (select min(chat) from calls) as chat"""
    for owner in (OWNER, OTHER):
        (row,) = workspace.usage_views(owner).sql(sql).to_pylist()
        assert list(row.values()) == [3, 1, 1, 1, 1, f"Rivers of {owner}"]
    (row,) = workspace.usage_views("nobody").sql(sql).to_pylist()
    assert list(row.values()) == [0, 0, 0, 0, 0, None]


def test_what_the_rows_tell(workspace: Workspace) -> None:
    views = workspace.usage_views(OWNER)
    (look_up,) = views.arrow("retrievals").to_pylist()
    assert (look_up["hits"], look_up["weak"], look_up["best_score"]) == (2, 3, 0.75)
    assert look_up["document_ids"] == ["d1", "d2"]
    (cited,) = views.arrow("citations").to_pylist()
    assert (cited["document"], cited["marker"], cited["page"]) == ("danube.txt", 1, None)
    (said,) = views.arrow("messages").to_pylist()
    assert (said["citations"], said["rating"], said["comment"]) == (1, "up", "well said")
    (run,) = views.arrow("runs").to_pylist()
    assert (run["calls"], run["tokens"], run["cost"], run["unpriced"]) == (3, 184, 0.25, 1)


def test_the_totals_are_those_of_the_page_and_of_the_files(
    workspace: Workspace, tmp_path: Path
) -> None:
    sums = queries.totals(workspace.ledger, CallFilter(OWNER))
    sql = """select count(*) as calls, sum(prompt_tokens) as prompt_tokens, sum(cost) as cost,
        sum(completion_tokens) as completion_tokens, count(*) filter (status = 'failed') as failed
        from calls"""
    (row,) = workspace.usage_views(OWNER).sql(sql).to_pylist()
    assert row == {name: getattr(sums, name) for name in row}
    file = tmp_path / "calls.parquet"
    workspace.usage_views(OWNER).write("select * from calls", file, "parquet")
    workspace.figures.write_calls(CallFilter(OWNER), tmp_path / "page.parquet", "parquet")
    ours, page = parquet.read_table(file), parquet.read_table(tmp_path / "page.parquet")
    for name in ("cost", "input_tokens", "cache_read_tokens", "reasoning_tokens"):
        one, other = (table.column(name).drop_null().to_pylist() for table in (ours, page))
        assert sum(one) == sum(other)
    workspace.usage_views(OWNER).write("select * from calls", tmp_path / "calls.csv")
    assert csv.read_csv(tmp_path / "calls.csv").column("cost").null_count == 2


def test_what_happened_meanwhile_is_seen(workspace: Workspace) -> None:
    views = workspace.usage_views(OWNER)
    count = "select count(*) as n from calls"
    assert views.sql(count).to_pylist() == views.sql(count).to_pylist() == [{"n": 3}]
    record(workspace.ledger, [call()], owner=OWNER)
    assert views.sql(count).to_pylist() == [{"n": 4}]


class Counting(Database):
    """It counts how often views are read out of it."""

    read = 0

    def read_together(
        self, statements: Mapping[str, tuple[str, Values]], take: Callable[[Any], T]
    ) -> dict[str, T]:
        self.read += 1
        return super().read_together(statements, take)


def test_views_are_kept_until_something_changes(workspace: Workspace) -> None:
    workspace.close()
    database = Counting(workspace.settings.database)
    usage = UsageSql(database)
    for sql in ("select 1 from calls", "select id from calls", "select 1 from calls, runs"):
        usage.views(OWNER).sql(sql)
    assert database.read == 2  # once more when the runs were asked for as well
    usage.views(OWNER).sql("select calls from runs")
    assert database.read == 2
    usage.views(OWNER).sql("select title from runs")
    assert database.read == 3  # and for another of its columns
    usage.views(OWNER).sql("select title, calls from runs")
    assert database.read == 3
    database.execute("update runs set title = 'other'")
    assert usage.views(OWNER).sql("select title from runs").to_pylist() == [{"title": "other"}]
    assert database.read == 4
    usage.close()
    database.close()


def test_limits_and_mistakes_are_told(workspace: Workspace, tmp_path: Path) -> None:
    views = workspace.usage_views(OWNER)
    assert len(views.sql("select * from calls", Limits(rows=2))) == 2
    assert list(views.pandas("select model from calls order by 1").model) == [
        "secret",
        "small",
        "small",
    ]
    with pytest.raises(SqlRefused, match="llm_calls"):
        views.sql("select * from llm_calls")
    with pytest.raises(NotFound, match="there are calls, runs"):
        views.arrow("llm_calls")
    with pytest.raises(ConfigError, match="cannot be written"):
        views.write("select 1", tmp_path / "none" / "x.csv")
    assert list((workspace.settings.data / "exports").iterdir()) == []  # nothing is left


@pytest.mark.parametrize("sql", ["selct 1", "select nonsense from calls"])
def test_a_file_stays_as_it_is_without_a_result(
    workspace: Workspace, tmp_path: Path, sql: str
) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("mine\n1\n")
    with pytest.raises(SqlRefused):
        workspace.usage_views(OWNER).write(sql, file)
    assert file.read_text() == "mine\n1\n"
    workspace.usage_views(OWNER).write("select 2 as yours", file)
    assert csv.read_csv(file).to_pylist() == [{"yours": 2}]


def test_another_process_asks_the_same(settings: Settings) -> None:
    holder = Held(settings, FakeEmbedder())
    fill(holder, OWNER)
    other = OpenedFromElsewhere(settings, FakeEmbedder())
    (row,) = other.usage_views(OWNER).sql("select sum(cost) as cost from calls").to_pylist()
    assert row == {"cost": 0.25}
    with pytest.raises(SqlRefused, match="DROP"):
        other.usage_views(OWNER).sql("drop table calls")
    other.close()
    holder.close()
