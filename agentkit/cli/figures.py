"""`usage`: what was asked of models and what it cost."""

from __future__ import annotations

import dataclasses
import os
from itertools import starmap
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from agentkit.cli import usage_sql
from agentkit.cli.output import dollars, note, put_json, put_table
from agentkit.cli.store import open_workspace

if TYPE_CHECKING:
    from agentkit.ledger.queries import GroupTotals, Totals

_LOCALTIME = Path("/etc/localtime")
_USAGE = ("calls", "failed", "tokens in", "tokens out", "cost", "unpriced", "median s", "95 % s")


def usage(
    context: typer.Context,
    by: Annotated[
        Literal["day", "model", "agent", "chat", "run"], typer.Option(help="What to sum up by.")
    ] = "model",
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write every call into this CSV file.")
    ] = None,
    parquet: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write every call into this Parquet file."),
    ] = None,
    zone: Annotated[
        str, typer.Option(help="Time zone of the days; by default the one of this machine.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    sql: Annotated[
        str, typer.Option(metavar="SELECT", help="Answer this SELECT instead; see usage-sql.md.")
    ] = "",
    form: Annotated[
        usage_sql.Form | None, typer.Option("--format", help="How the answer is written.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the answer is written.")
    ] = None,
) -> None:
    """Show calls, tokens, cost and time."""
    from agentkit.ledger.queries import CallFilter

    if sql:
        usage_sql.put_answer(context, sql, form, out)
        return
    with open_workspace(context) as workspace:
        chosen = CallFilter(workspace.settings.owner)
        timed = workspace.figures.totals(dataclasses.replace(chosen, purpose="chat"))
        # As in the app, the times of all are those of chat calls: mixed with embeddings they would
        # say nothing.
        totals = dataclasses.replace(
            workspace.figures.totals(chosen), p50_s=timed.p50_s, p95_s=timed.p95_s
        )
        rows = workspace.figures.groups(chosen, by, zone or find_local_zone())
        if csv:
            workspace.figures.write_calls(chosen, csv)
        if parquet:
            workspace.figures.write_calls(chosen, parquet, "parquet")
    if as_json:
        groups = list(map(_group_to_json, rows))
        put_json({"by": by, "rows": groups, "totals": dataclasses.asdict(totals)})
    elif rows:
        cells = starmap(_to_cells, map(attrgetter("title", "totals"), rows))
        put_table([by, *_USAGE], [*cells, _to_cells("total", totals)], numbers=_USAGE)
    else:
        note("No model was called yet; ask something with `python -m agentkit ask QUESTION`.")


def find_local_zone() -> str:
    """The IANA name of this machine's time zone, as far as it tells; else UTC."""
    named = os.environ.get("TZ", "").removeprefix(":")
    _, _, linked = str(_LOCALTIME.resolve()).partition("/zoneinfo/")
    return named or linked or "UTC"


def _group_to_json(group: GroupTotals) -> dict[str, Any]:
    return {"key": group.key, "title": group.title, **dataclasses.asdict(group.totals)}


def _to_cells(title: str, totals: Totals) -> list[str]:
    about = "~" if totals.estimated else ""
    has_cost = totals.cost is not None or totals.unpriced
    return [
        title,
        f"{totals.calls:,}",
        f"{totals.failed:,}",
        f"{about}{totals.prompt_tokens:,}",
        f"{about}{totals.completion_tokens:,}",
        dollars(totals.cost) if has_cost else "",
        f"{totals.unpriced:,}",
        _format_seconds(totals.p50_s, 2),
        _format_seconds(totals.p95_s, 2),
    ]


def _format_seconds(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"
