"""`runs again`, beside the list of `runs`: a finished answer run again from one of its steps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentkit.cli.ask import tell_answer
from agentkit.cli.runs import find_run, find_step, runs
from agentkit.cli.store import open_workspace
from agentkit.core.given import pick_filled
from agentkit.errors import ConfigError
from agentkit.reasons import STOPPED

if TYPE_CHECKING:
    from agentkit.teams.repeating import Repeat
    from agentkit.workspace import Workspace

app = typer.Typer()
app.callback(invoke_without_command=True)(runs)
_LABEL = "#"
"""What the labels of a plan's steps begin with."""


@app.command()
def again(
    context: typer.Context,
    run: Annotated[str, typer.Argument(metavar="RUN", help="The id of a run.")],
    from_: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="STEP",
            help=(
                "From which step on things are done anew: a model's call, by its number in `trace`"
                " or its id, or a step of a plan, such as '#E2', which alone is done anew; by"
                " default the first call."
            ),
        ),
    ] = "",
    model: Annotated[str, typer.Option(help="Which model is asked from there on.")] = "",
    team: Annotated[
        str, typer.Option(help="Another setting of the team, such as group:round_robin.")
    ] = "",
    max_tokens: Annotated[
        int | None, typer.Option(min=1, help="Most tokens that the models may take.")
    ] = None,
    instructions: Annotated[
        str | None, typer.Option(help="What the agent of that call is told from there on.")
    ] = None,
    reply: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What that call is to have replied, in this file."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object at the end.")] = False,
) -> None:
    """Run a finished answer again from one of its steps, as an answer beside it.

    What was done before that step is taken over and costs nothing; what may change something is
    asked about, not done. `trace RUN --with OTHER` compares the two then.
    """
    text = _read_reply(reply)
    facts = {"model_id": model, "team_id": team, "max_tokens": max_tokens}
    given: Any = pick_filled(facts)
    with open_workspace(context) as workspace:
        owner = workspace.settings.owner
        found = find_run(workspace, run)
        repeat = _make_repeat(workspace, found.id, from_, instructions, text)
        begun = workspace.run_again(owner, repeat, **given)
        end = tell_answer(workspace, begun, team or found.team, as_json=as_json)
    if end == STOPPED:
        raise typer.Exit(130)


def _read_reply(file: Path | None) -> str | None:
    """The text of the file; raises ConfigError for one that cannot be read."""
    if file is None:
        return None
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The reply could not be read from {file}: {error}.") from error


def _make_repeat(
    workspace: Workspace, run_id: str, step: str, instructions: str | None, reply: str | None
) -> Repeat:
    """From where it is run again; raises NotFound and ConfigError for an unknown step."""
    from agentkit.teams.repeating import Repeat

    if step.startswith(_LABEL):
        return Repeat(run_id, label=step, reply=reply, instructions=instructions)
    number = 1
    if step:
        number = _find_number(workspace, run_id, step)
    return Repeat(run_id, number, reply=reply, instructions=instructions)


def _find_number(workspace: Workspace, run_id: str, step: str) -> int:
    """Which of its model calls the step is, counted from 1."""
    from operator import attrgetter

    from agentkit.ledger.trace import build_trace
    from agentkit.workspace.repeating import find_step as find_call

    recorded = workspace.figures.events(workspace.settings.owner, run_id)
    span = find_step(build_trace(recorded), run_id, step)
    if span.kind != "model":
        raise ConfigError(
            f"Step {step} of the run is not a call of a model; `python -m agentkit trace {run_id}`"
            " lists them."
        )
    return find_call(list(map(attrgetter("event"), recorded)), span.key)
