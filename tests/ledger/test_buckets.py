"""The bill: each token is in one bucket, all of them are there; what does not add up is found."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, replace
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkit.core.rates import Rates
from agentkit.events import DocumentDone, Event, MessageSent, ModelReplied, Purpose, Usage
from agentkit.ledger import Chat, Ledger, queries
from agentkit.ledger.bill import buckets
from agentkit.ledger.bill.buckets import Buckets
from agentkit.ledger.queries import CallFilter
from agentkit.llm.calls.usage import check_usage, to_usage
from agentkit.messages import new_id
from tests.ledger.conftest import NOON, OWNER, call, record

ALL = CallFilter(OWNER)
DEAR = Rates(input=10.0, output=40.0, cache_read=1.0, cache_write=12.0)
MILLION = 1_000_000
MODELS = ["small", "unknown"]


def rates(model: str, provider: str, at: datetime) -> Rates | None:
    return DEAR if model == "small" else None


def price(model: str, provider: str, usage: Usage, at: datetime) -> float | None:
    found = rates(model, provider, at)
    return found.cost(usage) if found else None


sizes = st.integers(0, 10**6)
usages = st.builds(Usage, sizes, sizes, sizes, sizes, sizes)
kinds = st.sampled_from(["chat", "embedding", "rerank", "test", "follow-up"])
states = st.sampled_from(["ok", "failed", "stopped"])
models = st.sampled_from(MODELS)
made = st.tuples(usages, kinds, states, models)


@settings(max_examples=15)
@given(calls=st.lists(made, max_size=10))
def test_buckets_add_up_to_all_tokens_and_their_prices_to_the_cost(
    open_ledger: Callable[[], Ledger], calls: list[tuple[Usage, Purpose, Any, str]]
) -> None:
    ledger = open_ledger()
    for usage, purpose, status, model in calls:
        apart = purpose in ("embedding", "rerank")
        took = Usage(input=usage.input) if apart else usage
        cost = price(model, "server", took, NOON)
        event = replace(call(took, model=model, cost=cost), purpose=purpose, status=status)
        record(ledger, [event])
    tokens = buckets.sum_buckets(ledger, ALL)
    sums = queries.totals(ledger, ALL)
    assert tokens.total == sums.prompt_tokens + sums.completion_tokens
    parts = [buckets.sum_buckets(ledger, replace(ALL, models=[name])) for name in MODELS]
    assert sum(part.total for part in parts) == tokens.total
    paid = buckets.price_buckets(ledger, ALL, rates)
    assert paid.total == pytest.approx(sums.cost or 0.0)
    ledger.database.close()


def test_each_bucket_is_exclusive(ledger: Ledger) -> None:
    whole = Usage(input=1, cache_read=2, cache_write=4, output=8, reasoning=16)
    others = [
        replace(call(Usage(input=32)), purpose="embedding"),
        replace(call(Usage(input=64)), purpose="rerank"),
    ]
    record(ledger, [call(whole), *others])
    found = buckets.sum_buckets(ledger, ALL)
    assert [getattr(found, one.name) for one in fields(Buckets)] == [1, 2, 4, 8, 16, 32, 64]
    assert found.total == 127


def test_caches_save_what_the_tokens_would_have_cost(ledger: Ledger) -> None:
    read = call(Usage(input=5, cache_read=MILLION))
    written = call(Usage(cache_write=MILLION))
    unknown = call(Usage(cache_read=MILLION), model="unknown")
    kept = {"prompt_tokens": MILLION, "completion_tokens": MILLION}
    cached = replace(call(cost=0.0), status="cached", raw_usage=kept)
    record(ledger, [read, written, unknown, cached, replace(cached, call_id=new_id())])
    saved = buckets.find_saved(ledger, ALL, rates, price, to_usage)
    assert saved.by_providers == pytest.approx(9.0 - 2.0)
    assert (saved.by_replies, saved.replies, saved.unknown) == (100.0, 2, 1)


def test_a_reply_out_of_a_cache_without_usage_is_unknown_and_counted(ledger: Ledger) -> None:
    record(ledger, [replace(call(cost=0.0), status="cached")])
    saved = buckets.find_saved(ledger, ALL, rates, price, to_usage)
    assert (saved.by_replies, saved.replies, saved.unknown) == (0.0, 1, 1)


def test_questions_answers_with_evidence_and_documents_have_their_costs(
    ledger: Ledger, chat: Chat
) -> None:
    def answer(cost: float | None, citations: list[dict[str, Any]]) -> None:
        said = MessageSent(
            new_id(), None, "A", "user", "assistant", "x", extra={"citations": citations}
        )
        one, other = call(Usage(input=5), cost=cost), call(Usage(input=5), cost=cost)
        events: list[Event] = [one, other, said]
        record(ledger, events, chat_id=chat.id)

    answer(1.0, [{"marker": 1}])
    answer(2.0, [])
    asked = buckets.cost_questions(ledger, ALL)
    assert (asked.number, asked.known, asked.each, asked.unpriced) == (2, 6.0, 3.0, 0)
    assert buckets.cost_evidence(ledger, ALL).each == 2.0
    answer(None, [{"marker": 1}])
    cited = buckets.cost_evidence(ledger, ALL)
    assert (cited.number, cited.known, cited.unpriced) == (2, 2.0, 2)
    none = buckets.cost_documents(ledger, ALL)
    assert (none.number, none.each) == (0, None)


def test_a_document_costs_what_taking_it_in_took(ledger: Ledger) -> None:
    embedding = replace(call(Usage(input=9), cost=3.0), purpose="embedding")
    done = [DocumentDone(new_id(), name, status) for name, status in _DOCUMENTS]
    run = record(ledger, [embedding, *done])
    ledger.database.execute("update runs set kind = 'ingest' where id = ?", [run])
    assert buckets.cost_documents(ledger, ALL).each == 1.5
    assert buckets.cost_questions(ledger, ALL).number == 0


_DOCUMENTS: list[tuple[str, Any]] = [("a", "indexed"), ("b", "indexed"), ("c", "failed")]


def server_said(said: dict[str, Any], usage: Usage | None = None) -> ModelReplied:
    raw = check_usage(said)
    return replace(call(usage or to_usage(raw)), raw_usage=raw)


@pytest.mark.parametrize(
    "said",
    [
        {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        {"prompt_tokens": 10, "completion_tokens": 5},
        {
            "prompt_tokens": 10,
            "completion_tokens": 5,
            "total_tokens": 15,
            "prompt_tokens_details": {"cached_tokens": 8},
            "completion_tokens_details": {"reasoning_tokens": 4},
        },
        # Beside the completion, as some servers count it.
        {
            "prompt_tokens": 10,
            "completion_tokens": 5,
            "total_tokens": 22,
            "completion_tokens_details": {"reasoning_tokens": 7},
        },
        {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 5},
        {},
        {"prompt_tokens": -3, "completion_tokens": 5},
        {"prompt_tokens": float("nan"), "completion_tokens": 5},
        {"prompt_tokens": None, "completion_tokens": None},
    ],
)
def test_what_servers_say_adds_up_or_is_not_taken(ledger: Ledger, said: dict[str, Any]) -> None:
    record(ledger, [server_said(said)])
    assert buckets.find_mismatches(ledger, ALL) == []
    stored = ledger.database.value("select raw_usage from llm_calls")
    assert "NaN" not in json.dumps(stored)


def test_calls_that_do_not_add_up_are_found_with_their_run(ledger: Ledger) -> None:
    right = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    less = server_said(right | {"total_tokens": 14})
    changed = server_said(right, Usage(input=5, output=10))
    run = record(ledger, [server_said(right), less, changed])
    found = {one.call_id: one for one in buckets.find_mismatches(ledger, ALL)}
    assert found.keys() == {less.call_id, changed.call_id}
    assert (found[less.call_id].said, found[less.call_id].counted) == (14, 15)
    assert found[less.call_id].run_id == run
    assert buckets.count_checked(ledger, ALL) == 3
