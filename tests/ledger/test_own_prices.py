"""Prices that people entered, where the database is gone."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from agentkit.core.rates import Rates
from agentkit.ledger import Ledger
from agentkit.ledger.bill.bill import Bill
from agentkit.ledger.bill.own_prices import OwnPrice

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
RATES = Rates(1.0, 2.0, 0.5, 1.5)


@pytest.mark.parametrize("is_known", [True, False])
def test_a_closed_database_costs_nobody_an_answer(ledger: Ledger, is_known: bool) -> None:
    book = Bill(ledger).prices
    book.enter(OwnPrice("gateway", "small", RATES))
    if is_known:
        assert book.find("small", "gateway", NOON) == RATES
    ledger.database.close()
    assert book.find("small", "gateway", NOON) == (RATES if is_known else None)
