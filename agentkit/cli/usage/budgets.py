"""`budgets`: what may be spent, where that stands, and other budgets set or removed."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from agentkit.cli.output import Listing, count, dollars, note, put_json
from agentkit.cli.store import open_workspace
from agentkit.cli.usage.days import find_local_zone
from agentkit.errors import NotFound

if TYPE_CHECKING:
    from agentkit.ledger.bill.budgets import Budget
    from agentkit.ledger.bill.course import Course
    from agentkit.workspace import Workspace

app = typer.Typer(help="Set what may be spent, and see where that stands.", no_args_is_help=True)
_AS_JSON = typer.Option("--json", help="JSON instead of text.")
_COLUMNS = ("id", "of", "whose", "most", "used", "on course for", "warns at", "zone", "state")
_NUMBERS = ("most", "used", "on course for", "warns at")
_WHOSE = {True: "yours", False: "all together"}
"""By whether a budget has an owner."""


@app.command("list")
def list_budgets(
    context: typer.Context,
    history: Annotated[
        bool, typer.Option("--history", help="Also those that were replaced or removed.")
    ] = False,
    as_json: Annotated[bool, _AS_JSON] = False,
) -> None:
    """Show the budgets that hold for you, and where each stands."""
    with open_workspace(context) as workspace:
        owner = workspace.settings.owner
        stood = {one.standing.budget.id: one for one in workspace.budget_courses(owner)}
        budgets = workspace.bill.budgets.entries(owner)
        if history:
            known = workspace.bill.budgets.history()
            budgets = [one for one in known if one.owner in ("", owner)]
    rows = [_to_json(one, stood.get(one.id)) for one in budgets]
    listing = Listing(
        {"budgets": rows},
        _COLUMNS,
        list(map(_to_cells, rows)),
        "No budget is set: questions may take what they need.",
        _NUMBERS,
    )
    listing.put(as_json=as_json)


@app.command("set")
def set_budget(
    context: typer.Context,
    scope: Annotated[
        Literal["question", "chat", "day", "month"], typer.Argument(help="What it is for.")
    ],
    amount: Annotated[float, typer.Argument(help="What may be spent at most.")],
    unit: Annotated[
        Literal["dollars", "tokens"], typer.Option("--in", help="What the amount is in.")
    ] = "dollars",
    everybody: Annotated[
        bool, typer.Option("--everybody", help="Of all owners together, not of yours alone.")
    ] = False,
    warn_at: Annotated[
        int, typer.Option(min=1, max=100, help="From how many percent on it warns.")
    ] = 80,
    fixed: Annotated[
        bool, typer.Option("--fixed", help="A chat may not raise it for all chats.")
    ] = False,
    zone: Annotated[
        str, typer.Option(help="Time zone of its days and months; by default this machine's.")
    ] = "",
    as_json: Annotated[bool, _AS_JSON] = False,
) -> None:
    """Set a budget, in place of the one with the same scope, owner and unit."""
    from agentkit.ledger.bill.budgets import Budget

    place = zone or find_local_zone()
    with open_workspace(context) as workspace:
        owner = whose = workspace.settings.owner
        if everybody:
            whose = ""
        given = Budget(scope, unit, amount, whose, warn_at / 100, place, not fixed)
        kept = workspace.bill.budgets.enter(given, owner)
    if as_json:
        put_json(_to_json(kept, None))
        return
    note(f"{_tell_amount(unit, amount)} a {scope}: {kept.id}")


@app.command()
def remove(
    context: typer.Context,
    budget: Annotated[str, typer.Argument(metavar="ID", help="As `budgets list` names it.")],
) -> None:
    """Let a budget hold no more; it stays in the history."""
    with open_workspace(context) as workspace:
        found = _find(workspace, budget)
        workspace.bill.budgets.remove(found.id)
    note(f"Removed: {_tell_amount(found.unit, found.amount)} a {found.scope}.")


def _find(workspace: Workspace, budget_id: str) -> Budget:
    """One that holds for this owner; raises NotFound."""
    found = workspace.bill.budgets.find(budget_id)
    if found.owner not in ("", workspace.settings.owner):
        raise NotFound(f"The budget {budget_id!r} is of another owner.")
    return found


def _to_json(budget: Budget, course: Course | None) -> dict[str, Any]:
    told = dataclasses.asdict(budget)
    if course is None:
        return told | {"used": None, "forecast": None, "limit": budget.amount, "unpriced": 0}
    standing = course.standing
    return told | {
        "used": standing.used,
        "forecast": course.forecast,
        "limit": standing.limit,
        "unpriced": standing.unpriced,
    }


def _to_cells(row: dict[str, Any]) -> list[str]:
    unit = row["unit"]
    return [
        row["id"],
        f"a {row['scope']}",
        _WHOSE[bool(row["owner"])],
        _tell_amount(unit, row["amount"]),
        _tell_amount(unit, row["used"]),
        _tell_amount(unit, row["forecast"]),
        f"{row['warn_at']:.0%}",
        row["zone"],
        _tell_state(row),
    ]


def _tell_state(row: dict[str, Any]) -> str:
    if row["removed_at"]:
        return "removed"
    if row["may_raise"]:
        return "may be raised"
    return "fixed"


def _tell_amount(unit: str, value: float | None) -> str:
    if value is None:
        return ""
    if unit == "dollars":
        return dollars(value)
    return count(round(value), "token")
