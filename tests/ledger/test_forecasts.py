"""What the next answer will probably take: the middle half of earlier ones, of the same team and
model alone, and nothing while there are fewer than five.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit import runs
from agentkit.core import bus
from agentkit.database import Database
from agentkit.events import MessageSent, ModelCalled, ModelReplied, Purpose, Usage
from agentkit.ledger import Ledger
from agentkit.ledger.bill.forecasts import Forecast, find_forecast

OWNER = "local"


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    database = Database(tmp_path / "ledger.duckdb")
    yield Ledger(database)
    database.close()


def answer(
    ledger: Ledger,
    costs: list[float | None],
    *,
    team: str = "answer",
    model: str = "c/m",
    fails: bool = False,
    embeds_for: float | None = None,
) -> None:
    """A run with a call for each of these costs; the n-th has 100 n tokens. `embeds_for` is what
    an embedding of 900 tokens costs.
    """
    chat = ledger.create_chat(OWNER, "Tea", team, model, "Documents")

    def work() -> None:
        run = runs.current()
        assert run is not None
        extra = {"team_id": team}
        asked = f"q-{run.id}"
        bus.emit(MessageSent(asked, None, "user", "team", "user", "Tea?", extra=extra))
        for number, cost in enumerate(costs, start=1):
            _call(f"{run.id}-{number}", 100 * number, cost)
        if embeds_for is not None:
            _call(f"{run.id}-e", 900, embeds_for, "embedding")
        if fails:
            raise ValueError("broken")
        said = MessageSent(
            run.message_id, asked, "A", "user", "assistant", "Hot.", extra={"model": model}
        )
        bus.emit(said)

    run = runs.start(work, kind="chat", title="Tea?", owner=OWNER, chat_id=chat.id, ledger=ledger)
    assert run.wait(60)


def _call(name: str, tokens: int, cost: float | None, purpose: Purpose = "chat") -> None:
    bus.emit(ModelCalled(name, "A", "far.example", "m", purpose, []))
    taken = Usage(input=tokens, output=10)
    bus.emit(
        ModelReplied(name, "A", "far.example", "m", purpose, "ok", "x", taken, 1.0, None, cost, 1)
    )


def test_fewer_than_five_answers_forecast_nothing(ledger: Ledger) -> None:
    for _ in range(4):
        answer(ledger, [0.01])
    assert find_forecast(ledger, OWNER, "answer", "c/m") is None
    answer(ledger, [0.01], fails=True)
    answer(ledger, [0.01], team="group:auto")
    answer(ledger, [0.01], model="c/other")
    assert find_forecast(ledger, OWNER, "answer", "c/m") is None


def test_the_middle_half_of_the_answers_of_a_team_and_model(ledger: Ledger) -> None:
    for calls in range(1, 6):
        answer(ledger, [0.01] * calls)
    answer(ledger, [9.0] * 9, team="group:auto")
    found = find_forecast(ledger, OWNER, "answer", "c/m")
    assert found is not None
    assert (found.runs, found.calls, found.request) == (5, (2, 4), (200, 400))
    assert found.cost == pytest.approx((0.02, 0.04))
    assert Forecast.from_json(found.to_json()) == found


def test_what_a_call_for_something_else_costs_counts_and_the_call_does_not(ledger: Ledger) -> None:
    for _ in range(5):
        answer(ledger, [0.01], embeds_for=0.005)
    found = find_forecast(ledger, OWNER, "answer", "c/m")
    assert found is not None
    assert (found.calls, found.request) == ((1, 1), (100, 100))
    assert found.cost == pytest.approx((0.015, 0.015))


def test_a_price_that_is_unknown_is_not_made_up(ledger: Ledger) -> None:
    for cost in (0.01, 0.01, 0.01, 0.01, None):
        answer(ledger, [cost])
    found = find_forecast(ledger, OWNER, "answer", "c/m")
    assert found is not None
    assert found.cost is None


@given(st.recursive(st.none() | st.text() | st.integers(), lambda x: st.lists(x), max_leaves=4))
def test_what_is_no_forecast_is_none(stored: Any) -> None:
    assert Forecast.from_json(stored) is None
    odd = {"runs": 5, "calls": stored, "request": [1, 2], "cost": None}
    made = Forecast.from_json(odd)
    assert made is None or isinstance(made, Forecast)
