"""Prices that people entered, where the database is gone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from agentkit.core.rates import Rates
from agentkit.ledger import Ledger
from agentkit.ledger.bill.bill import Bill
from agentkit.ledger.bill.own_prices import OwnPrice, PriceBook
from agentkit.llm import prices
from agentkit.llm.calls.client import call
from agentkit.llm.calls.openai_client import OpenAIClient
from agentkit.llm.model import Model
from agentkit.messages import message
from tests.servers.openai_server import Answer, OpenAIServer

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


def test_a_price_counts_for_the_name_that_is_asked(ledger: Ledger) -> None:
    book = Bill(ledger).prices
    usage = {"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500}
    said = {"index": 0, "message": {"role": "assistant", "content": "Well."}}
    reply = json.dumps({"model": "llama", "choices": [said], "usage": usage})
    with OpenAIServer(lambda body: Answer(body=reply)) as server:
        client = OpenAIClient(server.base_url)
        model = Model("m", "M", client, "fast", client.provider)
        book.enter(OwnPrice(client.provider, "fast", Rates(1000.0, 2000.0, 1000.0, 1000.0)))
        with _used(book):
            assert call(model, [message("user", "Well?")], stream=False).cost == 2.0
            book.enter(OwnPrice(client.provider, "llama", Rates(1.0, 2.0, 1.0, 1.0)))
            assert call(model, [message("user", "Well?")], stream=False).cost == 0.002


@contextmanager
def _used(book: PriceBook) -> Iterator[None]:
    prices.use_book(book)
    try:
        yield
    finally:
        prices.put_away(book)
