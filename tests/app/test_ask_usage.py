"""Ask your usage without a browser: what is answered, refused, saved and written in words."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient
from streamlit.testing.v1 import AppTest

from agentkit.errors import ConfigError, LimitReached
from agentkit.events import Usage
from agentkit.ledger.bill.budgets import Budget
from agentkit.ui.shared import downloads
from agentkit.ui.usage.sql_examples import EXAMPLES
from agentkit.ui.usage.sql_result import Shape, build_chart
from agentkit.workspace.otlp import SpanSender
from agentkit.workspace.usage_writing import find_select, write_select
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, settle
from tests.ledger.conftest import call, record


def answered(app: AppTest, sql: str) -> AppTest:
    app.text_area(key="sql-text").set_value(sql)
    return app.button(key="sql-go").click().run()


def shown(app: AppTest) -> Any:
    """The table of the answer; the columns that can be read are in one before it."""
    _, table = app.dataframe
    return table.value


def test_a_select_is_answered_and_an_attack_refused(workspace: ScriptableWorkspace) -> None:
    record(workspace.ledger, [call(Usage(10), cost=0.5), call(Usage(10), cost=1)], owner=OWNER)
    record(workspace.ledger, [call(Usage(10), cost=9)], owner="somebody else")
    app = answered(open_page("ask_usage"), "select sum(cost) as dollars from calls")
    assert shown(app).dollars.tolist() == [1.5]
    assert "1 row." in [one.value for one in app.caption]
    answered(app, "attach '/tmp/other.duckdb'")
    assert "only SELECT is answered" in app.error[0].value
    assert len(app.dataframe) == 1
    answered(app, "select cots from calls")
    assert "cots" in app.error[0].value


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_is_answered(workspace: ScriptableWorkspace, name: str) -> None:
    record(workspace.ledger, [call(Usage(10), cost=0.5)], owner=OWNER)
    app = open_page("ask_usage")
    app.selectbox(key="sql-example").select(name).run()
    assert not app.error
    assert app.text_area(key="sql-text").value == EXAMPLES[name]


def test_a_query_is_saved_chosen_and_removed(workspace: ScriptableWorkspace) -> None:
    app = open_page("ask_usage")
    answered(app, "select 41 + 1 as n")
    app.text_input(key="sql-name").set_value(" The   answer ")
    next(one for one in app.button if one.label == "Save the query").click().run()
    assert [one.name for one in workspace.saved_queries.all(OWNER)] == ["The answer"]
    assert workspace.saved_queries.all("somebody else") == []
    answered(app, "select 1 as n")
    app.selectbox(key="sql-saved").select("The answer").run()
    assert shown(app).n.tolist() == [42]
    app.button(key="sql-remove").click().run()
    assert workspace.saved_queries.all(OWNER) == []
    with pytest.raises(ConfigError, match="needs a name"):
        workspace.saved_queries.save(OWNER, " ", "select 1")
    with pytest.raises(ConfigError, match="no SQL"):
        workspace.saved_queries.save(OWNER, "Nothing", " ")


def test_links_give_the_whole_result(workspace: ScriptableWorkspace) -> None:
    app = answered(open_page("ask_usage"), "select i as n from range(20000) t(i)")
    assert "The first 10,000 rows; the files have all." in [one.value for one in app.caption]
    token = app.session_state["download-tokens"]["sql-csv"]
    client = TestClient(Starlette(routes=[downloads.ROUTE]))
    assert len(client.get(f"/download/{token}").text.splitlines()) == 20_001


def test_the_offline_model_says_that_it_writes_no_sql(workspace: ScriptableWorkspace) -> None:
    app = open_page("ask_usage")
    app.text_input(key="sql-question").set_value("What did it cost?")
    next(one for one in app.button if one.label == "Write the SELECT").click().run()
    assert "offline model" in app.error[0].value
    with pytest.raises(ConfigError, match="empty"):
        write_select(workspace, OWNER, "  ")


def test_a_model_writes_the_select_and_puts_it_right(
    workspace: ScriptableWorkspace,
) -> None:
    record(workspace.ledger, [call(Usage(10), cost=0.5)], owner=OWNER)
    written = "select sum(cost) as dollars from calls where cost > 0"
    workspace.script("select * from llm_calls", f"```sql\n{written};\n```")
    app = open_page("ask_usage")
    app.text_input(key="sql-question").set_value("What did it cost?")
    next(one for one in app.button if one.label == "Write the SELECT").click().run()
    settle(app)
    settle(app)
    assert app.text_area(key="sql-text").value == written
    assert shown(app).dollars.tolist() == [0.5]
    (run,) = workspace.figures.runs(OWNER, kind="usage")
    assert (run.state, run.calls) == ("finished", 2)


def test_budgets_hold_for_the_model_that_writes_the_select(
    workspace: ScriptableWorkspace,
) -> None:
    workspace.bill.budgets.enter(Budget("question", "tokens", 10.0))
    workspace.script("```sql\nselect 1\n```")
    with pytest.raises(LimitReached, match="budget of 10 tokens a question is used up"):
        write_select(workspace, OWNER, "What did it cost?").result()


def test_settings_tell_how_sending_goes(workspace: ScriptableWorkspace) -> None:
    app = open_page("settings")
    assert any("AGENTKIT_OTLP_ENDPOINT" in one.value for one in app.caption)
    settings = replace(workspace.settings, otlp_endpoint="http://user:secret@127.0.0.1:9")
    workspace.spans.close()
    workspace.spans = SpanSender(workspace.ledger, settings)
    workspace.spans.begin(pace_s=1_000)
    record(workspace.ledger, [call()], owner=OWNER, at=datetime.now(UTC) + timedelta(minutes=1))
    workspace.spans.send_waiting()
    app = open_page("settings")
    assert any("Last sent: nothing so far · 1 run waiting" in one.value for one in app.caption)
    assert any("does not answer" in one.value for one in app.error)
    assert not any("secret" in one.value for one in [*app.markdown, *app.error])


def test_the_sql_of_a_reply() -> None:
    assert find_select("Sure:\n```sql\nselect 1;\n```\nDone.") == "select 1"
    assert find_select(" select 2 ; ") == "select 2"


def test_charts_of_odd_columns() -> None:
    import pandas as pd

    frame = pd.DataFrame(
        {"a.b[c]": [1.5, 2.5], "when": pd.to_datetime(["2026-01-01", "2026-01-02"]), "l": [[1], []]}
    )
    for shape in get_args(Shape):
        drawn = build_chart(frame, shape, "when", "a.b[c]", "l").to_dict()
        assert drawn["encoding"]["y"]["field"] == r"a\.b\[c\]"


def test_charts_of_columns_without_a_name_of_their_own() -> None:
    import pandas as pd

    frame = pd.DataFrame({"model": ["a", "b"], "sum(cost)": [1.5, 2.5], 'max(c."n")': [1, 2]})
    for shape in get_args(Shape):
        for name in ("sum(cost)", 'max(c."n")'):
            drawn = build_chart(frame, shape, "model", name).to_dict()["encoding"]
            assert "aggregate" not in drawn["y"]
            assert re.sub(r"\\(.)", r"\1", drawn["y"]["field"]) == name
            assert [one["type"] for one in drawn["tooltip"]] == ["nominal", *2 * ["quantitative"]]
