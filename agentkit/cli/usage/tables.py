"""`usage --show` and `usage --by ... --within ...`: the other tables of the usage page."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from agentkit.cli.output import dollars, note, put, put_json, put_table
from agentkit.core.given import list_missing

if TYPE_CHECKING:
    from agentkit.ledger.figures import GroupSums
    from agentkit.ledger.queries import CallFilter
    from agentkit.workspace import Workspace
    from agentkit.workspace.usage.tables import Table

Shown = Literal[
    "bill",
    "speed",
    "errors",
    "tools",
    "look-ups",
    "compression",
    "people",
    "documents",
    "quality",
]
TABLES: Mapping[Shown, tuple[Table, ...]] = {
    "bill": ("buckets", "costs"),
    "speed": ("slowest",),
    "errors": ("errors", "waits"),
    "tools": ("tools",),
    "look-ups": ("lookups",),
    "compression": ("compression",),
    "people": ("people",),
    "documents": ("documents", "unanswered"),
    "quality": ("quality",),
}
"""The tables that a tab of the page has."""
_NUMBERS = (
    *("calls", "failed", "tokens in", "tokens out", "cost", "unpriced"),
    *("median s", "95 % s", "99 % s"),
)
_WIDEST = 60
_LEFT_OUT = ("run_id", "owner", "id", "seq", "chat_id")
"""Columns that lead to runs, which JSON has and a terminal has no room for."""


def put_tables(workspace: Workspace, calls: CallFilter, shown: Shown, *, as_json: bool) -> None:
    """Tell the tables of a tab, each under its name."""
    found: dict[str, Any] = {name: workspace.usage_table(calls, name) for name in TABLES[shown]}
    if as_json:
        put_json({"show": shown} | found)
        return
    for name, rows in found.items():
        put(f"{name}:")
        _put_rows(rows)


def _put_rows(rows: Sequence[Mapping[str, Any]]) -> None:
    if not rows:
        put("nothing\n")
        return
    first, last = rows[0], rows[-1]
    names = list_missing(dict.fromkeys([*last, *first]), _LEFT_OUT)
    numbers = [name for name in names if isinstance(first.get(name), int | float)]
    cells = [[_tell(name, row.get(name)) for name in names] for row in rows]
    put_table(names, cells, numbers)
    put("")


def _tell(name: str, value: object) -> str:
    """A value as it is read."""
    if value is None:
        return ""
    if name in ("cost", "worth", "each") and isinstance(value, float):
        return dollars(value)
    if isinstance(value, float):
        return f"{value:,.3f}"
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)[:_WIDEST]


def put_groups(
    by: str, within: str, groups: Sequence[GroupSums], *, as_json: bool, empty: str
) -> None:
    """Tell the sums of groups within groups."""
    if as_json:
        rows = [
            {by: one.first, within: one.second, **dataclasses.asdict(one.sums)} for one in groups
        ]
        put_json({"by": by, "within": within, "rows": rows})
        return
    if not groups:
        note(empty)
        return
    put_table((by, within, *_NUMBERS), [_to_cells(one) for one in groups], _NUMBERS)


def _to_cells(group: GroupSums) -> list[str]:
    sums = group.sums
    about = "~" if sums.estimated else ""
    is_known = sums.cost is not None or sums.unpriced
    return [
        group.first or "(none)",
        group.second or "(none)",
        f"{sums.calls:,}",
        f"{sums.failed:,}",
        f"{about}{sums.prompt_tokens:,}",
        f"{about}{sums.completion_tokens:,}",
        dollars(sums.cost) if is_known else "",
        f"{sums.unpriced:,}",
        _to_seconds(sums.p50_s),
        _to_seconds(sums.p95_s),
        _to_seconds(sums.p99_s),
    ]


def _to_seconds(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.2f}"
