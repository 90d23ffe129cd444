"""The charts: with titles, units and a text for those who do not see them; the theme gives colours
for light and dark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import ceil, log2
from statistics import median
from typing import TYPE_CHECKING, Any

import streamlit as st

from agentkit.ui.text import figures

if TYPE_CHECKING:
    import altair

HEIGHT = 300
_BIN = 16
_LEAST_BIN, _BARS = (
    8,
    16,
)  # tokens, and how many bars of a kind a histogram that compares has at most


def draw_chunk_sizes(sizes: Sequence[int], most: int) -> None:
    """A histogram of tokens by chunk; `most` is what the embedder reads at most.

    Fewer than two chunks are told in words alone: one bar says nothing.
    """
    text = _spread(sizes)
    if len(sizes) > 1:
        import altair as alt

        encoded = [alt.X("from:O", title="Tokens in a chunk, from", axis=_ordinal())]
        chart = _histogram({"Chunks": sizes}, _BIN, "Chunk sizes", encoded)
        draw(chart, f"Histogram of chunk sizes: {text}.", "chunk-sizes")
    st.caption(f"{text}. The embedder reads {most:,} at most, title and heading included.")


def draw_cuts(now: Sequence[int], then: Sequence[int], most: int) -> None:
    """Two histograms in one: tokens by chunk as they are `now` and as they would be `then`.

    `most` is the larger of the two limits.
    """
    import altair as alt

    step = max(_LEAST_BIN, 2 ** ceil(log2(most / _BARS)))
    sizes = {"Now": now, "As chosen": then} if list(now) != list(then) else {"As now": now}
    texts = [f"{cut.lower()} {_spread(found)}" for cut, found in sizes.items() if found]
    text = "; ".join(texts)
    if max(len(now), len(then)) > 1:
        names, below = list(sizes), alt.Legend(orient="bottom")
        encoded = [
            alt.X("from:O", title="Tokens in a chunk, from", axis=_ordinal()),
            alt.XOffset("cut:N", sort=names),
            alt.Color("cut:N", title=None, sort=names, legend=below),
        ]
        chart = _histogram(sizes, step, "Chunk sizes, now and as chosen", encoded)
        draw(chart, f"Histogram of chunk sizes: {text}.", "chunk-cuts")
    st.caption(f"{text[0].upper()}{text[1:]}.")


def bins(sizes: Mapping[str, Sequence[int]], step: int) -> list[dict[str, str | int]]:
    """How many of each kind lie in each bin of `step` numbers, from 0 to the bin of the largest.

    A row has `cut` (the kind), `from` and `to` (both included) and `chunks`; all rows of a kind
    together count each number once.
    """
    largest = max(max(found, default=0) for found in sizes.values())
    rows: list[dict[str, str | int]] = []
    for cut, found in sizes.items():
        counts = Counter(size // step for size in found)
        for at in range(largest // step + 1):
            begin = at * step
            row: dict[str, str | int] = {
                "cut": cut,
                "from": begin,
                "to": begin + step - 1,
                "chunks": counts[at],
            }
            rows.append(row)
    return rows


def _histogram(
    sizes: Mapping[str, Sequence[int]], step: int, title: str, encoded: Sequence[Any]
) -> altair.Chart:
    import altair as alt
    import pandas as pd

    tips = [_tip("from", "Tokens from"), _tip("to", "to"), _tip("chunks", "Chunks", ",")]
    if len(sizes) > 1:
        tips = [_tip("cut", "Cut"), *tips]
    high = alt.Y("chunks:Q", title="Chunks", axis=alt.Axis(tickMinStep=1, format="~s"))
    rows = pd.DataFrame(bins(sizes, step))
    chart: altair.Chart = alt.Chart(rows, title=title).mark_bar()
    return chart.encode(*encoded, high, tooltip=tips)


def _ordinal() -> altair.Axis:
    import altair as alt

    return alt.Axis(labelAngle=0, labelOverlap="greedy", labelSeparation=8)


def draw(
    chart: altair.Chart | altair.LayerChart | altair.FacetChart,
    alt_text: str,
    key: str,
    on_select: Callable[[], None] | None = None,
) -> None:
    """A chart in the colours of the page, with a text for those who do not see it; `on_select` is
    called when something in it was clicked or dragged over.
    """
    ink = "#bdb6a8" if is_dark() else "#57524a"  # Streamlit's own grey is too pale on our paper
    words = {"labelColor": ink, "titleColor": ink}
    room = {
        "left": 5,
        "top": 5,
        "right": 24,
        "bottom": 5,
    }  # the label of the last day is wider than its bar
    drawn = chart.properties(height=HEIGHT, padding=room).configure(axis=words, legend=words)
    chosen: Any = on_select or "ignore"
    st.altair_chart(drawn, width="stretch", alt=alt_text, key=key, on_select=chosen)


def is_dark() -> bool:
    """Whether the page is light on dark."""
    return st.context.theme.type == "dark"


def _spread(sizes: Sequence[int]) -> str:
    """`1 chunk of 192 tokens`, or `12 chunks of 3 to 192 tokens, half of them up to 100`."""
    count, least, most = figures.count(len(sizes), "chunk"), min(sizes), max(sizes)
    if least == most:
        each = " each" if len(sizes) > 1 else ""
        return f"{count} of {figures.count(most, 'token')}{each}"
    return f"{count} of {least:,} to {most:,} tokens, half of them up to {median(sizes):,.0f}"


def _tip(field: str, title: str, number: str = "") -> Any:
    import altair as alt

    if number:
        return alt.Tooltip(field, title=title, format=number)
    return alt.Tooltip(field, title=title)
