"""The charts: with titles, units and a text for those who do not see them; the theme gives colours
for light and dark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from math import ceil, log2
from statistics import median
from typing import TYPE_CHECKING, Any

import streamlit as st

from agentkit.ui.text import figures

if TYPE_CHECKING:
    import altair
    import pandas

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
        _draw(chart, f"Histogram of chunk sizes: {text}.", "chunk-sizes")
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
        _draw(chart, f"Histogram of chunk sizes: {text}.", "chunk-cuts")
    st.caption(f"{text[0].upper()}{text[1:]}.")


def bins(sizes: Mapping[str, Sequence[int]], step: int) -> list[dict[str, str | int]]:
    """How many of each kind lie in each bin of `step` numbers, from 0 to the bin of the largest.

    A row has `cut` (the kind), `from` and `to` (both included) and `chunks`; all rows of a kind
    together count each number once.
    """
    largest = max(max(found, default=0) for found in sizes.values())
    counted = {cut: Counter(size // step for size in found) for cut, found in sizes.items()}
    return [
        {"cut": cut, "from": at * step, "to": at * step + step - 1, "chunks": counts[at]}
        for cut, counts in counted.items()
        for at in range(largest // step + 1)
    ]


def _histogram(
    sizes: Mapping[str, Sequence[int]], step: int, title: str, encoded: Sequence[Any]
) -> altair.Chart:
    import altair as alt
    import pandas as pd

    tips = [_tip("from", "Tokens from"), _tip("to", "to"), _tip("chunks", "Chunks", ",")]
    tips = [_tip("cut", "Cut"), *tips] if len(sizes) > 1 else tips
    high = alt.Y("chunks:Q", title="Chunks", axis=alt.Axis(tickMinStep=1, format="~s"))
    rows = pd.DataFrame(bins(sizes, step))
    chart: altair.Chart = alt.Chart(rows, title=title).mark_bar()
    return chart.encode(*encoded, high, tooltip=tips)


def _ordinal() -> altair.Axis:
    import altair as alt

    return alt.Axis(labelAngle=0, labelOverlap="greedy", labelSeparation=8)


def draw_tokens(days: pandas.DataFrame) -> None:
    """Tokens in and out by day, stacked; `days` has day (ISO text), prompt_tokens,
    completion_tokens.
    """
    import altair as alt

    names = {"prompt_tokens": "Tokens in", "completion_tokens": "Tokens out"}
    long = (
        days[["day", *names]]
        .rename(columns=names)
        .melt("day", var_name="kind", value_name="tokens")
    )
    chart = (
        alt.Chart(_labelled(long.assign(order=long.kind.eq("Tokens out"))), title="Tokens by day")
        .mark_bar()
        .encode(
            _days(days.day),
            alt.Y(
                "tokens:Q", title="Tokens", axis=alt.Axis(labelExpr="format(datum.value, '~s')")
            ),  # 0, not 0k
            alt.Color(
                "kind:N", title=None, sort=list(names.values()), legend=alt.Legend(orient="bottom")
            ),
            alt.Order("order:O"),
            tooltip=[_tip("day", "Day"), _tip("kind", "Kind"), _tip("tokens", "Tokens", ",")],
        )
    )
    sums = f"{int(days.prompt_tokens.sum()):,} in, {int(days.completion_tokens.sum()):,} out"
    _draw(chart, f"Bars of tokens by day, {_span(days)}: {sums} in all.", "tokens-by-day")


def draw_cost(days: pandas.DataFrame) -> None:
    """Known cost by day; `days` has day (ISO text) and cost (US dollars)."""
    import altair as alt

    chart = (
        alt.Chart(_labelled(days[["day", "cost"]]), title="Known cost by day")
        .mark_bar()
        .encode(
            _days(days.day),
            alt.Y("cost:Q", title="US dollars", axis=alt.Axis(format="$~g")),
            tooltip=[_tip("day", "Day"), _tip("cost", "US dollars", "$.4f")],
        )
    )
    total = figures.dollars(float(days.cost.sum()))
    _draw(chart, f"Bars of the known cost by day, {_span(days)}: {total} in all.", "cost-by-day")


def draw_latency(days: pandas.DataFrame) -> None:
    """Seconds of a call by day; `days` has day (ISO text), p50_s, p95_s, both empty on days without
    calls.
    """
    import altair as alt

    names = {"p50_s": "Median", "p95_s": "95 % within"}
    long = (
        days[["day", *names]]
        .rename(columns=names)
        .melt("day", var_name="kind", value_name="seconds")
        .dropna()
    )
    kinds = list(names.values())
    chart = (
        alt.Chart(_labelled(long), title="Time of a call by day")
        .mark_line(point=alt.OverlayMarkDef(size=45))
        .encode(
            _days(days.day),
            alt.Y("seconds:Q", title="Seconds"),
            alt.Color(
                "kind:N",
                title=None,
                sort=kinds,
                legend=alt.Legend(orient="bottom", labelLimit=240, symbolType="stroke"),
            ),
            alt.StrokeDash("kind:N", title=None, sort=kinds),
            tooltip=[_tip("day", "Day"), _tip("kind", "Kind"), _tip("seconds", "Seconds", ".2f")],
        )
    )
    highest = figures.seconds(float(days.p95_s.max()))
    text = (
        f"Lines of the time of a call by day, {_span(days)}: median and 95th percentile, at most"
        f" {highest}."
    )
    _draw(chart, text, "latency-by-day")


def _draw(chart: altair.Chart, alt_text: str, key: str) -> None:
    ink = (
        "#bdb6a8" if st.context.theme.type == "dark" else "#57524a"
    )  # Streamlit's own grey is too pale on our paper
    words = {"labelColor": ink, "titleColor": ink}
    room = {
        "left": 5,
        "top": 5,
        "right": 24,
        "bottom": 5,
    }  # the label of the last day is wider than its bar
    drawn = chart.properties(height=HEIGHT, padding=room).configure(axis=words, legend=words)
    st.altair_chart(drawn, width="stretch", alt=alt_text, key=key)


def _days(days: Iterable[str]) -> Any:
    """The axis of all these days. They are categories: as times, the browser would move them by its
    zone.
    """
    import altair as alt

    scale = alt.Scale(domain=_labels(days))
    return alt.X("label:O", title=None, sort=None, scale=scale, axis=_ordinal())


def _spread(sizes: Sequence[int]) -> str:
    """`1 chunk of 192 tokens`, or `12 chunks of 3 to 192 tokens, half of them up to 100`."""
    count, least, most = figures.count(len(sizes), "chunk"), min(sizes), max(sizes)
    if least == most:
        each = " each" if len(sizes) > 1 else ""
        return f"{count} of {figures.count(most, 'token')}{each}"
    return f"{count} of {least:,} to {most:,} tokens, half of them up to {median(sizes):,.0f}"


def _tip(field: str, title: str, number: str = "") -> Any:
    import altair as alt

    return (
        alt.Tooltip(field, title=title, format=number)
        if number
        else alt.Tooltip(field, title=title)
    )


def _labelled(rows: pandas.DataFrame) -> pandas.DataFrame:
    return rows.assign(label=_labels(rows.day))


def _labels(days: Iterable[str]) -> list[str]:
    found = [date.fromisoformat(day) for day in days]
    this_year = date.today().year  # noqa: DTZ011
    return [
        f"{day.day} {day:%b}" if day.year == this_year else f"{day.day} {day:%b %Y}"
        for day in found
    ]


def _span(days: pandas.DataFrame) -> str:
    return f"{days.day.iloc[0]} to {days.day.iloc[-1]}"
