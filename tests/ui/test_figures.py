"""Numbers as people read them."""

from __future__ import annotations

import pytest

from agentkit.ledger.queries import Totals
from agentkit.ui.text import figures


@pytest.mark.parametrize(
    ("totals", "shown"),
    [
        (Totals(calls=1, cost=0.0, answered=1), "free, on this machine"),
        (Totals(calls=1, cost=0.0, answered=1, elsewhere=1), "free of charge"),
        (Totals(calls=2, cost=0.0, cached=1), "cached, nothing to pay"),
        (Totals(calls=2, cost=0.0, failed=1), "failed, nothing to pay"),
        (Totals(calls=2, cost=0.0, failed=1, answered=1), "free, on this machine"),
        (Totals(calls=2, cost=0.0, failed=1, cached=1), "cached, nothing to pay"),
        (Totals(calls=1, cost=None, failed=1), "failed, nothing to pay"),
        (Totals(calls=2, cost=0.0, unpriced=1), "price unknown"),
        (Totals(calls=1, cost=None, unpriced=1), "price unknown"),
        (Totals(calls=2, cost=0.0123, unpriced=1), "$0.0123 and 1 call of unknown price"),
        (Totals(calls=1, cost=0.00404), "$0.004"),
        (Totals(calls=1, cost=0.00004), "$0.00004"),
        (Totals(calls=1, cost=0.000000042), "$0.000000042"),
        (Totals(calls=1, cost=1e-12), "under $0.000000001"),
        (Totals(calls=1, cost=1234.5), "$1,234.50"),
    ],
)
def test_an_unknown_price_is_never_shown_as_nothing(totals: Totals, shown: str) -> None:
    assert figures.cost(totals) == shown


def test_what_an_answer_took_is_told_in_short_and_whole() -> None:
    tokens = {"prompt_tokens": 1203, "completion_tokens": 45}
    totals = Totals(
        calls=1, **tokens, estimated=True, cost=0.5, seconds=75, first_token_p50_s=0.123
    )
    assert figures.took(totals, "A model") == [
        "A model",
        "about 1,203 tokens in, 45 out",
        "$0.5000",
        "1 min 15 s",
        "first word after 0.12 s",
    ]
    assert figures.briefly(totals, "A model") == "A model · 1 min 15 s · $0.5000"
    assert figures.briefly(Totals(calls=1, seconds=2, unpriced=1), "") == "2.0 s"


@pytest.mark.parametrize(
    ("number", "shown"), [(0, "0 chunks"), (1, "1 chunk"), (12345, "12,345 chunks")]
)
def test_things_are_counted_in_their_plural(number: int, shown: str) -> None:
    assert figures.count(number, "chunk") == shown
