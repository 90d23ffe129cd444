"""`runs` and `trace`: what was done, how it ended, and each step of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from agentkit.cli.output import Listing, dollars, note, put, put_json, put_table
from agentkit.cli.store import open_workspace
from agentkit.core.given import find_first
from agentkit.errors import NotFound

if TYPE_CHECKING:
    from agentkit.ledger.comparing import Side
    from agentkit.ledger.queries import RunTotals
    from agentkit.ledger.spans import Span, Trace
    from agentkit.workspace import Workspace

_RUNS = ("started (UTC)", "kind", "title", "state", "seconds", "calls", "tokens", "cost", "run")
_STEPS = ("step", "what", "who", "after s", "took", "")
_MANY = Annotated[list[str], typer.Option(help="May be given several times.")]
_NONE: list[str] = []
_DAY = Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"], help="A day (UTC).")]


def runs(
    context: typer.Context,
    search: Annotated[str, typer.Option(help="Words of the question; or the id of a run.")] = "",
    state: _MANY = _NONE,
    kind: _MANY = _NONE,
    team: _MANY = _NONE,
    model: _MANY = _NONE,
    document: Annotated[
        str, typer.Option(help="The id of a document that it took in, found or cited.")
    ] = "",
    since: _DAY = None,
    until: _DAY = None,
    sort: Annotated[
        Literal["newest", "oldest", "longest", "dearest", "tokens"],
        typer.Option(help="Which come first."),
    ] = "newest",
    limit: Annotated[int, typer.Option(min=1, help="How many.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """List the runs (questions, ingests, index versions, measurements, transfers), how they ended
    and what they took.
    """
    from agentkit.ledger.run_list import RunFilter

    if context.invoked_subcommand:
        return
    if until is not None:
        until += timedelta(days=1)
    with open_workspace(context) as workspace:
        all_runs = RunFilter(workspace.settings.owner)
        chosen = dataclasses.replace(
            all_runs,
            words=search,
            states=tuple(state),
            kinds=tuple(kind),
            teams=tuple(team),
            models=tuple(model),
            since=since,
            until=until,
            document_id=document,
        )
        found = workspace.figures.find_runs(chosen, sort, limit)
    empty = "No run fits."
    if chosen == all_runs:
        empty = "Nothing was run yet."
    listing = Listing(
        {"runs": list(map(_run_to_json, found))},
        _RUNS,
        list(map(_run_to_cells, found)),
        empty,
        ("seconds", "calls", "tokens", "cost"),
    )
    listing.put(as_json=as_json)


def trace(
    context: typer.Context,
    run: Annotated[
        str, typer.Argument(metavar="[RUN]", help="The id of a run; by default the newest.")
    ] = "",
    step: Annotated[
        str, typer.Option(help="Only this step, by its number or the id of a call.")
    ] = "",
    beside: Annotated[
        str, typer.Option("--with", metavar="RUN", help="Compare it with this other run.")
    ] = "",
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object, with every event and request.")
    ] = False,
) -> None:
    """Show a run step by step: what happened within what, how long it took, and what it cost; or
    what differs in another run.
    """
    from agentkit.ledger.trace import build_trace

    if beside:
        _compare(context, run, beside, as_json=as_json)
        return
    with open_workspace(context) as workspace:
        found = find_run(workspace, run)
        whole = build_trace(workspace.figures.events(workspace.settings.owner, found.id))
    if step:
        put_json(_to_json(whole, found, [find_step(whole, found.id, step)]))
        return
    if as_json:
        put_json(_to_json(whole, found, whole.spans))
        return
    cells = [_step_to_cells(span, whole) for span in whole.spans]
    put_table(_STEPS, cells, numbers=("step", "after s"))
    put("* on the critical path: the run would have ended earlier, had this taken less time")
    _note_problems(whole)


def _compare(context: typer.Context, run: str, beside: str, *, as_json: bool) -> None:
    """Tell what differs in two runs."""
    from agentkit.ledger.comparing import Comparison
    from agentkit.ui.runs import differences

    with open_workspace(context) as workspace:
        found = Comparison(_read_side(workspace, run), _read_side(workspace, beside))
    if as_json:
        put_json(found.to_json())
        return
    put(differences.describe_beginning(found))
    for line in differences.list_lines(found):
        put(line)


def _read_side(workspace: Workspace, run_id: str) -> Side:
    from agentkit.ledger.sides import make_side

    found = find_run(workspace, run_id)
    return make_side(found, workspace.figures.events(workspace.settings.owner, found.id))


def find_run(workspace: Workspace, run_id: str) -> RunTotals:
    """The run of that id, or the newest; raises NotFound."""
    from agentkit.ledger.run_list import RunFilter

    owner = workspace.settings.owner
    known = workspace.figures.find_runs(RunFilter(owner, run_id), limit=10)
    found = find_first(known, lambda one: run_id in ("", one.id))
    if found is None:
        raise NotFound(f"There is no run {run_id!r}; `python -m agentkit runs` lists them.")
    return found


def find_step(whole: Trace, run_id: str, step: str) -> Span:
    """The step of that number, or of that call; raises NotFound."""
    found = whole.find(step)
    if found is None:
        listed = f"`python -m agentkit trace {run_id}` lists them"
        raise NotFound(f"The run {run_id!r} has no step {step!r}; {listed}.")
    return found


def _to_json(whole: Trace, run: RunTotals, spans: Sequence[Span]) -> dict[str, Any]:
    told = whole.to_json()
    wanted = {span.seq for span in spans}
    told["spans"] = [one for one in told["spans"] if one["seq"] in wanted]
    return {"run": _run_to_json(run), **told}


def _step_to_cells(span: Span, whole: Trace) -> list[str]:
    from agentkit.ui.runs import words

    name = " ".join(words.of_step(span, whole)[:100].split())
    return [
        str(span.seq),
        f"{'  ' * span.depth}{words.STEPS[span.kind]} {name}".rstrip(),
        span.lane,
        f"{span.start - whole.run.start:.2f}",
        words.describe_span(span),
        "*" if span.critical else "",
    ]


def _note_problems(whole: Trace) -> None:
    from agentkit.ui.runs import words

    for problem in whole.problems:
        note(f"odd: {words.of_problem(problem)}")


def _run_to_json(run: RunTotals) -> dict[str, Any]:
    told = dataclasses.asdict(run)
    told["started_at"] = f"{run.started_at.isoformat()}Z"
    if run.finished_at is not None:
        told["finished_at"] = f"{run.finished_at.isoformat()}Z"
    return told


def _run_to_cells(run: RunTotals) -> list[str]:
    state, seconds, cost = run.state, "", ""
    if run.reason:
        state += f": {run.reason}"
    if run.seconds is not None:
        seconds = f"{run.seconds:.1f}"
    if run.calls:
        cost = dollars(run.cost)
    return [
        f"{run.started_at:%Y-%m-%d %H:%M}",
        run.kind,
        run.title,
        state,
        seconds,
        f"{run.calls:,}",
        f"{run.tokens:,}",
        cost,
        run.id,
    ]
