"""What pages show is what is meant: texts of others stand as they are, figures and days are right,
and no address breaks a page.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from agentkit.core.rates import Rates
from agentkit.events import Fallback, Retrieved, RunFailed
from agentkit.ledger.bill.own_prices import OwnPrice
from agentkit.ledger.usage import health
from agentkit.llm import Connection, save_connection
from agentkit.settings import Settings
from agentkit.ui.runs.overview import PER_PAGE
from agentkit.ui.shared import state
from agentkit.ui.text import markdown
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, texts
from tests.app.test_runs import ask, find_step, keep, listed
from tests.app.test_usage import arrow, choose_row, metrics
from tests.app.test_usage_out import fetch, read

Ingest = Callable[[str, dict[str, str]], None]
HOSTILE = "![x](http://evil.example/p.png) **now**"


def columns(app: AppTest, place: int = -1) -> dict[str, dict[str, Any]]:
    """How the columns of a table are shown."""
    shown: dict[str, dict[str, Any]] = json.loads(app.dataframe[place].proto.columns)
    return shown


def test_why_a_look_up_fell_back_is_told_word_for_word(workspace: ScriptableWorkspace) -> None:
    why = Fallback("hybrid", "m", HOSTILE, "ModelUnreachable")
    run_id = keep(
        workspace,
        Retrieved("tea", "Kitchen", "lexical", [], 0.1, fallback=why),
        RunFailed("x", "Y"),
    )
    app = open_page("runs", run=run_id, step=find_step(workspace, run_id, "search"))
    (warning,) = app.warning
    assert markdown.literal(HOSTILE) in warning.value


def test_an_error_of_a_file_with_tools_is_told_word_for_word(
    workspace: ScriptableWorkspace,
) -> None:
    file = workspace.settings.data / "tools.py"
    file.write_text(f"raise ValueError({HOSTILE!r})")
    state.use(ScriptableWorkspace(Settings(data=workspace.settings.data / "own", tools=str(file))))
    app = open_page("settings")
    assert any(markdown.literal(HOSTILE) in error.value for error in app.error)


@pytest.mark.parametrize("other", [{}, {"with": "*y*"}])
def test_the_id_of_a_run_that_is_not_there_is_told_word_for_word(
    workspace: ScriptableWorkspace, other: dict[str, str]
) -> None:
    app = open_page("runs", run="*x*_y_", **other)
    told = [one.value for one in app.markdown]
    assert any(r"There is no run '\*x\*\_y\_'." in one for one in told)


@pytest.fixture
def looked_up(workspace: ScriptableWorkspace, ingest: Ingest) -> ScriptableWorkspace:
    """One question that found a passage, and two that found none elsewhere."""
    ingest("Kitchen", {"tea.md": "Green tea is steeped at 80 degrees."})
    workspace.library.create_collection(OWNER, "Empty")
    asked = {"How is green tea steeped?": "Kitchen", "1?": "Empty", "2?": "Empty"}
    for question, collection in asked.items():
        workspace.ask(OWNER, question, collection=collection, model_id="offline").result()
    return workspace


def test_the_best_score_is_that_of_look_ups_that_found_something(
    looked_up: ScriptableWorkspace,
) -> None:
    best = looked_up.database.value("select max(best) from steps where kind = 'search'")
    assert isinstance(best, float)
    app = open_page("usage", tab="Look-ups")
    assert {one.label: one.value for one in app.metric}["Best score"] == f"{best:.2f}"
    app = open_page("usage", tab="Look-ups", collection="Empty")
    assert {one.label: one.value for one in app.metric}["Best score"] == "none"


def test_a_row_without_a_failed_step_says_so(looked_up: ScriptableWorkspace) -> None:
    app = open_page("usage", tab="Look-ups")
    names = list(app.dataframe[-1].value["collection"])
    choose_row(app, "work-lookups-0", names.index("Kitchen"))
    assert [one.value for one in app.toast] == ["There is none."]


def test_times_of_tables_are_of_the_viewers_zone_and_those_of_sql_in_utc(
    looked_up: ScriptableWorkspace,
) -> None:
    shown = columns(open_page("usage", tab="Documents"))
    for name in ("last_used", "updated_at"):
        assert shown[name]["type_config"]["timezone"] == "UTC"
    app = open_page("ask_usage")
    app.text_area(key="sql-text").set_value("select max(finished_at) as last from runs")
    next(one for one in app.button if one.label == "Answer").click().run()
    assert "timezone" not in app.dataframe[-1].proto.columns


@pytest.mark.parametrize(
    ("page", "address"),
    [
        ("usage", {"within": "foo"}),
        ("usage", {"from": "9999-12-31", "to": "9999-12-31"}),
        ("usage", {"from": "0001-01-01", "to": "2026-12-31"}),
        ("runs", {"from": "0001-01-01", "to": "9999-12-31"}),
        ("retrieval_lab", {"from": "0001-01-01", "to": "9999-12-31"}),
    ],
)
def test_no_address_breaks_a_page(
    looked_up: ScriptableWorkspace, page: str, address: dict[str, str]
) -> None:
    assert not open_page(page, **address).exception


def test_the_page_of_an_address_counts_after_a_click_too(workspace: ScriptableWorkspace) -> None:
    for number in range(2 * PER_PAGE + 1):
        keep(workspace, RunFailed("x", "Y"), run_id=f"r{number}")
    app = open_page("runs", page="2")
    second = listed(app)
    (pages,) = app.pagination
    pages.set_value(3).run()
    assert (app.query_params["page"], len(listed(app))) == ("3", 1)
    app.query_params["page"] = "2"  # the browser's way back
    app.run()
    assert (app.query_params["page"], listed(app)) == ("2", second)


def test_a_small_price_is_not_told_as_nothing(workspace: ScriptableWorkspace) -> None:
    address = "https://gateway.example:8000/v1"
    save_connection(workspace.settings, Connection("Ours", address, models=("big", "small")))
    rates = Rates(0.0004, 0.0375, 0.0, 15.0)
    workspace.bill.prices.enter(OwnPrice("gateway.example:8000", "small", rates))
    table = open_page("settings").dataframe[0]
    written = arrow(table.proto.arrow_data.styler.display_values).astype(str).to_numpy()
    assert {"$0.0004", "$0.0375", "$0.00", "$15.00", "unknown"} <= set(written.flat)
    assert table.value["input"].dtype.kind == "f"


def test_more_documents_than_are_shown_are_told_and_exported(
    looked_up: ScriptableWorkspace,
) -> None:
    looked_up.database.execute(
        "insert into documents select * exclude n replace (id || n as id, name || n as name)"
        f" from documents, range({health.MOST_DOCUMENTS}) as r(n)"
    )
    app = open_page("usage", tab="Documents")
    assert metrics(app)["Documents"] == f"{health.MOST_DOCUMENTS + 1:,}"
    assert len(app.dataframe[-1].value) == health.MOST_DOCUMENTS
    assert f"The first {health.MOST_DOCUMENTS:,} are shown; the export has all." in texts(app)
    assert len(read(fetch(app, "health-csv"), "csv")) == health.MOST_DOCUMENTS + 1


def test_a_question_that_is_in_the_set_already_takes_its_place(
    kitchen: ScriptableWorkspace,
) -> None:
    for _ in range(2):
        run_id = ask(kitchen)
        step = find_step(kitchen, run_id, "message")
        app = open_page("runs", run=run_id, step=step)
        app.button(key=f"add-question-{step}-add").click().run()
    (made,) = kitchen.library.questions.sets(OWNER)
    assert len(kitchen.library.questions.questions(OWNER, made.id)) == 1
