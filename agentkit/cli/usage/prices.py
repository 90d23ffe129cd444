"""`prices`: what models cost, prices of your own, and old calls priced anew."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from agentkit.cli.output import (
    count,
    dollars,
    note,
    put,
    put_json,
    put_table,
    tell_given,
)
from agentkit.cli.store import open_workspace
from agentkit.cli.usage.days import find_day, find_days, find_local_zone
from agentkit.core.given import coalesce

if TYPE_CHECKING:
    from agentkit.core.rates import Rates
    from agentkit.ledger.bill.own_prices import OwnPrice
    from agentkit.ledger.bill.repricing import Change, Repricing
    from agentkit.workspace.usage.pricing import PricedModel

app = typer.Typer(help="What models cost, and prices of your own.", no_args_is_help=True)
reprice_app = typer.Typer(help="Price old calls anew, or take that back.")
app.add_typer(reprice_app, name="reprice")
_AS_JSON = typer.Option("--json", help="JSON instead of text.")
_RATES = ("input", "output", "cache read", "cache write")
_STATES = {True: "in force", False: "removed"}
"""Of an own price, by whether it counts."""
_FROM = {
    "own": "your entry",
    "machine": "this machine",
    "list": "price list",
    "unknown": "unknown",
}


@app.command("list")
def list_prices(
    context: typer.Context,
    history: Annotated[
        bool, typer.Option("--history", help="Your own entries, also removed ones.")
    ] = False,
    as_json: Annotated[bool, _AS_JSON] = False,
) -> None:
    """Show what a million tokens of each model cost today, and your own prices."""
    with open_workspace(context) as workspace:
        book = workspace.bill.prices
        entries = book.history() if history else book.entries()
        models = workspace.list_prices(workspace.settings.owner)
    if as_json:
        put_json({"models": models, "own": entries})
        return
    if not models and not entries:
        note("No model has been connected or called that costs anything.")
        return
    put_table(("model", "server", "from", *_RATES), map(_to_cells, models), _RATES)
    note("US dollars for a million tokens, today. A price that is not known is never 0.")
    if entries:
        put("")
        columns = ("id", "server", "model", *_RATES, "first day", "last day", "state")
        put_table(columns, map(_to_own_cells, entries), _RATES)


@app.command("set")
def set_price(
    context: typer.Context,
    server: Annotated[
        str, typer.Argument(help="The host of a connection, or an id such as openai.")
    ],
    input_price: Annotated[
        float, typer.Option("--input", help="US dollars for a million tokens of input.")
    ],
    output_price: Annotated[
        float, typer.Option("--output", help="US dollars for a million tokens of output.")
    ],
    model: Annotated[str, typer.Option(help="One model; by default all of the server.")] = "",
    cache_read: Annotated[
        float | None, typer.Option(help="Of input from a cache; by default as input.")
    ] = None,
    cache_write: Annotated[
        float | None, typer.Option(help="Of input written into a cache; by default as input.")
    ] = None,
    first: Annotated[str, typer.Option("--from", metavar="DAY", help="The first day (UTC).")] = "",
    last: Annotated[str, typer.Option("--until", metavar="DAY", help="The last day (UTC).")] = "",
    as_json: Annotated[bool, _AS_JSON] = False,
) -> None:
    """Enter a price of your own, which counts before the price list from now on."""
    from agentkit.core.rates import Rates
    from agentkit.ledger.bill.own_prices import OwnPrice

    rates = Rates(
        input_price,
        output_price,
        coalesce(cache_read, input_price),
        coalesce(cache_write, input_price),
    )
    given = OwnPrice(server, model, rates, find_day(first), find_day(last))
    with open_workspace(context) as workspace:
        kept = workspace.bill.prices.enter(given)
    if as_json:
        put_json(kept)
        return
    note(f"{model or 'Every model'} at {server}: {kept.id}. Calls from now on have this price.")


@app.command()
def remove(
    context: typer.Context,
    price: Annotated[str, typer.Argument(metavar="ID", help="As `prices list` names it.")],
) -> None:
    """Let a price of your own count no more; it stays in the history."""
    with open_workspace(context) as workspace:
        workspace.bill.prices.remove(price)
    note("Removed. Calls keep the price that they had.")


@reprice_app.callback(invoke_without_command=True)
def reprice(
    context: typer.Context,
    since: Annotated[str, typer.Option(metavar="DAY", help="Only calls from this day on.")] = "",
    until: Annotated[str, typer.Option(metavar="DAY", help="Only calls until this day.")] = "",
    zone: Annotated[str, typer.Option(help="Time zone of the days.")] = "",
    apply: Annotated[
        bool, typer.Option("--apply", help="Change them; else it is only shown.")
    ] = False,
    as_json: Annotated[bool, _AS_JSON] = False,
) -> None:
    """Show what your old calls would cost at the prices of their days as they are known now."""
    if context.invoked_subcommand:
        return
    from agentkit.ledger.queries import CallFilter

    first, last = find_days(zone or find_local_zone(), None, since, until)
    made: Repricing | None = None
    with open_workspace(context) as workspace:
        calls = CallFilter(workspace.settings.owner, first, last)
        changes = workspace.find_price_changes(calls)
        if apply and changes:
            made = workspace.price_anew(calls)
    if as_json:
        put_json({"changes": changes, "made": made})
        return
    _put_changes(changes, made)


@reprice_app.command("list")
def list_repricings(context: typer.Context, as_json: Annotated[bool, _AS_JSON] = False) -> None:
    """Show the changes of prices that were made for your calls."""
    with open_workspace(context) as workspace:
        made = workspace.list_repricings(workspace.settings.owner)
    if as_json:
        put_json({"repricings": made})
        return
    columns = ("id", "when (UTC)", "calls", "before", "after", "state")
    put_table(columns, map(_to_repricing_cells, made), ("calls",))


@reprice_app.command()
def undo(
    context: typer.Context,
    repricing: Annotated[str, typer.Argument(metavar="ID", help="As `reprice list` names it.")],
) -> None:
    """Give the calls of a change what they cost before."""
    with open_workspace(context) as workspace:
        workspace.undo_pricing(workspace.settings.owner, repricing)
    note("Taken back.")


def _put_changes(changes: Sequence[Change], made: Repricing | None) -> None:
    if not changes:
        note("These calls have the prices of their days already.")
        return
    columns = ("model", "server", "calls", "cost now", "new cost")
    put_table(columns, map(_to_change_cells, changes), ("calls",))
    if made is None:
        note("Nothing was changed; --apply changes them.")
        return
    changed = count(made.calls, "call")
    note(f"{changed} changed; `prices reprice undo {made.id}` takes it back.")


def _to_change_cells(change: Change) -> list[str]:
    return [
        change.model,
        change.provider,
        f"{change.calls:,}",
        _tell_before(change),
        dollars(change.after),
    ]


def _tell_before(change: Change) -> str:
    if change.unknown == change.calls:
        return "unknown"
    return dollars(change.before, change.unknown)


def _to_cells(one: PricedModel) -> list[str]:
    origin = _FROM[one.origin]
    if one.since:
        origin = f"list, {one.since}"
    return [one.model, one.provider, origin, *_tell_rates(one.rates)]


def _to_own_cells(one: OwnPrice) -> list[str]:
    return [
        one.id,
        one.provider,
        one.model or "(every)",
        *_tell_rates(one.rates),
        tell_given(one.from_day),
        tell_given(one.until_day),
        _STATES[one.is_in_force],
    ]


def _tell_rates(rates: Rates | None) -> list[str]:
    if rates is None:
        return ["unknown", "", "", ""]
    return [f"${value:.3f}" for value in dataclasses.astuple(rates)]


def _to_repricing_cells(made: Repricing) -> list[str]:
    state = ""
    if made.undone_at:
        state = "taken back"
    return [
        made.id,
        f"{made.applied_at:%Y-%m-%d %H:%M}",
        f"{made.calls:,}",
        dollars(made.before),
        dollars(made.after),
        state,
    ]
