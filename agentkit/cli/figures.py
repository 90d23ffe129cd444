"""`usage` and `runs`: what was done and what it cost."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from agentkit.cli.output import dollars, note, put_json, put_table
from agentkit.cli.store import opened

if TYPE_CHECKING:
    from agentkit.ledger.queries import RunTotals, Totals

_LOCALTIME = Path("/etc/localtime")
_USAGE = ("calls", "failed", "tokens in", "tokens out", "cost", "unpriced", "median s", "95 % s")
_RUNS = ("started (UTC)", "kind", "title", "state", "seconds", "calls", "tokens", "cost", "run")


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
) -> None:
    """Show calls, tokens, cost and time."""
    from agentkit.ledger.queries import CallFilter

    with opened(context) as workspace:
        chosen = CallFilter(workspace.settings.owner)
        timed = workspace.figures.totals(dataclasses.replace(chosen, purpose="chat"))
        # As in the app, the times of all are those of chat calls: mixed with embeddings they would
        # say nothing.
        totals = dataclasses.replace(
            workspace.figures.totals(chosen), p50_s=timed.p50_s, p95_s=timed.p95_s
        )
        rows = workspace.figures.groups(chosen, by, zone or local_zone())
        if csv:
            workspace.figures.write_calls(chosen, csv)
        if parquet:
            workspace.figures.write_calls(chosen, parquet, "parquet")
    if as_json:
        found = [
            {"key": row.key, "title": row.title, **dataclasses.asdict(row.totals)} for row in rows
        ]
        put_json({"by": by, "rows": found, "totals": dataclasses.asdict(totals)})
    elif rows:
        cells = [[row.title, *_figures(row.totals)] for row in rows]
        put_table([by, *_USAGE], [*cells, ["total", *_figures(totals)]], numbers=_USAGE)
    else:
        note("No model was called yet; ask something with `python -m agentkit ask QUESTION`.")


def runs(
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, help="How many, newest first.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """List the runs (questions, ingests, index versions, measurements, transfers), how they ended
    and what they took.
    """
    with opened(context) as workspace:
        found = workspace.figures.runs(workspace.settings.owner, limit)
    if as_json:
        put_json({"runs": [_run_fields(run) for run in found]})
    elif found:
        put_table(
            _RUNS,
            [_run_cells(run) for run in found],
            numbers=("seconds", "calls", "tokens", "cost"),
        )
    else:
        note("Nothing was run yet.")


def local_zone() -> str:
    """The IANA name of this machine's time zone, as far as it tells; else UTC."""
    named = os.environ.get("TZ", "").removeprefix(":")
    target = str(_LOCALTIME.resolve())
    return named or (target.split("/zoneinfo/")[1] if "/zoneinfo/" in target else "UTC")


def _run_fields(run: RunTotals) -> dict[str, Any]:
    ended = run.finished_at
    return {
        **dataclasses.asdict(run),
        "started_at": f"{run.started_at.isoformat()}Z",
        "finished_at": f"{ended.isoformat()}Z" if ended else None,
    }


def _figures(one: Totals) -> list[str]:
    about = "~" if one.estimated else ""
    return [
        f"{one.calls:,}",
        f"{one.failed:,}",
        f"{about}{one.prompt_tokens:,}",
        f"{about}{one.completion_tokens:,}",
        _known(one),
        f"{one.unpriced:,}",
        *("" if value is None else f"{value:.2f}" for value in (one.p50_s, one.p95_s)),
    ]


def _known(one: Totals) -> str:
    """The known cost; calls of unknown price are counted beside it."""
    return dollars(one.cost) if one.cost is not None or one.unpriced else ""


def _run_cells(run: RunTotals) -> list[str]:
    seconds = "" if run.seconds is None else f"{run.seconds:.1f}"
    state = f"{run.state}: {run.reason}" if run.reason else run.state
    cost = dollars(run.cost) if run.calls else ""
    started, calls, tokens = f"{run.started_at:%Y-%m-%d %H:%M}", f"{run.calls:,}", f"{run.tokens:,}"
    return [started, run.kind, run.title, state, seconds, calls, tokens, cost, run.id]
