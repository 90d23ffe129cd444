"""The charts of chunk sizes: every chunk is counted, and one alone is told in words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from agentkit.ui.shared import charts


@given(st.lists(st.integers(1, 600), min_size=1), st.lists(st.integers(1, 600)))
def test_every_chunk_is_in_a_bin(now: list[int], then: list[int]) -> None:
    rows = charts.bins({"Now": now, "As chosen": then}, 16)
    assert sum(int(row["chunks"]) for row in rows if row["cut"] == "Now") == len(now)
    assert sum(int(row["chunks"]) for row in rows if row["cut"] == "As chosen") == len(then)


def test_the_largest_is_counted_when_it_is_a_multiple_of_the_bin() -> None:
    assert charts.bins({"Now": [16, 192, 192]}, 16)[-1] == {
        "cut": "Now",
        "from": 192,
        "to": 207,
        "chunks": 2,
    }


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ([192], "1 chunk of 192 tokens."),
        ([10, 10], "2 chunks of 10 tokens each."),
        ([3, 100, 192], "3 chunks of 3 to 192 tokens, half of them up to 100."),
    ],
)
def test_sizes_are_told_plainly(sizes: list[int], said: str) -> None:
    def page(sizes: list[int]) -> None:
        from agentkit.ui.shared import charts

        charts.draw_chunk_sizes(sizes, 256)
        charts.draw_cuts(sizes, sizes, 256)

    app = AppTest.from_function(page, args=(sizes,), default_timeout=30).run()
    assert not app.exception
    assert app.caption[0].value.startswith(said)
    assert app.caption[1].value == f"As now {said}"
    assert len(app.get("vega_lite_chart")) == (0 if len(sizes) == 1 else 2)
