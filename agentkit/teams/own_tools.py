"""Tools of the user's own: functions in Python files that the settings name."""

from __future__ import annotations

import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from agentkit.core import tools
from agentkit.errors import ConfigError
from agentkit.teams.findings import FIND, SEARCH

Tool = Callable[..., Any]
_TAKEN = frozenset({SEARCH, FIND, "read_result", "calculate", "todays_date"})


def load_tools(setting: str) -> Sequence[Tool]:
    """The public functions of the files, which are separated as in PATH; a file is run again when
    it has changed.

    Each needs a docstring, which models read, and type hints. Raises ConfigError for what cannot be
    used, with file and reason.
    """
    found: dict[str, Tool] = {}
    for part in filter(str.strip, setting.split(os.pathsep)):
        path = Path(part).expanduser()
        for tool in _read_file(path):
            if tool.__name__ in _TAKEN or tool.__name__ in found:
                raise ConfigError(
                    f"AGENTKIT_TOOLS: {path} names a function {tool.__name__}, which there is"
                    " already; rename it."
                )
            found[tool.__name__] = tool
    return list(found.values())


def _read_file(path: Path) -> Sequence[Tool]:
    try:
        changed = path.stat().st_mtime_ns
    except OSError as error:
        raise ConfigError(
            f"AGENTKIT_TOOLS: {path} cannot be read ({error.strerror}); name Python files with"
            " functions."
        ) from error
    return _load_file(path, changed)


@lru_cache(maxsize=32)
def _load_file(path: Path, changed: int) -> Sequence[Tool]:
    module = _import_file(path)
    made = []
    for name, value in vars(module).items():
        is_public = inspect.isfunction(value) and not name.startswith("_")
        if is_public and value.__module__ == module.__name__:
            made.append(value)
    if not made:
        raise ConfigError(f"AGENTKIT_TOOLS: {path} has no public function; define at least one.")
    for function in made:
        _check(path, function)
    return made


def _import_file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"agentkit_tools_{path.stem}", path)
    if path.suffix != ".py" or spec is None or spec.loader is None:
        raise ConfigError(f"AGENTKIT_TOOLS: {path} is no Python file; its name must end in .py.")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(
        spec
    )  # where dataclasses look for names in annotations
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise ConfigError(
            f"AGENTKIT_TOOLS: {path} cannot be run: {type(error).__name__}: {error}"
        ) from error
    return module


def _check(path: Path, function: Tool) -> None:
    if not inspect.getdoc(function):
        raise ConfigError(
            f"AGENTKIT_TOOLS: {function.__name__} in {path} needs a docstring: it tells the model"
            " what it does."
        )
    try:
        tools.function_schema(
            function, name=function.__name__, description=str(inspect.getdoc(function))
        )
        tools.effects_of(function)
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"AGENTKIT_TOOLS: {function.__name__} in {path} cannot be offered: {error}"
        ) from error
