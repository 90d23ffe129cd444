"""The row of figures at the head of the usage page, each with its change and its course."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import streamlit as st

from agentkit.ledger.usage import sums
from agentkit.ledger.usage.sums import Sums, Times
from agentkit.ui.shared import state
from agentkit.ui.text import figures
from agentkit.ui.usage import words
from agentkit.ui.usage.view import View

if TYPE_CHECKING:
    import pandas

_ESTIMATED = "Some servers do not count tokens; those are our estimate."
_TIMED = 200_000  # calls of which the course of the times is drawn, too
_TIMES = "Of chat calls that a model answered to the end, from sending to the last word."


@dataclass(frozen=True, slots=True)
class _Figure:
    """A figure: its name, what it says, and which column its course is."""

    label: str
    text: str
    column: str
    help: str
    more_is: Literal["off", "inverse", "normal"] = "off"
    """Whether it is good when it grows."""


def draw_headline(view: View) -> Sums:
    """The figures; the same sums as under the answers."""
    ledger = state.workspace().ledger
    now = sums.measure(ledger, view.calls, "first")
    earlier = sums.before(view.calls)
    before = sums.measure(ledger, earlier, "first") if earlier else Sums()
    courses = _read_courses(view, now.calls) if now.calls > 1 else None
    with st.container(key="usage-figures"), st.grid(4, min_column_width=160, gap="small"):
        for figure in _figures(now):
            _draw(figure, now, before, courses)
    if notes := _notes(now, before):
        st.caption(notes)
    return now


def _notes(now: Sums, before: Sums) -> str:
    """What has to be known to read the figures."""
    unpriced = figures.count(now.unpriced, "call")
    about = {
        f"{unpriced} without a known price: what they cost is not in these figures.": now.unpriced,
        "Changes are against as many days just before.": before.calls,
    }
    return " ".join(text for text, is_true in about.items() if is_true)


def _figures(now: Sums) -> Sequence[_Figure]:
    about = "~" if now.estimated else ""
    tokens_in, tokens_out = _short(now.prompt_tokens), _short(now.completion_tokens)
    estimated = _ESTIMATED if now.estimated else "As the servers counted them."
    cost = figures.dollars(now.cost) if now.cost is not None else "unknown"
    failed = f"{now.failed / now.calls:.1%}".replace("%", " %") if now.calls else "none"
    cost_name = "Known cost" if now.unpriced else "Cost"
    return (
        _Figure(cost_name, cost, "cost", _COST, "inverse"),
        _Figure("Calls", figures.count(now.calls), "calls", _CALLS),
        _Figure("Tokens in", about + tokens_in, "prompt_tokens", estimated),
        _Figure("Tokens out", about + tokens_out, "completion_tokens", estimated),
        _Figure("Failed", f"{figures.count(now.failed)} · {failed}", "failed", _FAILED, "inverse"),
        _Figure("Median time", words.seconds(now.p50_s), "p50_s", _TIMES, "inverse"),
        _Figure("95 % within", words.seconds(now.p95_s), "p95_s", _TIMES, "inverse"),
        _Figure(
            "First word after",
            words.seconds(now.first_token_p50_s),
            "first_token_p50_s",
            "Median of the chat calls that stream.",
            "inverse",
        ),
    )


def _draw(figure: _Figure, now: Sums, before: Sums, courses: pandas.DataFrame | None) -> None:
    change = words.change(getattr(now, figure.column), getattr(before, figure.column))
    with st.container(border=True, height="stretch", gap="small"):
        st.metric(
            figure.label,
            figure.text,
            change,
            delta_color=figure.more_is,
            help=figure.help,
        )
        if (course := _course(courses, figure.column)) is not None:
            st.html(_draw_course(course))


def _draw_course(values: Sequence[float]) -> str:
    """Low bars side by side, as wide as the place; the charts below tell them in words."""
    top = max(values) or 1
    bars = "".join(f'<i style="height: {100 * value / top:.1f}%"></i>' for value in values)
    return f'<div class="course" aria-hidden="true">{bars}</div>'


def _read_courses(view: View, calls: int) -> pandas.DataFrame:
    """The sums of each step, steps without calls included; of very many calls without times."""
    ledger, zone, hours = state.workspace().ledger, view.zone, view.hours
    times: Times = "first" if calls < _TIMED else "none"
    frame = sums.totals_over_time(ledger, view.calls, zone, hours, times)
    return frame.set_index("hour").reindex(view.steps)


def _course(courses: pandas.DataFrame | None, column: str) -> Sequence[float] | None:
    """What a figure was in each step; None where that says nothing."""
    if courses is None or column not in courses:
        return None
    course = courses[column].astype(float)
    known = course.dropna() if column.endswith("_s") else course.fillna(0)
    values: list[float] = known.tolist()
    return values if len(values) > 2 else None


def _short(number: int) -> str:
    """A number in full as long as it is short."""
    return figures.count(number) if number < 1_000_000 else figures.short(number)


_CALLS = "Every call of a model, also failed ones and each attempt."
_FAILED = "How many calls failed, and their share."
_COST = (
    "In US dollars, by your own prices, else by the price list. Models on this machine are free,"
    " and so are replies out of a cache; a price that is not known is not counted as 0."
)
