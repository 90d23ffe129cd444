"""What can still be read of a database file, and saving that into a new one.

DuckDB reads in a child process, and never writes to the file: whatever damage does to it, the
program goes on.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from agentkit.database.failures import cannot_open
from agentkit.errors import DatabaseDamaged, StoreError

_ROOT = Path(__file__).resolve().parents[2]
_TIMEOUT_S = 900.0


@dataclass(frozen=True, slots=True)
class TableState:
    """A table, and how much of it can be read."""

    name: str
    rows: int | None
    """That there are; None when that is not known."""
    readable: int
    """Of these."""
    problem: str = ""
    """What DuckDB says of the rest; empty when there is none."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What is left of a database file."""

    tables: tuple[TableState, ...] = ()
    problem: str = ""
    """Why nothing at all can be read; empty when something can."""
    log_problem: str = ""
    """Why the log of the newest changes cannot be read. The tables are as they were without it."""

    @property
    def is_whole(self) -> bool:
        """Whether everything can be read."""
        problems = [self.problem, self.log_problem]
        problems += [one.problem for one in self.tables]
        return not any(problems)

    def readable(self, name: str) -> int:
        """How many rows of the table can be read."""
        return sum(one.readable for one in self.tables if one.name == name)


def survey(path: Path, *, timeout_s: float = _TIMEOUT_S) -> Survey:
    """Read all of the file; raises DatabaseInUse, and StoreError when it may not be read."""
    return _survey(path, [str(path)], timeout_s)


def rescue(path: Path, target: Path, *, timeout_s: float = _TIMEOUT_S) -> Survey:
    """Copy what can be read into a new file `target`; gives what that was.

    Raises DatabaseDamaged when nothing of use can be read, and what `survey` raises.
    """
    target.unlink(missing_ok=True)
    found = _survey(path, [str(path), str(target)], timeout_s)
    if found.problem or not found.readable("migrations"):
        target.unlink(missing_ok=True)
        why = found.problem or "which version's tables there are is lost"
        raise DatabaseDamaged(
            f"Nothing can be saved from {path} ({why}); restore it from a backup."
        )
    return found


def _survey(path: Path, arguments: list[str], timeout_s: float) -> Survey:
    said, end = _run(arguments, timeout_s)
    if said["refused"]:
        raise cannot_open(path, said["refused"][0])

    tables = [TableState(**one) for one in said["table"]]
    names: list[str] = list(chain.from_iterable(said["names"]))
    left = names[len(tables) :]  # what the reader did not come to
    if left:
        why = f"not read: {end}, at {left[0]}"
        tables += [TableState(name, None, 0, why) for name in left]

    if not names:
        said["problem"].append(end)
    problem = next(iter(said["problem"]), "")
    log_problem = next(iter(said["log"]), "")
    return Survey(tuple(tables), problem, log_problem)


def _run(arguments: list[str], timeout_s: float) -> tuple[dict[str, list[Any]], str]:
    """What the child said, by key, and how it ended if not well."""
    environment = {**os.environ, "PYTHONPATH": str(_ROOT), "PYTHONUTF8": "1"}
    command = [sys.executable, "-P", "-m", "agentkit.database.remains_child", *arguments]
    try:
        child = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True
        )
    except OSError as error:
        raise StoreError(f"No process could be started to read the database ({error}).") from error
    try:
        output, _ = child.communicate(timeout=timeout_s)
        end = f"the reader ended with {child.returncode}"
    except subprocess.TimeoutExpired:
        child.kill()
        output, _ = child.communicate()
        end = f"the reader was not done within {timeout_s:g} s"
    return _read_lines(output), end


def _read_lines(output: str) -> dict[str, list[Any]]:
    """By key, the values of all lines, each of which is a JSON object."""
    said: dict[str, list[Any]] = defaultdict(list)
    for line in output.splitlines():
        try:
            values = json.loads(line)
        except ValueError:  # the child was ended in the middle of it
            break
        for key, value in values.items():
            said[key].append(value)
    return said
