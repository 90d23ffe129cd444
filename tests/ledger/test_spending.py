"""Running sums: they are what the database says, whatever is stored meanwhile and by whom."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkit.errors import StoreError
from agentkit.events import CallStatus, ModelReplied, Purpose, Recorded, Usage
from agentkit.ledger import Ledger
from agentkit.ledger.spending import Spending, SpentCall, Wanted, Window
from agentkit.messages import new_id
from tests.ledger.conftest import NOON, OWNER, call, record

NOW = NOON.replace(tzinfo=None)
EVERYTHING = Window()


def spent(dollars: float | None = 1.0, tokens: int = 10, at: datetime = NOW) -> SpentCall:
    return SpentCall(new_id(), OWNER, "", "", at, tokens, dollars)


def test_what_is_stored_is_counted_once_whenever_it_is_first_asked_for(ledger: Ledger) -> None:
    record(ledger, [call(Usage(input=10, output=5), cost=0.5)])
    assert ledger.spending.measure(EVERYTHING).tokens == 15
    run = record(ledger, [call(Usage(input=1), cost=0.25), call(Usage(input=7))])
    found = ledger.spending.measure(EVERYTHING)
    assert (found.tokens, found.dollars, found.unpriced) == (23, 0.75, 1)
    assert ledger.spending.measure(Window(run_id=run)).tokens == 8
    assert ledger.spending.measure(Window("somebody else")).tokens == 0
    ledger.keep_call(OWNER, Recorded(1, NOON.timestamp(), call(Usage(input=2), cost=1.0)))
    assert ledger.spending.measure(Window(OWNER)).dollars == 1.75


def test_a_local_call_of_an_older_version_has_a_known_price(ledger: Ledger) -> None:
    old = ModelReplied(new_id(), "A", "localhost:11434", "llama", usage=Usage(input=5), cost=None)
    record(ledger, [old])
    assert ledger.spending.measure(EVERYTHING).unpriced == 0


def test_a_call_under_way_is_kept_free_until_it_is_stored_or_released(ledger: Ledger) -> None:
    spending = ledger.spending
    first, second = spent(), spent()
    most = [Wanted(EVERYTHING, "dollars", 1.5)]
    assert spending.reserve(first, most) == [1.0]
    assert spending.reserve(second, most) == [2.0]
    assert spending.measure(EVERYTHING).dollars == 1.0, "the second one was refused"
    spending.release(first.id)
    assert spending.reserve(second, most) == [1.0]
    with spending.storing([SpentCall(second.id, OWNER, "", "", NOW, 30, 1.25)]):
        assert spending.measure(EVERYTHING).dollars == 1.0
    assert spending.measure(EVERYTHING).dollars == 1.25


def test_what_could_not_be_stored_is_not_counted(ledger: Ledger) -> None:
    assert ledger.spending.measure(EVERYTHING).dollars == 0
    with pytest.raises(StoreError), ledger.spending.storing([spent()]):
        raise StoreError("the disk is full")
    assert ledger.spending.measure(EVERYTHING).dollars == 0


def test_many_sums_are_asked_for_anew_and_stay_right(ledger: Ledger) -> None:
    record(ledger, [call(Usage(input=10), cost=0.5)])
    for number in range(300):
        assert ledger.spending.measure(Window(chat_id=f"chat {number}")).tokens == 0
    assert ledger.spending.measure(EVERYTHING).tokens == 10


def test_side_by_side_nothing_is_lost_and_nothing_counted_twice(ledger: Ledger) -> None:
    windows = [Window(OWNER, until=NOW + timedelta(hours=one)) for one in range(1, 9)]

    def store() -> None:
        for _ in range(10):
            record(ledger, [call(Usage(input=3), cost=0.5)])

    def look() -> None:
        for window in windows:
            ledger.spending.measure(window)

    threads = [threading.Thread(target=work) for work in (store, store, look, store)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for window in windows:
        found = ledger.spending.measure(window)
        assert (found.tokens, found.dollars) == (90, 15.0)


sizes = st.integers(0, 1000)
made = st.tuples(
    st.builds(Usage, sizes, sizes, sizes, sizes, sizes),
    st.none() | st.integers(0, 64).map(lambda cents: cents / 64),
    st.sampled_from(["chat", "embedding", "rerank"]),
    st.sampled_from(["ok", "failed", "stopped"]),
    st.integers(0, 3),
    st.booleans(),
)


@settings(max_examples=15)
@given(calls=st.lists(made, max_size=12))
def test_the_running_sums_equal_the_sums_of_the_calls(
    open_ledger: Callable[[], Ledger],
    calls: list[tuple[Usage, float | None, Purpose, CallStatus, int, bool]],
) -> None:
    ledger = open_ledger()
    days = [Window(since=NOW + timedelta(n), until=NOW + timedelta(n + 1)) for n in range(4)]
    for usage, cost, purpose, status, day, asks in calls:
        if asks:  # some sums are begun before a call, others after it
            ledger.spending.measure(days[day])
        one = ModelReplied(new_id(), "", "server", "m", purpose, status, usage=usage, cost=cost)
        record(ledger, [one], at=NOON + timedelta(day))
    for window in days:
        assert ledger.spending.measure(window) == Spending(ledger.database).measure(window)
    whole = ledger.spending.measure(EVERYTHING)
    assert whole.tokens == sum(one[0].total for one in calls)
    assert whole.dollars == sum(one[1] or 0 for one in calls)
    ledger.database.close()
