"""What leaves the usage page: any table as a file, and the page as a report; all with the totals of
the page, of the SQL box and of the command line.
"""

from __future__ import annotations

import io
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pandas
import pyarrow
import pytest
from pyarrow import csv, parquet
from starlette.applications import Starlette
from starlette.testclient import TestClient
from streamlit.testing.v1 import AppTest

from agentkit.cli.figures import sum_up
from agentkit.events import RunFailed, Usage
from agentkit.ledger.export import table_file
from agentkit.ledger.queries import CallFilter
from agentkit.ledger.store import utc_now
from agentkit.ledger.usage import sums
from agentkit.ui.shared import downloads
from agentkit.ui.text import figures
from agentkit.ui.usage.report import Asked, write_report
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page
from tests.bench import month
from tests.ledger.conftest import call, record


@pytest.fixture
def used(workspace: ScriptableWorkspace) -> ScriptableWorkspace:
    """Three days of two models, with a failure and a call of unknown price."""
    now = datetime.now(UTC)
    for day in range(3):
        events = [
            call(Usage(100 + day, 20, output=30, reasoning=4), cost=0.25, model="<b>small</b>"),
            call(Usage(50, output=7), model="=secret", agent="Critic"),
            call(Usage(9), cost=0.125, model="large"),
        ]
        record(workspace.ledger, events, owner=OWNER, at=now - timedelta(days=day))
    record(workspace.ledger, [RunFailed("no", "RateLimited")], owner=OWNER)
    return workspace


def fetch(app: AppTest, key: str) -> bytes:
    token = app.session_state["download-tokens"][key]
    client = TestClient(Starlette(routes=[downloads.ROUTE]))
    answer = client.get(f"/download/{token}")
    assert answer.status_code == 200
    return answer.content


def read(content: bytes, form: str) -> pyarrow.Table:
    if form == "arrow":
        return pyarrow.ipc.open_stream(content).read_all()
    read = parquet.read_table if form == "parquet" else csv.read_csv
    return read(io.BytesIO(content))


def total(table: pyarrow.Table, column: str) -> float:
    return float(sum(value or 0 for value in table.column(column).to_pylist()))


@pytest.mark.parametrize("form", ["csv", "parquet", "arrow"])
def test_files_report_and_sql_have_the_same_totals(used: ScriptableWorkspace, form: str) -> None:
    app = open_page("usage", days="All")
    calls = read(fetch(app, f"calls-{form}"), form)
    groups = read(fetch(app, f"groups-{form}"), form)
    page = sums.measure(used.ledger, CallFilter(OWNER))
    (asked,) = (
        used.usage_views(OWNER)
        .sql("select count(*) as calls, sum(cost) as cost, sum(prompt_tokens) as tokens from calls")
        .to_pylist()
    )
    assert page.calls == len(calls) == total(groups, "calls") == asked["calls"] == 9
    assert page.cost == total(calls, "cost") == total(groups, "cost") == asked["cost"]
    assert page.prompt_tokens == total(groups, "prompt_tokens") == asked["tokens"]
    command = sum_up(used.figures, CallFilter(OWNER), "model", "UTC").totals
    assert (command.calls, command.cost, command.failed) == (page.calls, page.cost, page.failed)
    shown = {one.label: one.value for one in app.metric}
    assert shown["Calls"] == figures.count(command.calls)
    assert shown["Known cost"] == figures.dollars(command.cost or 0)
    report = fetch(app, "usage-report").decode()
    told = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", report))
    assert told["Calls"] == figures.count(page.calls)
    assert told["Known cost"] == figures.dollars(page.cost or 0)
    assert told["Tokens in"] == figures.count(page.prompt_tokens)
    assert told["Tokens out"] == figures.count(page.completion_tokens)


def test_the_report_stands_by_itself(used: ScriptableWorkspace) -> None:
    report = fetch(open_page("usage"), "usage-report").decode()
    assert report.count("<svg") == 3
    assert "<b>small</b>" not in report
    assert "&lt;b&gt;small&lt;/b&gt;" in report
    links = re.findall(r"""(?:src|href)=["']?(?!#)([^"'\s>]+)""", report)
    assert links == []
    assert "default-src 'none'" in report
    assert len(report) < 300_000


def test_a_report_of_one_call_and_of_none(workspace: ScriptableWorkspace) -> None:
    asked = Asked(CallFilter(OWNER), "UTC", 24, "day", {}, "today", "today")
    assert "<svg" not in write_report(workspace.ledger, asked)
    record(workspace.ledger, [call(Usage(1), cost=0.5)], owner=OWNER)
    assert "<dd>$0.50" in write_report(workspace.ledger, asked)


TABLES = {
    "Overview": "groups",
    "Bill": "bill",
    "Speed": "speed",
    "Errors": "failures",
    "Tools": "tools",
    "Look-ups": "lookups",
    "Compression": "compression",
    "People": "people",
}


def test_the_table_of_each_tab_can_be_taken_away(workspace: ScriptableWorkspace) -> None:
    """Whole and the same in each form, over a month that has all of it."""
    month.fill(workspace.database, 600, utc_now() - timedelta(days=29))
    workspace.settings = replace(workspace.settings, usage_of_all=True)
    for tab, name in TABLES.items():
        app = open_page("usage", tab=tab)
        found = [read(fetch(app, f"{name}-{form}"), form) for form in ("csv", "parquet", "arrow")]
        assert len({(len(table), tuple(table.column_names)) for table in found}) == 1, tab
        assert len(found[0]) >= 1, tab


def test_no_formula_reaches_a_spreadsheet() -> None:
    frame = pandas.DataFrame({"model": ["=1+1"], "cost": [-0.5]})
    assert table_file(frame, "csv").read() == b"model,cost\n'=1+1,-0.5\n"
