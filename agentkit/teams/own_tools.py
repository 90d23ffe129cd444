"""Tools of the user's own: functions in Python files that the settings name."""

from __future__ import annotations

import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from pathlib import Path
from types import ModuleType
from typing import Any

from agentkit.core import tools
from agentkit.errors import ConfigError, ExecutionError
from agentkit.teams.findings import FIND, SEARCH

LONGEST = 30_000
"""Characters of a result that a model is told."""
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
            name = tool.__name__
            is_known = name in _TAKEN or name in found
            if is_known:
                raise ConfigError(
                    f"AGENTKIT_TOOLS: {path} names a function {name}, which there is"
                    " already; rename it."
                )
            found[name] = tool
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
    made = [value for name, value in vars(module).items() if _is_tool(module, name, value)]
    if not made:
        raise ConfigError(f"AGENTKIT_TOOLS: {path} has no public function; define at least one.")
    for function in made:
        _check(path, function)
    return list(map(bound_result, made))


def _is_tool(module: ModuleType, name: str, value: object) -> bool:
    """Whether it is a public function that the module defines itself."""
    if not inspect.isfunction(value):
        return False
    if name.startswith("_"):
        return False
    return value.__module__ == module.__name__


def bound_result(function: Tool) -> Tool:
    """The function, whose result is told with its middle left out where it is far too long, and
    which cannot end the program.
    """
    if tools.is_async(function):

        @wraps(function)
        async def bounded_async(*args: Any, **kwargs: Any) -> Any:
            try:
                return _shorten(await function(*args, **kwargs))
            except SystemExit as error:
                raise _explain_exit(function, error) from error

        return bounded_async

    @wraps(function)
    def bounded(*args: Any, **kwargs: Any) -> Any:
        try:
            return _shorten(function(*args, **kwargs))
        except SystemExit as error:
            raise _explain_exit(function, error) from error

    return bounded


def _shorten(result: object) -> object:
    from agentkit.llm.calls.room import shorten  # loads what a search does not need

    text = tools.to_text(result)
    return result if len(text) <= LONGEST else shorten(text, LONGEST)


def _explain_exit(function: Tool, error: SystemExit) -> ExecutionError:
    return ExecutionError(f"{function.__name__} tried to end the program (SystemExit {error.code})")


def _import_file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"agentkit_tools_{path.stem}", path)
    if path.suffix != ".py" or spec is None or spec.loader is None:
        raise ConfigError(f"AGENTKIT_TOOLS: {path} is not a Python file; its name must end in .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for names in annotations
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
