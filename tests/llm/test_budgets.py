"""Budgets at the calls: what is told, what is refused, and that runs side by side cannot pass them
together.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from agentkit import runs
from agentkit.core import bus
from agentkit.errors import LimitReached
from agentkit.events import Event, LimitTold, ModelReplied
from agentkit.ledger import CallWriter, Ledger
from agentkit.ledger.bill.bill import Bill, Purse
from agentkit.ledger.bill.budgets import Budget
from agentkit.ledger.spending import Window
from agentkit.llm.calls.budgets import budgeted
from agentkit.llm.calls.client import call
from agentkit.llm.calls.limits import in_words
from agentkit.llm.calls.scripted import ScriptedClient, scripted_model
from agentkit.llm.model import Model
from agentkit.llm.tokens.counting import count_messages, count_text
from agentkit.messages import message
from agentkit.reasons import EndReason
from agentkit.runs import Run

OWNER = "me"
ASK = [message("user", "How long is the Danube, from the source to the sea?")]
ANSWER = "It is 2,850 kilometres long."
PROMPT = count_messages(ASK, "scripted")[0]
EACH = PROMPT + count_text(ANSWER, "scripted")[0]


@pytest.fixture
def purse(bill: Bill) -> Purse:
    return bill.purse(OWNER)


@pytest.fixture
def asking(ledger: Ledger, purse: Purse) -> Iterator[list[LimitTold]]:
    """Calls are stored, and held to the budgets; gives what is told of those."""
    told: list[LimitTold] = []

    def hear(event: Event) -> None:
        if isinstance(event, LimitTold):
            told.append(event)

    with budgeted(purse), bus.listening(CallWriter(ledger, OWNER, "").write, hear):
        yield told


def always(**settings: object) -> Model:
    return replace(scripted_model(lambda _: ANSWER), **settings)  # type: ignore[arg-type]  # of Model


def calls_until_refused(model: Model) -> tuple[int, LimitReached]:
    for made in range(100):
        try:
            call(model, ASK, agent="Ann")
        except LimitReached as error:
            return made, error
    raise AssertionError("100 calls were within the budget")


def test_the_call_beyond_is_not_made_and_says_why(bill: Bill, asking: list[LimitTold]) -> None:
    limit = 3 * EACH + PROMPT - 1
    budget = bill.budgets.enter(Budget("day", "tokens", limit))
    model = always()
    made, error = calls_until_refused(model)
    assert made == 3
    assert isinstance(model.client, ScriptedClient)
    assert len(model.client.requests) == 3
    assert error.end == EndReason("budget", "Ann", limit, "tokens", 3 * EACH + PROMPT, scope="day")
    assert asking[-1] == LimitTold(
        "Ann", "day", "tokens", 3 * EACH + PROMPT, limit, True, budget.id
    )
    assert str(error) == (
        f"The budget of {limit:,} tokens a day is used up: with the next call of Ann, it would be"
        f" at least {3 * EACH + PROMPT:,} tokens."
    )


def test_a_warning_is_told_once_a_run(bill: Bill, asking: list[LimitTold]) -> None:
    bill.budgets.enter(Budget("month", "tokens", 10 * EACH, warn_at=0.5))
    for _ in range(9):
        call(always(), ASK, agent="Ann")
    assert [one.reached for one in asking] == [False]
    assert asking[0].used == 5 * EACH + PROMPT
    assert "nearly used up" in in_words(asking[0])


def test_money_says_once_that_it_cannot_count_an_unknown_price(
    bill: Bill, asking: list[LimitTold]
) -> None:
    bill.budgets.enter(Budget("month", "dollars", 1.0))
    unknown = always(name="mystery", provider="gateway.example:8000")
    for _ in range(3):
        call(unknown, ASK, agent="Ann")
    assert [one.unpriced for one in asking] == ["mystery"]
    assert in_words(asking[0]) == (
        "The price of the model mystery is unknown: the budget of $1.00 a month cannot count its"
        " calls."
    )
    assert bill.purse(OWNER).standings()[0].unpriced == 0, "as the scripted client says its cost"


def test_a_raise_counts_at_once(bill: Bill, asking: list[LimitTold]) -> None:
    budget = bill.budgets.enter(Budget("day", "tokens", EACH))
    assert calls_until_refused(always())[0] == 1
    bill.budgets.raise_for_all(budget.id, 3 * EACH, OWNER)
    assert calls_until_refused(always())[0] == 2


def test_a_failed_call_gives_back_what_it_had_reserved(bill: Bill, asking: list[LimitTold]) -> None:
    bill.budgets.enter(Budget("day", "tokens", 2 * PROMPT))
    breaking = scripted_model([ValueError("it broke")])
    with pytest.raises(ValueError, match="it broke"):
        call(breaking, ASK)
    assert call(always(), ASK).text == ANSWER


def test_runs_side_by_side_pass_a_budget_by_no_more_than_a_call_each(
    ledger: Ledger, bill: Bill
) -> None:
    people = 6
    bill.budgets.enter(Budget("day", "tokens", 10 * EACH, owner=OWNER))
    begin = threading.Barrier(people)
    made: list[int] = []

    def work() -> None:
        run = runs.current()
        assert run is not None
        with budgeted(bill.purse(OWNER, run_id=run.id)):
            begin.wait(60)
            made.append(calls_until_refused(always())[0])

    at_work: list[Run[None]] = [
        runs.start(work, kind="chat", owner=OWNER, ledger=ledger) for _ in range(people)
    ]
    for run in at_work:
        run.result()
    taken = ledger.spending.measure(Window(OWNER)).tokens
    assert taken == sum(made) * EACH
    assert 10 * EACH - PROMPT < taken <= 10 * EACH + people * (EACH - PROMPT)
    replied = [
        one for run in at_work for one in run.events() if isinstance(one.event, ModelReplied)
    ]
    assert len(replied) == sum(made)
