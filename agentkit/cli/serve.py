"""`app`: serve the app in the browser."""

from __future__ import annotations

import os
import sys

import typer

from agentkit.errors import ConfigError
from agentkit.places import SHIPPED

ANY_OPTIONS = {"allow_extra_args": True, "ignore_unknown_options": True}


def app(context: typer.Context) -> None:
    """Serve the app, to this machine alone; options are those of `streamlit run`.

    For example `--server.port 8600`. Ends with Ctrl-C.
    """
    script = SHIPPED / "app.py"
    if not script.is_file():
        raise ConfigError(f"There is no {script}; install agentkit again.")
    # Not from this folder: what lies there must not be taken for a library.
    command = [sys.executable, "-P", "-m", "streamlit", "run", str(script), *context.args]
    os.execv(command[0], command)
