"""The Usage page: its figures are those of the ledger and of the answers, filters narrow them, days
are the viewer's.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pandas
import pyarrow
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient
from streamlit.testing.v1 import AppTest

from agentkit.ledger import queries
from agentkit.ledger.queries import CallFilter
from agentkit.messages import new_id
from agentkit.ui.shared import charts
from agentkit.ui.shell import server
from agentkit.ui.text import figures
from agentkit.ui.usage import usage
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, settle
from tests.soak import TIMES

Ingest = Callable[[str, dict[str, str]], None]


def add_call(workspace: ScriptableWorkspace, **given: Any) -> None:
    """One row of `llm_calls`, a chat call of a model with a known price unless told otherwise."""
    row: dict[str, Any] = {
        "id": new_id(),
        "attempt": 1,
        "owner": OWNER,
        "agent": "Writer",
        "provider": "openai",
        "model": "gpt-5-mini",
        "purpose": "chat",
        "status": "ok",
        "error": "",
        "error_type": "",
        "input_tokens": 100,
        "cache_read_tokens": 20,
        "cache_write_tokens": 0,
        "output_tokens": 30,
        "reasoning_tokens": 5,
        "estimated": False,
        "cost": 0.25,
        "seconds": 2.0,
        "first_token_s": 0.5,
        "raw_usage": "{}",
        "finished_at": datetime.now(UTC).replace(tzinfo=None),
    }
    workspace.database.insert("llm_calls", {**row, **given})


def metrics(app: AppTest) -> dict[str, str]:
    return {one.label: one.value for one in app.metric}


def arrow(data: bytes) -> pandas.DataFrame:
    read: pandas.DataFrame = pyarrow.ipc.open_stream(data).read_pandas()
    return read


def test_an_empty_ledger_leads_to_the_chat(workspace: ScriptableWorkspace) -> None:
    app = open_page("usage")
    assert "No model was called yet" in app.markdown[0].value
    assert [link.label for link in app.page_link] == ["Ask a question"]
    assert not app.metric


def test_the_figures_are_those_under_the_answer(
    workspace: ScriptableWorkspace, ingest: Ingest
) -> None:
    ingest("Kitchen", {"tea.md": "Green tea is brewed at 70 degrees."})
    workspace.database.execute("delete from llm_calls")  # those of the ingest belong to no answer
    workspace.script("At 70 degrees [1].")
    run = workspace.ask(OWNER, "How is green tea brewed?", collection="Kitchen")
    run.result()
    app = settle(open_page("usage"))
    answer = queries.of_messages(workspace.ledger, OWNER, [run.message_id])[run.message_id]
    shown = metrics(app)
    assert shown["Calls"] == figures.count(answer.calls)
    assert shown["Tokens in"].removeprefix("about ") == figures.count(answer.prompt_tokens)
    assert shown["Tokens out"].removeprefix("about ") == figures.count(answer.completion_tokens)
    assert answer.prompt_tokens > 0
    assert app.exception == []


def test_an_unknown_price_is_unknown(workspace: ScriptableWorkspace) -> None:
    add_call(workspace, model="llama3", cost=None)
    app = open_page("usage")
    assert metrics(app)["Known cost"] == "unknown"
    assert any(one.value.startswith("1 call without a known price") for one in app.caption)
    shown = app.dataframe[0].value
    assert (shown.cost.isna().tolist(), shown.unpriced.tolist()) == ([True], [1])
    add_call(workspace)
    app.run()
    assert metrics(app)["Known cost"] == "$0.2500"


def test_costs_are_numbers_that_sort_and_are_read_however_small(
    workspace: ScriptableWorkspace,
) -> None:
    for model, cost in [
        ("a", 5.05),
        ("b", 15.65),
        ("c", 4.99),
        ("d", 0.00004),
        ("e", None),
        ("f", 0.0),
    ]:
        add_call(workspace, model=model, cost=cost)
    app = open_page("usage")
    for name in ("By model", "Calls"):
        app.session_state["usage-tables"] = name
        app.run()
        shown = app.dataframe[0].value
        assert shown.cost.dtype.kind == "f", name
        assert shown.cost.dropna().sort_values().tolist() == [0.0, 0.00004, 4.99, 5.05, 15.65], name
        columns = json.loads(app.dataframe[0].proto.columns)
        assert columns["cost"]["type_config"] == {"type": "number"}, name
        read = arrow(app.dataframe[0].proto.arrow_data.styler.display_values)
        assert {"$5.05", "$15.65", "$4.99", "$0.00004", "$0.00"} < set(read["cost"].astype(str)), (
            name
        )


@pytest.mark.soak
def test_all_calls_can_be_taken_away(workspace: ScriptableWorkspace) -> None:
    many = 120_000 * TIMES
    workspace.database.execute(
        """insert into llm_calls select 'c' || i, 1, ?, null, null, null, '=Agent', 'openai',
        'gpt', 'chat', 'ok', '', '',
        i, 0, 0, 0, 0, false, 0.5, 1, null, '{}', timestamp '2026-03-01' + interval (i) second,
        false from range(?) r(i)""",
        [OWNER, many],
    )
    add_call(workspace, owner="somebody else")
    app = open_page("usage", days="All")
    links: Any = app.get("link_button")
    assert [link.proto.label for link in links] == [
        "Export the calls as CSV",
        "Export the calls as Parquet",
    ]
    client = TestClient(Starlette(routes=server.ROUTES))
    text, parquet = (client.get(f"/{link.proto.url}") for link in links)
    assert (text.status_code, text.headers["content-type"]) == (200, "text/csv; charset=utf-8")
    rows = pandas.read_csv(io.BytesIO(text.content))
    assert (len(rows), rows.id.nunique(), rows.id[0], set(rows.agent)) == (
        many,
        many,
        f"c{many - 1}",
        {"'=Agent"},
    )
    assert text.headers["content-disposition"].startswith("attachment; filename*=UTF-8''calls-2")
    whole = pandas.read_parquet(io.BytesIO(parquet.content))
    assert (len(whole), whole.input_tokens.sum(), set(whole.agent)) == (
        many,
        rows.input_tokens.sum(),
        {"=Agent"},
    )
    assert whole.cost.dtype.kind == "f"
    assert not list((workspace.settings.data / "exports").iterdir()), "nothing stays on the disk"
    assert client.get("/base/path/" + links[0].proto.url).status_code == 200
    assert client.get("/download/guessed").status_code == 404
    app.segmented_control(key="days").set_value("Today").run()
    assert not app.get("link_button")  # no calls today


def test_filters_narrow_every_figure_and_come_from_the_address(
    workspace: ScriptableWorkspace,
) -> None:
    add_call(workspace)
    add_call(
        workspace,
        model="llama3",
        agent="Critic",
        status="failed",
        output_tokens=0,
        reasoning_tokens=0,
    )
    add_call(
        workspace,
        model="minilm",
        agent="",
        purpose="embedding",
        output_tokens=0,
        reasoning_tokens=0,
        first_token_s=None,
        seconds=0.01,
    )
    add_call(workspace, finished_at=datetime.now(UTC).replace(tzinfo=None) - timedelta(days=40))
    app = open_page("usage")
    assert (metrics(app)["Calls"], metrics(app)["Failed"], metrics(app)["Median time"]) == (
        "3",
        "1",
        "2.0 s",
    )
    app.segmented_control(key="days").set_value("All").run()
    assert metrics(app)["Calls"] == "4"
    app.segmented_control(key="purpose").set_value("Embedding").run()
    assert (metrics(app)["Calls"], metrics(app)["Median time"]) == ("1", "0.01 s")
    assert metrics(open_page("usage", model="llama3"))["Failed"] == "1"
    assert metrics(open_page("usage", agent="no agent"))["Tokens in"] == "120"
    assert metrics(open_page("usage", days="90 days", agent="Writer"))["Calls"] == "2"
    nothing = open_page("usage", model="llama3", purpose="Embedding")
    assert "No calls fit these filters" in nothing.info[0].value


def test_a_custom_range_has_both_its_ends(workspace: ScriptableWorkspace) -> None:
    now = datetime.now(UTC).replace(tzinfo=None)
    for days in (0, 1, 2, 3):
        add_call(workspace, finished_at=now - timedelta(days=days))
    app = open_page("usage", days="Custom")
    today = datetime.now(UTC).date()
    app.date_input(key="between").set_value(
        (today - timedelta(days=2), today - timedelta(days=1))
    ).run()
    assert metrics(app)["Calls"] == "2"


def test_each_table_sums_up_to_the_total(workspace: ScriptableWorkspace) -> None:
    chat = workspace.ledger.create_chat(OWNER, "Tea *for* two", "answer", "offline", "Kitchen")
    for number in range(6):
        chat_id = chat.id if number % 2 else None
        add_call(
            workspace,
            model=f"m{number % 3}",
            agent=("Writer", "Critic")[number % 2],
            chat_id=chat_id,
        )
    app = open_page("usage")
    for name in ("By model", "By agent", "By chat", "By day"):
        app.session_state["usage-tables"] = name
        app.run()
        shown = app.dataframe[0].value
        assert (shown.calls.sum(), shown.prompt_tokens.sum()) == (6, 720), name
    app.session_state["usage-tables"] = "Calls"
    app.run()
    assert len(app.dataframe[0].value) == 6


def test_a_selected_chat_can_be_opened(workspace: ScriptableWorkspace) -> None:
    chat = workspace.ledger.create_chat(OWNER, "Tea for two", "answer", "offline", "Kitchen")
    add_call(workspace, chat_id=chat.id)
    app = open_page("usage")
    app.session_state["usage-tables"] = "By chat"
    app.session_state["usage-chat"] = {"selection": {"rows": [0], "columns": [], "cells": []}}
    app.run()
    link = app.page_link[0]
    assert link.label == "Open Tea for two"
    assert f"chat={chat.id}" in link.proto.query_string
    workspace.delete_chat(OWNER, chat.id)
    app.run()
    assert any("one that was deleted" in one.value for one in app.caption)


def test_a_chat_may_be_called_as_deleted_ones_are(workspace: ScriptableWorkspace) -> None:
    chat = workspace.ledger.create_chat(OWNER, "deleted chat", "answer", "offline", "Kitchen")
    add_call(workspace, chat_id=chat.id)
    app = open_page("usage")
    app.session_state["usage-tables"] = "By chat"
    app.session_state["usage-chat"] = {"selection": {"rows": [0], "columns": [], "cells": []}}
    app.run()
    assert [link.label for link in app.page_link] == ["Open deleted chat"]


def test_days_without_calls_are_there_and_empty() -> None:
    frame = pandas.DataFrame(
        {
            "key": ["2026-03-01", "2026-03-04"],
            "prompt_tokens": [5, 7],
            "completion_tokens": [1, 2],
            "unpriced": [0, 1],
            "cost": [0.5, None],
            "p50_s": [1.0, 2.0],
            "p95_s": [1.5, 2.5],
        }
    )
    # UTC without zone.
    chosen = CallFilter(OWNER, since=datetime(2026, 2, 28), until=datetime(2026, 3, 6))  # noqa: DTZ001
    days = usage.fill_days(frame, chosen)
    assert list(days.day) == [
        "2026-02-28",
        "2026-03-01",
        "2026-03-02",
        "2026-03-03",
        "2026-03-04",
        "2026-03-05",
    ]
    assert list(days.prompt_tokens) == [0, 5, 0, 0, 7, 0]
    assert days.cost.isna().sum() == 5


@pytest.mark.parametrize("draw", [charts.draw_tokens, charts.draw_cost, charts.draw_latency])
def test_charts_say_in_words_what_they_show(draw: Callable[[pandas.DataFrame], None]) -> None:
    def page(name: str) -> None:
        import pandas

        from agentkit.ui.shared import charts

        days = {
            "day": ["2026-03-01", "2026-03-02"],
            "prompt_tokens": [1500, 0],
            "completion_tokens": [20, 0],
            "cost": [0.5, None],
        }
        getattr(charts, name)(
            pandas.DataFrame({**days, "p50_s": [1.0, None], "p95_s": [2.5, None]})
        )

    app = AppTest.from_function(page, args=(draw.__name__,)).run()
    assert not app.exception
    chart = app.get("vega_lite_chart")[0]
    said = chart.proto.alt
    assert "2026-03-01 to 2026-03-02" in said
    assert any(figure in said for figure in ("1,500 in, 20 out", "$0.5000", "2.5 s"))
    assert '"1 Mar"' in chart.proto.spec
    assert '"2 Mar"' in chart.proto.spec


def test_an_agent_goes_by_a_name_for_people(workspace: ScriptableWorkspace) -> None:
    add_call(workspace, agent="speaker_selection_agent")
    add_call(workspace)
    app = open_page("usage")
    for name, column in (("By agent", "title"), ("Calls", "agent")):
        app.session_state["usage-tables"] = name  # what a click on the tab does
        app.run()
        assert sorted(app.dataframe[0].value[column]) == ["Choice of the speaker", "Writer"]
    narrow = app.multiselect(key="agent")
    assert narrow.options == ["Writer", "Choice of the speaker"]
    narrow.set_value(["speaker_selection_agent"]).run()
    assert metrics(app)["Calls"] == "1"
