"""`usage`: what was asked of models and what it cost."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import starmap
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from agentkit.cli import usage_sql
from agentkit.cli.output import note, put_json, put_table
from agentkit.cli.store import open_workspace
from agentkit.cli.usage import tables
from agentkit.cli.usage.days import find_days, find_local_zone
from agentkit.core.given import coalesce, list_missing, pick_filled
from agentkit.errors import ConfigError

if TYPE_CHECKING:
    from agentkit.ledger.figures import Figures, GroupSums
    from agentkit.ledger.queries import CallFilter, Group, GroupTotals, Totals
    from agentkit.ledger.usage.sums import Sums
    from agentkit.settings import Settings

By = Literal[
    "day",
    "model",
    "agent",
    "chat",
    "run",
    "team",
    "purpose",
    "owner",
    "provider",
    "collection",
    "status",
]
Within = Literal[
    "model", "agent", "team", "chat", "purpose", "owner", "provider", "collection", "status", "run"
]
_NO_CALL = "No model was called yet; ask something with `python -m agentkit ask QUESTION`."
_NARROWED_TO_NOTHING = "No calls are like that; choose more days, or other filters."
_USAGE = ("calls", "failed", "tokens in", "tokens out", "cost", "unpriced", "median s", "95 % s")


def _several(what: str) -> Any:
    """An option that may be given several times, to narrow to some of these."""
    return typer.Option(help=f"Only calls of these {what}.", show_default=False)


def usage(
    context: typer.Context,
    by: Annotated[By, typer.Option(help="What to sum up by.")] = "model",
    within: Annotated[
        Within | None, typer.Option(help="What to sum up by within each of those.")
    ] = None,
    show: Annotated[
        tables.Shown | None, typer.Option(help="A tab of the usage page instead of the sums.")
    ] = None,
    days: Annotated[
        int | None, typer.Option(min=1, help="Only so many days, today included.")
    ] = None,
    since: Annotated[str, typer.Option(metavar="DAY", help="Only from this day on.")] = "",
    until: Annotated[str, typer.Option(metavar="DAY", help="Only until this day.")] = "",
    model: Annotated[list[str] | None, _several("models")] = None,
    agent: Annotated[list[str] | None, _several("agents")] = None,
    team: Annotated[list[str] | None, _several("teams, by their ids")] = None,
    chat: Annotated[list[str] | None, _several("chats, by their ids")] = None,
    purpose: Annotated[list[str] | None, _several("purposes, such as chat or embedding")] = None,
    provider: Annotated[list[str] | None, _several("servers")] = None,
    collection: Annotated[list[str] | None, _several("collections of chats")] = None,
    status: Annotated[list[str] | None, _several("ok, failed, stopped, cached")] = None,
    owner: Annotated[
        list[str] | None, _several("owners, where AGENTKIT_USAGE_OF_ALL lets one see them")
    ] = None,
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
        str,
        typer.Option(metavar="SELECT", help="Answer this SELECT instead; see docs/usage-sql.md."),
    ] = "",
    form: Annotated[
        usage_sql.Form | None, typer.Option("--format", help="How the answer to --sql is written.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Where it is written.")] = None,
) -> None:
    """Show calls, tokens, cost and time: what the usage page shows, with its filters."""
    named: dict[str, list[str] | None] = {
        "models": model,
        "agents": agent,
        "statuses": status,
        "providers": provider,
        "teams": team,
        "collections": collection,
        "purposes": purpose,
        "chats": chat,
    }
    narrowed = (days, since, until, owner, *named.values())
    usage_sql.check_together(sql, form, out, (within, show, csv, parquet, zone, *narrowed))
    if sql:
        usage_sql.put_answer(context, sql, form, out, as_json=as_json)
        return
    zone = zone or find_local_zone()
    first, last = find_days(zone, days, since, until)
    with open_workspace(context) as workspace:
        chosen = _make_filter(workspace.settings, first, last, named, owner)
        found = sum_up(workspace.figures, chosen, by, zone)
        if show:
            tables.put_tables(workspace, chosen, show, as_json=as_json)
        groups = _find_within(workspace.figures, chosen, by, within)
        if csv:
            workspace.figures.write_calls(chosen, csv)
        if parquet:
            workspace.figures.write_calls(chosen, parquet, "parquet")
    if show:
        return
    empty = _NO_CALL
    if any((first, last, owner, *named.values())):
        empty = _NARROWED_TO_NOTHING
    if within:
        tables.put_groups(by, within, groups, as_json=as_json, empty=empty)
    elif as_json:
        put_json(found.to_json())
    elif found.rows:
        _put_sums(found, by)
    else:
        note(empty)


def _put_sums(found: Found, by: By) -> None:
    """A line for each group, and one for all."""
    cells = starmap(_to_cells, map(attrgetter("title", "totals"), found.rows))
    put_table([by, *_USAGE], [*cells, _to_cells("total", found.totals)], numbers=_USAGE)
    note(_describe_times(found.sums))


def _find_within(
    figures: Figures, chosen: CallFilter, by: By, within: Within | None
) -> list[GroupSums]:
    """The sums of groups within groups; nothing where none was asked for."""
    if within is None:
        return []
    if by == "day":
        raise ConfigError("Days are not divided: give --by model, agent or another group.")
    return figures.groups_within(chosen, by, within)


def _make_filter(
    settings: Settings,
    first: datetime | None,
    last: datetime | None,
    named: Mapping[str, list[str] | None],
    owners: list[str] | None,
) -> CallFilter:
    """Which calls are meant; raises ConfigError for those of others where the installation does not
    say that everybody may see them.
    """
    from agentkit.ledger.queries import CallFilter

    given: dict[str, Any] = pick_filled(named)
    others = list_missing(coalesce(owners, []), [settings.owner])
    if others and not settings.usage_of_all:
        raise ConfigError(
            f"What {', '.join(others)} asked is not shown to others: leave out --owner, or set"
            " AGENTKIT_USAGE_OF_ALL=true where everybody may see the figures of all."
        )
    if settings.usage_of_all:
        given |= {"everyone": True, "owners": coalesce(owners, [])}
    return CallFilter(settings.owner, first, last, **given)


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """What `usage` tells."""

    by: str
    rows: Sequence[GroupTotals]
    totals: Totals
    sums: Sums

    def to_json(self) -> dict[str, Any]:
        """As it is told to programs."""
        groups = list(map(_group_to_json, self.rows))
        whole = dataclasses.asdict(self.totals) | dataclasses.asdict(self.sums)
        return {"by": self.by, "rows": groups, "totals": whole}


def sum_up(figures: Figures, chosen: CallFilter, by: Group, zone: str) -> Found:
    """The sums of the calls that are meant, by group and in all.

    As in the app, the times of all are those of chat calls: mixed with embeddings they would say
    nothing.
    """
    sums = figures.measure(chosen)
    totals = dataclasses.replace(figures.totals(chosen), p50_s=sums.p50_s, p95_s=sums.p95_s)
    return Found(by, figures.groups(chosen, by, zone), totals, sums)


def _describe_times(sums: Sums) -> str:
    """The figures that are of all calls together."""
    named = [
        ("99 % within", sums.p99_s, "s"),
        ("first word after", sums.first_token_p50_s, "s"),
        ("tokens a second", sums.tokens_per_s, ""),
    ]
    told = []
    for name, value, unit in named:
        if value:
            told.append(f"{name} {value:.2f} {unit}".strip())
    told.append(f"{sums.retries:,} tried again")
    return "; ".join(told)


def _group_to_json(group: GroupTotals) -> dict[str, Any]:
    return {"key": group.key, "title": group.title, **dataclasses.asdict(group.totals)}


def _to_cells(title: str, totals: Totals) -> list[str]:
    return [tables.name_group(title), *tables.tell_sums(totals)]
