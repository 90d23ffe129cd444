"""The usage page as one page of HTML that needs nothing else: figures, plots as SVG, tables.

It is made when its link is followed, outside of any session: what depends on the viewer is taken
along in `Asked`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from zoneinfo import ZoneInfo

from agentkit.ledger import Ledger
from agentkit.ledger.queries import CallFilter
from agentkit.ledger.usage import calls, sums
from agentkit.ledger.usage.sums import By, Measure, Sums
from agentkit.ui.shared import downloads, state
from agentkit.ui.text import figures, times
from agentkit.ui.usage import words
from agentkit.ui.usage.view import View

if TYPE_CHECKING:
    import pandas

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'"
_STYLE = Path(__file__).with_name("report.css")
_PLOTS: dict[Measure, By] = {"cost": "model", "tokens": "agent", "calls": "purpose"}
_TABLES: tuple[By, ...] = ("model", "agent", "team", "chat")
_ROWS, _CALLS, _MOST = 25, 15, 7
"""Rows of a table, calls that are listed, and groups that a plot tells apart."""
_NUMBERS = frozenset({"Cost", "Calls", "Tokens in", "Tokens out", "Failed", "Time taken"})
_COUNTED = ("calls", "prompt_tokens", "completion_tokens", "failed")
_WIDTH, _HEIGHT = 760, 220
_COLOURS = ["#2a8c8f", "#d08a2e", "#6c7fc4", "#b4574f", "#7aa35b", "#9b6aa8", "#4fa7cf", "#9a948a"]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a report is about, and how it writes times."""

    calls: CallFilter
    zone: str
    hours: int
    step: str
    """How long a step of the plots is: `hour`, `day` or `week`."""
    labels: Mapping[int, str]
    """What stands below each step."""
    span: str
    """From when to when, in words."""
    made: str


def draw_link(view: View) -> None:
    """The link to the report of what is shown."""
    made = partial(_open, state.workspace().ledger, read_asked(view))
    downloads.draw_link("Report", made, f"usage-{times.today()}.html", key="usage-report")


def read_asked(view: View) -> Asked:
    """What the page shows, as a report needs it."""
    labels = {step: view.label(step) for step in view.steps}
    span = f"{times.day(view.first)} to {times.day(view.last - timedelta(seconds=1))}"
    made = f"{times.today().isoformat()}, times of {view.zone}"
    return Asked(view.calls, view.zone, view.hours, view.name_step(), labels, span, made)


def _open(ledger: Ledger, asked: Asked) -> BinaryIO:
    return io.BytesIO(write_report(ledger, asked).encode())


def write_report(ledger: Ledger, asked: Asked) -> str:
    """The page."""
    total = sums.measure(ledger, asked.calls)
    parts = [
        _write_figures(total),
        *(_write_plot(ledger, asked, what, by) for what, by in _PLOTS.items()),
        *(_write_groups(ledger, asked, by) for by in _TABLES),
        _write_calls(ledger, asked, "slowest"),
        _write_calls(ledger, asked, "dearest"),
    ]
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Usage, {escape(asked.span)}</title>
<style>
{_STYLE.read_text(encoding="utf-8")}</style>
</head>
<body>
<header><h1>Usage</h1><p>{escape(asked.span)}. Made on {escape(asked.made)}.</p>
<p>{escape(_describe_filter(asked.calls))}</p></header>
{"".join(parts)}
</body>
</html>
"""


def _describe_filter(chosen: CallFilter) -> str:
    """What narrows the calls, in words."""
    named = {
        "Models": chosen.models,
        "Agents": chosen.agents,
        "Teams": chosen.teams,
        "Status": chosen.statuses,
        "Servers": chosen.providers,
        "Purposes": chosen.purposes,
        "Collections": chosen.collections,
        "Owners": chosen.owners,
    }
    told = [f"{name}: {', '.join(values)}" for name, values in named.items() if values]
    chats = [figures.count(len(chosen.chats), "chat")] if chosen.chats else []
    return "; ".join([*told, *chats]) or "All calls."


def _write_figures(total: Sums) -> str:
    cost = "unknown" if total.cost is None else figures.dollars(total.cost)
    told = {
        "Known cost" if total.unpriced else "Cost": cost,
        "Calls": figures.count(total.calls),
        "Tokens in": figures.count(total.prompt_tokens),
        "Tokens out": figures.count(total.completion_tokens),
        "Failed": figures.count(total.failed),
        "Unknown price": figures.count(total.unpriced, "call"),
        "Median time": words.seconds(total.p50_s),
        "95 % within": words.seconds(total.p95_s),
    }
    cells = (f"<div><dt>{name}</dt><dd>{escape(text)}</dd></div>" for name, text in told.items())
    return f"<dl>{''.join(cells)}</dl>"


def _write_plot(ledger: Ledger, asked: Asked, what: Measure, by: By) -> str:
    """Stacked bars over time."""
    title = f"{words.MEASURES[what]} by {asked.step} and {words.GROUPS[by].lower()}"
    frame = sums.over_time(ledger, asked.calls, what, by, asked.zone, asked.hours, _MOST)
    if not len(frame):
        return ""
    svg = draw_svg(_to_bars(frame, asked, by, words.UNITS[what][0]))
    return f"<figure><h2>{escape(title)}</h2>{svg}</figure>"


def _to_bars(frame: pandas.DataFrame, asked: Asked, by: By, unit: str) -> dict[str, Any]:
    """The plot as Vega-Lite has it."""
    named = frame.assign(
        label=frame.hour.map(dict(asked.labels)),
        key=[words.of_value(by, key) for key in frame.key],
    ).dropna(subset=["label"])
    sizes = named.groupby("key").value.sum().sort_values(ascending=False)
    below = {"orient": "bottom", "columns": 4, "labelLimit": 180}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "width": _WIDTH,
        "height": _HEIGHT,
        "data": {"values": json.loads(named[["label", "key", "value"]].to_json(orient="records"))},
        "mark": "bar",
        "encoding": {
            "x": {
                "field": "label",
                "type": "ordinal",
                "title": None,
                "sort": None,
                "scale": {"domain": list(asked.labels.values())},
                "axis": {"labelAngle": 0, "labelOverlap": "greedy", "labelSeparation": 8},
            },
            "y": {"field": "value", "type": "quantitative", "title": unit},
            "color": {
                "field": "key",
                "type": "nominal",
                "title": None,
                "legend": below,
                "scale": {"domain": list(map(str, sizes.index)), "range": _COLOURS},
            },
        },
        "config": {"view": {"stroke": None}, "axis": {"gridColor": "#e6e8ea"}},
    }


def draw_svg(plot: Mapping[str, Any]) -> str:
    """The plot as SVG; nothing is fetched."""
    import vl_convert

    drawn: str = vl_convert.vegalite_to_svg(json.dumps(plot), allowed_base_urls=[])
    return drawn


def _write_groups(ledger: Ledger, asked: Asked, by: By) -> str:
    """The largest groups of a kind, where there are several."""
    frame = sums.by_groups(ledger, asked.calls, by, limit=_ROWS)
    if len(frame) < 2:
        return ""
    keys = [str(key) for key in frame["first"]]
    titles = sums.name_chats(ledger, keys) if by == "chat" else {}
    rows = [
        [
            titles.get(key) or words.of_value(by, key),
            _dollars(row["cost"]),
            *(figures.count(row[name]) for name in _COUNTED),
        ]
        for key, row in zip(keys, frame.to_dict("records"), strict=True)
    ]
    heads = [words.GROUPS[by], "Cost", "Calls", "Tokens in", "Tokens out", "Failed"]
    return _write_table(f"By {words.GROUPS[by].lower()}", heads, rows, len(frame) == _ROWS)


def _write_calls(ledger: Ledger, asked: Asked, order: Any) -> str:
    frame = calls.list_calls(ledger, asked.calls, order, _CALLS)
    rows = [
        [
            _clock(row["finished_at"], asked.zone),
            str(row["model"]),
            words.of_value("agent", str(row["agent"])),
            _dollars(row["cost"]),
            figures.seconds(row["seconds"]),
        ]
        for row in frame.to_dict("records")
    ]
    heads = ["Time", "Model", "Agent", "Cost", "Time taken"]
    return _write_table(f"The {order} calls", heads, rows, len(frame) == _CALLS)


def _write_table(
    title: str, heads: Sequence[str], rows: Iterable[Sequence[str]], is_cut: bool
) -> str:
    body = "".join(f"<tr>{_write_cells('td', row, heads)}</tr>" for row in rows)
    told = '<p class="told">The first ones; the files of the usage page have all.</p>' * is_cut
    head = f"<thead><tr>{_write_cells('th', heads, heads)}</tr></thead>"
    table = f"<table>{head}<tbody>{body}</tbody></table>"
    return f"<h2>{escape(title)}</h2><div class='wide'>{table}</div>{told}"


def _write_cells(tag: str, cells: Sequence[str], heads: Sequence[str]) -> str:
    """A row; what stands below a head of numbers is aligned to the right."""
    kinds = (" class='number'" * (head in _NUMBERS) for head in heads)
    return "".join(
        f"<{tag}{kind}>{escape(cell)}</{tag}>" for kind, cell in zip(kinds, cells, strict=True)
    )


def _dollars(value: float | None) -> str:
    return "unknown" if value is None or value != value else figures.dollars(float(value))


def _clock(moment: datetime, zone: str) -> str:
    local = moment.replace(tzinfo=UTC).astimezone(ZoneInfo(zone))
    return f"{local.day} {local:%b %Y, %H:%M}"
