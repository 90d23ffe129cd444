"""Prices and budgets in the app: entered, seen where they count, and a question that a budget stops
and a click lets go on.
"""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from streamlit.testing.v1 import AppTest

from agentkit import cli
from agentkit.core.rates import Rates
from agentkit.errors import LimitReached
from agentkit.events import Usage
from agentkit.ledger.bill.budgets import Budget
from agentkit.ledger.bill.own_prices import OwnPrice
from agentkit.llm import Connection, save_connection
from agentkit.llm.calls.scripted import scripted_model
from agentkit.llm.prices import find_listed, find_rates, price
from agentkit.reasons import end_from_json
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, settle, texts
from tests.app.test_usage import add_call
from tests.teams.stage import call

QUESTION = "How hot for green tea?"
ANSWER = "Green tea takes 80 degrees [1]."
GATEWAY = "gateway.example:8000"


def ask_in_app() -> AppTest:
    app = open_page("chat")
    app.selectbox(key="collection-new").set_value("Kitchen")
    app.chat_input[0].set_value(QUESTION).run()
    return settle(app)


def newest_chat(workspace: ScriptableWorkspace) -> str:
    return workspace.ledger.chats(OWNER)[0].id


def errors(app: AppTest) -> str:
    return " ".join(one.value for one in app.error).replace("\\", "")


def test_an_own_price_is_entered_seen_and_removed(workspace: ScriptableWorkspace) -> None:
    connection = Connection("Ours", "https://gateway.example:8000/v1", models=("big", "small"))
    save_connection(workspace.settings, connection)
    app = open_page("settings")
    shown = app.dataframe[0].value
    assert shown["From"].tolist() == ["unknown", "unknown"]
    app.button(key="enter-price").click().run()
    app.selectbox(key="price-model").set_value("big")
    app.number_input(key="price-input").set_value(1.5)
    app.button(key="save-price").click().run()
    assert "Enter what input and output cost" in errors(app)
    app.number_input(key="price-output").set_value(6.0)
    app.number_input(key="price-read").set_value(0.15)
    app.date_input(key="price-from").set_value(date(2026, 1, 1))
    app.button(key="save-price").click().run()
    assert not app.exception
    row = app.dataframe[0].value.iloc[0]
    assert row[["Model", "input", "output", "cache_read", "cache_write"]].tolist() == [
        "big",
        1.5,
        6,
        0.15,
        1.5,
    ]
    assert price("big", GATEWAY, Usage(input=1_000_000)) == 1.5
    assert price("big", GATEWAY, Usage(input=9), datetime(2025, 12, 31, tzinfo=UTC)) is None
    (entry,) = workspace.bill.prices.entries()
    app.button(key=f"remove-price-{entry.id}").click().run()
    assert workspace.bill.prices.entries() == []
    assert "Prices that were removed (1)" in [one.label for one in app.expander]
    assert price("big", GATEWAY, Usage(input=9)) is None


def test_an_own_price_goes_before_the_list_and_may_make_local_servers_cost(
    workspace: ScriptableWorkspace,
) -> None:
    now = datetime.now(UTC)
    for provider, model in (("openai", "gpt-5-mini"), ("localhost:11434", "llama")):
        before = find_rates(model, provider, now)
        workspace.bill.prices.enter(OwnPrice(provider, model, Rates(7.0, 7.0, 7.0, 7.0)))
        assert price(model, provider, Usage(input=1_000_000)) == 7.0
        assert before is not None
        assert before.input < 7.0


def test_the_list_says_from_when_a_price_counts() -> None:
    listed = find_listed("claude-sonnet-4-6", "api.anthropic.com")
    assert listed[0].since == date.min
    assert listed[-1].since > date.min
    assert find_listed("no-such-model", "openai") == []


def test_old_calls_are_priced_anew_and_back(workspace: ScriptableWorkspace) -> None:
    for _ in range(3):
        add_call(workspace, provider=GATEWAY, model="big", cost=None)
    workspace.bill.prices.enter(OwnPrice(GATEWAY, "", Rates(1_000.0, 1_000.0, 1_000.0, 1_000.0)))
    app = open_page("settings")
    app.button(key="price-anew").click().run()
    told = texts(app).replace("\\", "")
    assert "**3 calls**, 3 of them of unknown price: $0.00 would become **$0.4650**." in told
    app.button(key="apply-prices").click().run()
    costs = "select distinct cost from llm_calls"
    assert workspace.database.value(costs) == pytest.approx(0.155)
    (undo,) = [one for one in app.button if str(one.key).startswith("undo-prices-")]
    undo.click().run()
    assert workspace.database.value(costs) is None
    app.button(key="price-anew").click().run()
    app.button(key="apply-prices-not").click().run()
    assert workspace.database.value(costs) is None


def test_a_budget_is_set_and_removed_on_the_settings_page(workspace: ScriptableWorkspace) -> None:
    add_call(workspace, cost=86.0)
    app = open_page("settings")
    app.button(key="set-budget").click().run()
    app.button(key="save-budget").click().run()
    assert "Enter an amount above 0." in errors(app)
    app.number_input(key="budget-amount").set_value(120.0)
    app.button(key="save-budget").click().run()
    assert not app.exception
    (budget,) = workspace.bill.budgets.entries()
    assert (budget.scope, budget.amount, budget.owner, budget.unit, budget.warn_at) == (
        "month",
        120.0,
        OWNER,
        "dollars",
        0.8,
    )
    assert any("$86.00 of $120.00" in one.value.replace("\\", "") for one in app.caption)
    for answer, left in (("remove-budget-not", [budget]), ("remove-budget", [])):
        app.button(key=f"remove-budget-{budget.id}").click().run()
        assert workspace.bill.budgets.entries() == [budget]
        app.button(key=answer).click().run()
        assert not app.exception
        assert workspace.bill.budgets.entries() == left
    assert "No budget is set" in texts(app)


def test_a_question_that_a_budget_stops_goes_on_by_a_click(kitchen: ScriptableWorkspace) -> None:
    kitchen.script(ANSWER, ANSWER)
    kitchen.bill.budgets.enter(Budget("day", "tokens", 10.0, OWNER))
    app = ask_in_app()
    assert "No answer. The budget of 10 tokens a day is used up" in errors(app)
    chat_id = newest_chat(kitchen)
    stopped = kitchen.ledger.thread(OWNER, chat_id)[-1]
    end = end_from_json(stopped.extra["end"])
    assert end is not None
    assert (end.kind, end.scope, end.limit) == ("budget", "day", 10.0)
    (raising,) = [one for one in app.button if str(one.key).startswith("raise-chat-")]
    assert raising.label.startswith("Raise to ")
    raising.click().run()
    settle(app)
    assert kitchen.ledger.thread(OWNER, chat_id)[-1].content == ANSWER
    assert not [one for one in app.button if str(one.key).startswith("raise-")]
    with pytest.raises(LimitReached):
        kitchen.ask(OWNER, QUESTION, collection="Kitchen").result()


def test_what_agents_wrote_stays_when_a_budget_ends_their_chat(
    kitchen: ScriptableWorkspace,
) -> None:
    noted = {
        **call("search_documents", query="tea"),
        "content": "Tea was made in many ways by many people over the years. " * 40,
    }
    kitchen.added.insert(0, scripted_model([noted, ANSWER, ANSWER, ANSWER]))
    kitchen.bill.budgets.enter(Budget("question", "tokens", 1_300.0))
    app = open_page("chat")
    app.selectbox(key="team-new").set_value("assistant")
    app.selectbox(key="collection-new").set_value("Kitchen")
    app.chat_input[0].set_value(QUESTION).run()
    settle(app)
    captions = [one.value.replace("\\", "") for one in app.caption]
    assert ":material/flag: Ended: the budget of 1,300 tokens a question is used up." in captions
    (raising,) = [one for one in app.button if str(one.key).startswith("raise-chat-")]
    raising.click().run()
    settle(app)
    thread = kitchen.ledger.thread(OWNER, newest_chat(kitchen))
    assert thread[-1].content == ANSWER
    assert "end" not in thread[-1].extra


def test_a_budget_is_raised_for_all_chats_where_that_is_allowed(
    kitchen: ScriptableWorkspace,
) -> None:
    kitchen.script(ANSWER, ANSWER)
    kitchen.bill.budgets.enter(Budget("chat", "tokens", 10.0, may_raise=False))
    app = ask_in_app()
    assert not [one for one in app.button if str(one.key).startswith("raise-all-")]
    kitchen.bill.budgets.enter(Budget("chat", "tokens", 10.0))
    app = ask_in_app()
    (raising,) = [one for one in app.button if str(one.key).startswith("raise-all-")]
    raising.click().run()
    settle(app)
    (budget,) = kitchen.bill.budgets.entries()
    assert budget.amount > 10
    assert kitchen.ledger.thread(OWNER, newest_chat(kitchen))[-1].content == ANSWER


def test_a_budget_that_is_nearly_used_up_is_told_below_the_answer(
    kitchen: ScriptableWorkspace,
) -> None:
    kitchen.script(ANSWER)
    kitchen.bill.budgets.enter(Budget("chat", "tokens", 1_000_000.0, warn_at=0.0001))
    app = ask_in_app()
    assert any("Budget of a chat: " in one.value for one in app.caption)


def test_the_usage_page_tells_where_a_budget_goes_and_has_the_bill(
    workspace: ScriptableWorkspace,
) -> None:
    raw = '{"prompt_tokens": 120, "completion_tokens": 35, "total_tokens": 200}'
    add_call(workspace, cost=86.0, raw_usage=raw)
    add_call(workspace, cost=None, model="mystery", provider=GATEWAY)
    workspace.bill.budgets.enter(Budget("month", "dollars", 120.0))
    app = open_page("usage")
    (bar,) = app.get("progress")
    told = bar.proto.text.replace("\\", "")
    assert "**A month**, all together: $86.00 of $120.00" in told
    assert "1 call of unknown price not counted" in told
    assert "Per question" not in [one.label for one in app.metric], "nothing is summed up so far"
    app.session_state["usage-tab"] = "Bill"  # what a click on it does
    app.run()
    assert not app.exception
    shown = {one.label: one.value for one in app.metric}
    assert shown["Per question"] == "none yet"
    assert shown["Cache hit rate"] == "16.7%"
    table = next(one.value for one in app.dataframe if "Tokens of" in one.value.columns)
    assert any("The calls are booked at" in one.value for one in app.caption)
    assert table.Tokens.tolist() == [200, 40, 0, 60, 10, 0, 0, 310]
    labels = [one.label for one in app.expander]
    assert "1 call whose buckets do not add up" in labels


def test_the_command_line_is_held_to_budgets(
    kitchen: ScriptableWorkspace, capsys: pytest.CaptureFixture[str]
) -> None:
    kitchen.script(ANSWER)
    kitchen.bill.budgets.enter(Budget("question", "tokens", 10.0))
    code = cli.main(["ask", QUESTION, "--collection", "Kitchen"], lambda settings: kitchen)
    assert code != 0
    assert "The budget of 10 tokens a question is used up" in capsys.readouterr().err
