"""The charts of the usage page: bars over time that can be clicked and dragged over, lines, and the
hours of the week.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from zlib import crc32

import streamlit as st

from agentkit.ui.shared import charts
from agentkit.ui.text import figures
from agentkit.ui.usage import address, words
from agentkit.ui.usage.view import View

if TYPE_CHECKING:
    import altair
    import pandas

OTHERS_COLOUR = "#9a948a"
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_COLOURS = (
    "#2a8c8f",
    "#d08a2e",
    "#6c7fc4",
    "#b4574f",
    "#7aa35b",
    "#9b6aa8",
    "#4fa7cf",
    "#c9b13c",
)
"""Told apart in light and dark, also by most who do not see all colours."""


def draw_bars(
    view: View,
    frame: pandas.DataFrame,
    title: str,
    unit: str,
    key: str,
    others: str = "",
    number: str = ",.0f",
) -> None:
    """Stacked bars of `value` by `hour` and `key`; a click on one, or a drag over some, chooses
    their days.

    The name `others` is drawn in grey, last.
    """
    import altair as alt

    labels = {step: view.label(step) for step in view.steps}
    x = _steps(list(labels.values()))
    drawn = frame.assign(label=frame.hour.map(labels)).dropna(subset=["label"])
    clicked = alt.selection_point(name="bar", fields=["label"])
    dragged = alt.selection_interval(name="span", encodings=["x"])
    behind = _draw_columns(view, drawn, labels, unit, number).encode(x)
    bars = _draw_stacks(view, drawn, order_names(drawn, others), others, unit, number).encode(x)
    name = f"{key}-{crc32(repr((view.calls, view.measure, view.by)).encode())}"
    steps = {label: step for step, label in labels.items()}
    charts.draw(
        alt.layer(behind.add_params(clicked, dragged), bars, title=title),
        f"{title}: stacked bars from {labels[view.steps[0]]} to {labels[view.steps[-1]]},"
        f" {_total(frame, unit)} in all.",
        name,
        on_select=lambda: _choose(view, name, steps),
    )


def _draw_columns(
    view: View, drawn: pandas.DataFrame, labels: Mapping[int, str], unit: str, number: str
) -> altair.Chart:
    """The whole height of each step, unseen: low bars can be clicked, too, and tell their sum."""
    import altair as alt
    import pandas as pd

    sums = drawn.groupby("label").value.sum().reindex(list(labels.values())).fillna(0)
    columns = pd.DataFrame({"label": sums.index, "total": sums.to_numpy()})
    chart: altair.Chart = (
        alt.Chart(columns)
        .mark_bar(opacity=0, cursor="pointer")
        .encode(
            y=alt.value(0),
            y2=alt.value("height"),
            tooltip=[
                alt.Tooltip("label:N", title=view.name_step().capitalize()),
                alt.Tooltip("total:Q", title=unit, format=number),
            ],
        )
    )
    return chart


_LONG = 24
"""Letters of a name that do not fit beside another one on a phone."""
_NAMES: dict[str, Any] = {"columns": 2, "labelLimit": 125}
_LONG_NAMES: dict[str, Any] = {"columns": 1, "labelLimit": 270}


def _draw_stacks(
    view: View,
    drawn: pandas.DataFrame,
    names: Sequence[str],
    others: str,
    unit: str,
    number: str,
) -> altair.Chart:
    """The bars themselves, the largest group at the bottom."""
    import altair as alt

    places = {name: at for at, name in enumerate(names)}
    colours = [_COLOURS[at % len(_COLOURS)] for at in places.values()]
    if others in places:
        colours[-1] = OTHERS_COLOUR
    legend = _LONG_NAMES if max(map(len, names)) > _LONG else _NAMES
    written = "$,.4~f" if number.startswith("$") else "~s"
    chart: altair.Chart = (
        alt.Chart(drawn.assign(place=drawn.key.map(places)))
        .mark_bar(cursor="pointer")
        .encode(
            y=alt.Y("value:Q", title=unit, axis=alt.Axis(format=written, tickMinStep=1e-9)),
            color=alt.Color(
                "key:N",
                title=None,
                scale=alt.Scale(domain=names, range=colours),
                legend=alt.Legend(**legend, orient="bottom", symbolLimit=9),
            ),
            order=alt.Order("place:O"),
            tooltip=[
                alt.Tooltip("label:N", title=view.name_step().capitalize()),
                alt.Tooltip("key:N", title="Of"),
                alt.Tooltip("value:Q", title=unit, format=number),
            ],
        )
    )
    return chart


def _total(frame: pandas.DataFrame, unit: str) -> str:
    total = float(frame.value.sum())
    in_dollars = unit == words.UNITS["cost"][0]
    return figures.dollars(total) if in_dollars else f"{figures.count(round(total))} {unit.lower()}"


def order_names(frame: pandas.DataFrame, others: str = "") -> list[str]:
    """The groups of a chart, the largest first, and what stands for the rest last."""
    sizes = frame.groupby("key").value.sum().sort_values(ascending=False)
    named = [str(name) for name in sizes.index if name != others]
    return [*named, others] if others in sizes.index else named


def draw_lines(
    view: View,
    frame: pandas.DataFrame,
    lines: Mapping[str, str],
    title: str,
    unit: str = "Seconds",
) -> None:
    """A line for each of these columns, by its name, over the steps in which there is something."""
    import altair as alt

    names = list(lines.values())
    long = (
        frame[["hour", *lines]]
        .rename(columns=dict(lines))
        .melt("hour", var_name="kind", value_name="value")
        .dropna()
    )
    labels = {step: view.label(step) for step in view.steps}
    chart = (
        alt.Chart(long.assign(label=long.hour.map(labels)), title=title)
        .mark_line(point=alt.OverlayMarkDef(size=40))
        .encode(
            _steps(list(labels.values())),
            alt.Y("value:Q", title=unit),
            alt.Color(
                "kind:N",
                title=None,
                sort=names,
                scale=alt.Scale(domain=names, range=list(_COLOURS[: len(names)])),
                legend=alt.Legend(orient="bottom", labelLimit=240),
            ),
            alt.StrokeDash("kind:N", title=None, sort=names, legend=None),
            tooltip=["label:N", "kind:N", alt.Tooltip("value:Q", format=",.2f")],
        )
    )
    highest = f"{long.value.max():,.2f}" if len(long) else "0"
    charts.draw(
        chart, f"{title}: lines of {', '.join(names)}, at most {highest}.", f"lines-{title}"
    )


def draw_week(frame: pandas.DataFrame, title: str, unit: str, number: str) -> None:
    """Squares of `value` by weekday and hour, darker where there is more."""
    import altair as alt

    named = frame.assign(
        weekday=[_DAYS[int(day)] for day in frame.day], at=[f"{hour:02d}" for hour in frame.hour]
    )
    hours = [f"{hour:02d}" for hour in range(24)]
    chart = (
        alt.Chart(named, title=title)
        .mark_rect(cornerRadius=2)
        .encode(
            alt.X(
                "at:O",
                title="Hour",
                scale=alt.Scale(domain=hours, paddingInner=0.1),
                axis=alt.Axis(labelAngle=0, values=hours[::6], ticks=False, domain=False),
            ),
            alt.Y(
                "weekday:O",
                title=None,
                scale=alt.Scale(domain=list(_DAYS), paddingInner=0.1),
                axis=alt.Axis(ticks=False, domain=False),
            ),
            alt.Color(
                "value:Q", title=None, scale=alt.Scale(type="sqrt", range=_shades()), legend=None
            ),
            tooltip=[
                alt.Tooltip("weekday:N", title="Day"),
                alt.Tooltip("at:O", title="Hour"),
                alt.Tooltip("value:Q", title=unit, format=number),
            ],
        )
    )
    top = named.sort_values("value").iloc[-1] if len(named) else None
    most = f"most on {top.weekday} at {top['at']}:00" if top is not None else "nothing yet"
    charts.draw(chart, f"{title}: squares by weekday and hour, {most}.", "usage-week")


def _choose(view: View, key: str, steps: Mapping[str, int]) -> None:
    """Mean the steps that were clicked, or dragged over."""
    selected = st.session_state[key].selection
    dragged = selected.get("span", {}).get("label", [])
    clicked = [one["label"] for one in selected.get("bar", [])]
    chosen = sorted(steps[label] for label in dragged or clicked if label in steps)
    if chosen:
        address.choose_span(*view.span(chosen[0], chosen[-1]))


def _steps(labels: Sequence[str]) -> Any:
    """The axis of all these steps. They are categories: as times, the browser would move them."""
    import altair as alt

    axis = alt.Axis(labelAngle=0, labelOverlap="greedy", labelSeparation=8)
    return alt.X("label:O", title=None, sort=None, scale=alt.Scale(domain=labels), axis=axis)


def _shades() -> list[str]:
    return (
        ["#26302f", "#2a8c8f", "#a5e0dc"] if charts.is_dark() else ["#e6efec", "#6fb3b1", "#14595c"]
    )
