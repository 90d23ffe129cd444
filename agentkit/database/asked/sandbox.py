"""A SELECT over Arrow files, answered in a child process that has nothing else: no database of
ours, no other file, no network, no environment, little memory, and an end.

DuckDB's own limits hold within the child; where one does not (a function over one huge list is
not interrupted), the child is killed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from agentkit.errors import SqlRefused, StoreError

Form = Literal["arrow", "csv", "json", "parquet"]
"""A stream of Arrow; CSV with a header; one JSON object a line; Parquet."""
_ROOT = Path(__file__).resolve().parents[3]
_CHILD = "agentkit.database.asked.child"
_START_S = 60.0
"""How long a busy machine may take to start Python; the time of the statement comes on top."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the answer to a statement may take."""

    seconds: float = 5.0
    memory_mb: int = 512
    threads: int = 2
    rows: int | None = 10_000
    """Rows of the result at most; None for all."""


@dataclass(frozen=True, slots=True)
class Written:
    """What was written of a result."""

    rows: int
    more: bool = False
    """Whether the result has more rows than were asked for."""


def answer(
    sql: str, tables: Mapping[str, BinaryIO], out: BinaryIO, form: Form, limits: Limits
) -> Written:
    """Write the result of a statement that was found to be a SELECT into an open file.

    `tables` are files in Arrow's file format by the names that the statement has for them. Raises
    SqlRefused when the statement fails or takes too much, and StoreError when no process starts.
    """
    asked = {"sql": sql, "form": form, "limits": asdict(limits)}
    asked["tables"] = {name: file.fileno() for name, file in tables.items()}
    child = _start(out, [file.fileno() for file in tables.values()])
    try:
        told, problem = child.communicate(json.dumps(asked).encode(), _START_S + limits.seconds)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        raise SqlRefused(_describe("late", "", limits)) from None
    return _read(told, problem, limits)


def _start(out: BinaryIO, inherited: list[int]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-P", "-W", "ignore", "-m", _CHILD, str(out.fileno())]
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[*inherited, out.fileno()],
            env={"PYTHONPATH": str(_ROOT), "PYTHONUTF8": "1", "PATH": os.defpath},
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        raise StoreError(f"No process could be started to answer SQL ({error}).") from error


def _read(told: bytes, problem: bytes, limits: Limits) -> Written:
    """What the child told at its end; a child that was killed told nothing."""
    try:
        said = json.loads(told)
    except ValueError:
        ended = problem.decode("utf-8", "replace").strip().rpartition("\n")[2]
        kind = "memory" if "MemoryError" in ended or "bad_alloc" in ended else "killed"
        raise SqlRefused(_describe(kind, ended, limits)) from None
    if "error" in said:
        raise SqlRefused(_describe(said["error"], said["detail"], limits))
    return Written(said["rows"], said["more"])


def _describe(kind: str, detail: str, limits: Limits) -> str:
    reasons = {
        "late": f"The SQL was stopped after {limits.seconds:g} s; narrow it, or sum up earlier.",
        "memory": f"The SQL needs more than {limits.memory_mb:,} MB of memory; narrow it.",
        "killed": (
            "The SQL was ended, as it took more time or memory than it may"
            f" ({limits.seconds:g} s, {limits.memory_mb:,} MB); narrow it."
        ),
    }
    return reasons.get(kind, f"The SQL cannot be answered: {detail}.")
