"""The command line: the same work as the app, for terminals and scripts.

Results go to stdout, everything else to stderr. Exit codes: 0 well, 1 something failed, 2 wrong
usage, 130 interrupted.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import typer
from typer.core import TyperGroup

from agentkit.cli import (
    again,
    ask,
    chats,
    doctor,
    evaluate,
    extract,
    figures,
    ingest,
    port,
    runs,
    search,
    serve,
    team_evaluations,
    teams,
    transfer,
)
from agentkit.cli.mcp import commands as mcp
from agentkit.cli.output import note, put_json, tolerate_any_character
from agentkit.cli.store import Opener, make_workspace
from agentkit.cli.usage import budgets, prices
from agentkit.errors import AgentkitError, Stopped
from agentkit.places import data_folder

COMMAND = "agentkit"
app = typer.Typer(
    help="Take documents in, search them, ask about them, and see what it cost.",
    epilog=f"AGENTKIT_DATA names the data folder (default: {data_folder()}).",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(context_settings=serve.ANY_OPTIONS)(serve.app)
app.command()(ingest.ingest)
app.command()(search.search)
app.command()(ask.ask)
app.command()(extract.extract)
app.command()(figures.usage)
app.add_typer(prices.app, name="prices")
app.add_typer(budgets.app, name="budgets")
app.add_typer(again.app, name="runs")
app.command()(runs.trace)
app.command("eval")(evaluate.evaluate)
app.command()(chats.export)
app.command("import")(chats.load)
app.add_typer(transfer.app, name="collection")
teams.app.command("eval")(team_evaluations.evaluate_team)
app.add_typer(teams.app, name="team")
app.add_typer(mcp.app, name="mcp")
app.command()(port.port)
app.command()(doctor.doctor)


def main(arguments: Sequence[str] | None = None, opener: Opener = make_workspace) -> int:
    """Run one command and return its exit code; `opener` makes the workspace from the settings."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    logging.getLogger("agentkit").addHandler(logging.NullHandler())  # errors are told below, once
    tolerate_any_character(sys.stdout, sys.stderr)
    try:
        _commands().main(given, prog_name=_find_program(), obj=opener)
    except SystemExit as end:  # how typer ends every command
        if isinstance(end.code, int):
            return end.code
        return 0
    except Stopped:
        note("Stopped. What was finished before is kept.")
        return 130
    except AgentkitError as error:
        note(f"Error: {error}")
        if "--json" in given:
            put_json({"error": str(error), "error_type": type(error).__name__})
        return 1
    return 0


@cache
def _commands() -> TyperGroup:
    """All commands with their options, which typer reads out of the functions' signatures."""
    return typer.main.get_group(app)


def _find_program() -> str:
    """What people type to get here: the installed command's name, or Python with the package's."""
    if Path(sys.argv[0]).stem == COMMAND:
        return COMMAND
    return f"python -m {COMMAND}"
