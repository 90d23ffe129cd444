"""Where things lie: the app with its samples, and the data folder unless another one is named."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_INSTALLED = _PACKAGE / "_app"
"""Where a wheel carries what stands beside the package in the project's folder."""

SHIPPED = _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parent
"""The folder with app.py, pages/, .streamlit/ and data/samples/."""


def data_folder() -> Path:
    """`data` in the working folder when agentkit runs from the project's folder.

    Installed, it is the place for programs' data in the user's home, the same from any folder.
    """
    if SHIPPED != _INSTALLED:
        return Path("data")
    with suppress(RuntimeError):  # nobody's home
        return _users_data() / "agentkit"
    return Path("data")


def _users_data() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    variable, usual = ("LOCALAPPDATA", "AppData/Local") if os.name == "nt" else _XDG
    named = Path(os.environ.get(variable, ""))
    if named.is_absolute():
        return named
    return Path.home() / usual


_XDG = ("XDG_DATA_HOME", ".local/share")
