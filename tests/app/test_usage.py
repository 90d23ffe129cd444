"""The Usage page: its figures are those of the ledger and of the answers, filters narrow them, days
are the viewer's.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs

import pandas
import pyarrow
import pytest
import streamlit as st
from starlette.applications import Starlette
from starlette.testclient import TestClient
from streamlit.testing.v1 import AppTest

from agentkit.ledger import queries
from agentkit.ledger.usage import sums
from agentkit.messages import new_id
from agentkit.ui.shell import server
from agentkit.ui.text import figures
from agentkit.ui.usage import report, words
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, settle
from tests.bench import month
from tests.ledger.conftest import call, record
from tests.ledger.test_steps import DONE
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


def metrics(app: AppTest, which: int = 1) -> dict[str, str]:
    """The figures by their names; of two of the same name the first, or with -1 the last."""
    return {one.label: one.value for one in [*app.metric][::-which]}


def export_links(app: AppTest) -> list[Any]:
    """The links under which all calls are taken away."""
    links: Any = app.get("link_button")
    return [link for link in links if link.proto.label.startswith("Export the calls")]


def open_tab(app: AppTest, name: str) -> None:
    """What a click on the tab does."""
    app.session_state["usage-tab"] = name
    app.run()
    assert not app.exception, app.exception[0].stack_trace


def choose_row(app: AppTest, table: str, row: int = 0) -> None:
    """What a click on a row does."""
    app.session_state[table] = {"selection": {"rows": [row], "columns": [], "cells": []}}
    app.run()
    assert not app.exception, app.exception[0].stack_trace


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
    assert shown["Tokens in"].removeprefix("~") == figures.count(answer.prompt_tokens)
    assert shown["Tokens out"].removeprefix("~") == figures.count(answer.completion_tokens)
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


def test_where_nothing_cost_anything_tokens_are_drawn_by_a_click(
    workspace: ScriptableWorkspace,
) -> None:
    add_call(workspace, cost=0.0)
    app = open_page("usage")
    assert "No costs to draw here." in [one.value for one in app.caption]
    app.button(key="usage-tokens").click().run()
    assert app.segmented_control(key="usage-measure").value == "tokens"
    assert "No costs to draw here." not in [one.value for one in app.caption]
    add_call(workspace, cost=0.25)
    app.segmented_control(key="usage-measure").set_value("cost").run()
    assert not [one for one in app.button if one.key == "usage-tokens"]


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
    for name in ("Overview", "Calls"):
        open_tab(app, name)
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
        """insert into llm_calls by name select 'c' || i as id, 1 as attempt, ? as owner,
        '=Agent' as agent, 'openai' as provider, 'gpt' as model, 'chat' as purpose,
        'ok' as status, '' as error, '' as error_type, i as input_tokens, 0 as cache_read_tokens,
        0 as cache_write_tokens, 0 as output_tokens, 0 as reasoning_tokens, false as estimated,
        0.5 as cost, 1 as seconds, '{}' as raw_usage,
        timestamp '2026-03-01' + interval (i) second as finished_at, false as imported
        from range(?) r(i)""",
        [OWNER, many],
    )
    add_call(workspace, owner="somebody else")
    app = open_page("usage", days="All")
    links = [one for one in export_links(app) if "Arrow" not in one.proto.label]
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
    app.segmented_control(key="usage-days").set_value("Today").run()
    assert not export_links(app)  # no calls today


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
    shown = metrics(app)
    assert (shown["Calls"], shown["Failed"], shown["Median time"]) == ("3", "1 · 33.3 %", "2.0 s")
    app.segmented_control(key="usage-days").set_value("All").run()
    assert metrics(app)["Calls"] == "4"
    app.multiselect(key="usage-purpose").set_value(["embedding"]).run()
    assert (metrics(app)["Calls"], metrics(app)["Median time"]) == ("1", "0.01 s")
    assert app.query_params == {"days": "All", "purpose": "embedding"}
    assert metrics(open_page("usage", model="llama3"))["Failed"] == "1 · 100.0 %"
    assert metrics(open_page("usage", agent=""))["Tokens in"] == "120"
    assert metrics(open_page("usage", days="90 days", agent="Writer"))["Calls"] == "2"
    nothing = open_page("usage", model="llama3", purpose="embedding")
    assert "No calls fit these filters" in nothing.info[0].value


def test_days_that_are_chosen_one_by_one_have_both_their_ends(
    workspace: ScriptableWorkspace,
) -> None:
    now = datetime.now(UTC).replace(tzinfo=None)
    for days in (0, 1, 2, 3):
        add_call(workspace, finished_at=now - timedelta(days=days))
    first, last = ((datetime.now(UTC) - timedelta(days=days)).date() for days in (2, 1))
    app = open_page("usage", **{"from": first.isoformat(), "to": last.isoformat()})
    assert metrics(app)["Calls"] == "2"
    assert app.segmented_control(key="usage-days").value is None
    app.button(key="usage-chip-span").click().run()
    assert metrics(app)["Calls"] == "4"
    assert metrics(open_page("usage", **{"from": "no day", "to": "2026-99-99"}))["Calls"] == "4"


@pytest.mark.parametrize("by", [*words.GROUPS])
def test_each_grouping_sums_up_to_the_total(workspace: ScriptableWorkspace, by: str) -> None:
    chat = workspace.ledger.create_chat(OWNER, "Tea *for* two", "answer", "offline", "Kitchen")
    for number in range(6):
        chat_id = chat.id if number % 2 else None
        agent = ("Writer", "Critic")[number % 2]
        add_call(workspace, model=f"m{number % 3}", agent=agent, chat_id=chat_id)
    for within in ("", "agent", "model"):
        app = open_page("usage", by=by, within=within)
        shown = app.dataframe[0].value
        assert (shown.calls.sum(), shown.prompt_tokens.sum()) == (6, 720)


def test_what_was_told_apart_stays_apart_within(workspace: ScriptableWorkspace) -> None:
    for team, agent, cost in [("a", "x", 1.0), ("a", "y", 2.0), ("b", "x", 4.0)]:
        add_call(workspace, team=team, agent=agent, cost=cost)
    app = open_page("usage", by="team", within="agent")
    shown = app.dataframe[0].value
    rows = list(zip(shown["first"], shown["second"], shown.cost, strict=True))
    assert rows == [("b", "x", 4.0), ("a", "y", 2.0), ("a", "x", 1.0)]


def test_a_chosen_row_narrows_and_can_be_released(workspace: ScriptableWorkspace) -> None:
    add_call(workspace, model="large")
    add_call(workspace, model="small", cost=0.1)
    app = open_page("usage")
    choose_row(app, "groups-model-None-0")
    assert metrics(app)["Calls"] == "1"
    assert app.query_params == {"model": "large"}
    app.button(key="usage-chip-model-large").click().run()
    assert metrics(app)["Calls"] == "2"
    assert app.query_params == {}


def test_what_was_chosen_is_in_the_address_before_the_figures_are_drawn(
    workspace: ScriptableWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who clicks on one of them then ends the drawing; the way back leads to each click all the
    same.
    """
    add_call(workspace)
    app = open_page("usage")
    monkeypatch.setattr(sums, "find_leaders", lambda *_: st.stop())
    app.multiselect(key="usage-model").set_value(["gpt-5-mini"]).run()
    assert app.query_params == {"model": "gpt-5-mini"}


def test_figures_stand_against_the_days_before(workspace: ScriptableWorkspace) -> None:
    now = datetime.now(UTC).replace(tzinfo=None)
    for days, cost in [(0, 3.0), (8, 2.0)]:
        add_call(workspace, cost=cost, finished_at=now - timedelta(days=days))
    app = open_page("usage", days="7 days")
    changes = {one.label: one.delta for one in app.metric}
    assert (changes["Cost"], changes["Calls"]) == ("+50 %", "")
    assert {one.delta for one in open_page("usage", days="All").metric} == {""}


def test_nobody_sees_what_others_took_unless_the_installation_says_so(
    workspace: ScriptableWorkspace,
) -> None:
    add_call(workspace)
    add_call(workspace, owner="ada", model="hers")
    app = open_page("usage", owner="ada")
    assert metrics(app)["Calls"] == "1"
    assert app.multiselect(key="usage-model").options == ["gpt-5-mini"]
    workspace.settings = replace(workspace.settings, usage_of_all=True)
    assert metrics(open_page("usage"))["Calls"] == "2"
    app = open_page("usage", owner="ada")
    assert metrics(app)["Calls"] == "1"
    assert app.dataframe[0].value["first"].tolist() == ["hers"]


def test_what_failed_is_told_with_since_when(workspace: ScriptableWorkspace) -> None:
    now = datetime.now(UTC).replace(tzinfo=None)
    add_call(workspace)
    for days in (3, 2):
        failed = {"status": "failed", "error_type": "RateLimitError", "retry_in_s": 2.0}
        at = now - timedelta(days=days)
        add_call(workspace, **failed, error=f"too many {days}", finished_at=at)
    app = open_page("usage", tab="Errors")
    shown = app.dataframe[0].value.iloc[0]
    assert (shown.error_type, shown.provider, shown.failed) == ("RateLimitError", "openai", 2)
    assert (shown["first"].date(), shown["error"]) == (
        (now - timedelta(days=3)).date(),
        "too many 2",
    )
    told = metrics(app)
    assert (told["Turned away"], told["Waited in between"]) == ("2", "4.0 s")
    assert "No call failed" in open_page("usage", tab="Errors", days="Today").success[0].value


def test_calls_stand_in_the_order_that_is_asked_for(workspace: ScriptableWorkspace) -> None:
    for seconds, cost in [(2.0, 0.5), (9.0, 0.1), (4.0, 0.9)]:
        add_call(workspace, seconds=seconds, cost=cost)
    for sort, column, expected in [
        ("slowest", "seconds", [9.0, 4.0, 2.0]),
        ("dearest", "cost", [0.9, 0.5, 0.1]),
    ]:
        app = open_page("usage", tab="Calls", sort=sort)
        assert app.dataframe[0].value[column].tolist() == expected
    assert open_page("usage", tab="Speed").dataframe[0].value.seconds.tolist() == [9.0, 4.0, 2.0]


def test_a_tab_asks_only_for_what_it_shows(workspace: ScriptableWorkspace) -> None:
    add_call(workspace)
    shown = {"Overview": 1, "Calls": 1, "Speed": 2, "Errors": 0, "Tools": 0, "People": 0}
    for tab, tables in shown.items():
        assert len(open_page("usage", tab=tab).dataframe) == tables, tab


def test_what_is_clicked_while_a_linked_view_is_being_drawn_counts(
    workspace: ScriptableWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_call(workspace)
    with monkeypatch.context() as interrupted:
        interrupted.setattr(report, "draw_link", lambda view: st.stop())
        app = open_page("usage", purpose="chat")
    app.session_state["usage-tab"] = "Calls"
    app.run()
    assert app.query_params["tab"] == "Calls"
    assert app.query_params["purpose"] == "chat"


def test_calls_lead_to_the_runs_in_which_they_were_made(workspace: ScriptableWorkspace) -> None:
    for model in ("small", "large"):
        record(workspace.ledger, [call(model=model)], owner=OWNER, at=datetime.now(UTC))
    app = open_page("usage", tab="Calls", model="large", agent="Assistant")
    link = next(one for one in app.page_link if one.label == "The runs behind these")
    address = {name: values[0] for name, values in parse_qs(link.proto.query_string).items()}
    assert (address["model"], address["agent"]) == ("large", "Assistant")
    runs = open_page("runs", **address)
    assert any(one.value == "1 run" for one in runs.caption)
    assert any("Only runs with calls of Assistant" in one.value for one in runs.caption)


def test_tools_lookups_compression_and_people_have_their_tabs(
    workspace: ScriptableWorkspace,
) -> None:
    chat = workspace.ledger.create_chat(OWNER, "Tea", "answer", "offline", "Kitchen")
    record(workspace.ledger, DONE, owner=OWNER, chat_id=chat.id, at=datetime.now(UTC))
    for tab, figure, expected in [
        ("Tools", "Failed", "2 · 66.7 %"),
        ("Look-ups", "Found nothing", "1 · 50.0 %"),
        ("Compression", "Tokens saved", "600"),
        ("People", "Asked", "2"),
    ]:
        app = open_page("usage", tab=tab)
        assert metrics(app, -1)[figure] == expected
    assert app.dataframe[0].value.changed.tolist() == [1]
    waited = json.loads(app.dataframe[0].proto.columns)["seconds"]
    assert waited["label"] == "All together (s)"
    assert waited["type_config"]["format"] == "localized", "with separators of thousands"
    narrowed = open_page("usage", tab="Tools", model="small")
    assert "narrow nothing here" in " ".join(one.value for one in narrowed.caption)


def test_many_calls_on_one_day_and_a_single_one_are_drawn(workspace: ScriptableWorkspace) -> None:
    add_call(workspace)
    for tab in ("Overview", "Calls", "Speed", "Errors"):
        assert metrics(open_page("usage", tab=tab, days="Today"))["Calls"] == "1"
    month.fill(workspace.database, 3_000, datetime(2026, 3, 1), texts=False)  # noqa: DTZ001
    workspace.settings = replace(workspace.settings, usage_of_all=True)
    app = open_page("usage", **{"from": "2026-03-01", "to": "2026-03-31"}, by="chat")
    assert len(app.get("vega_lite_chart")) == 2


def test_an_agent_goes_by_a_name_for_people(workspace: ScriptableWorkspace) -> None:
    add_call(workspace, agent="speaker_selection_agent")
    add_call(workspace)
    app = open_page("usage")
    app.selectbox(key="usage-by").set_value("agent").run()
    for name, column in (("Overview", "first"), ("Calls", "agent")):
        open_tab(app, name)
        assert sorted(app.dataframe[0].value[column]) == ["Choice of the speaker", "Writer"]
    narrow = app.multiselect(key="usage-agent")
    assert narrow.options == ["Writer", "Choice of the speaker"]
    narrow.set_value(["speaker_selection_agent"]).run()
    assert metrics(app)["Calls"] == "1"
