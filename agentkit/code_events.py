"""What can happen while agents run code: kinds of events, and what a kernel tells of a cell."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Cell:
    """A block of code that ran in its chat's kernel, and what became of it beside its text."""

    id: str
    status: str
    """`ok`, `error`, `timeout` (interrupted, the variables are kept), `stopped`, or `died`."""
    outputs: list[dict[str, Any]] = field(default_factory=list)
    """In order, each with its `kind`: `text`, `error`, `picture`, `table`, `chart`, `left_out`.

    What is large is `kept` with the chat under a name, and its content is not here.
    """
    files: list[dict[str, Any]] = field(default_factory=list)
    """Those that it made or changed: `name`, `bytes`, `changed`; `kept` if the chat has a copy."""
    variables: list[dict[str, Any]] = field(default_factory=list)
    """What was alive after it: `name`, `type`, `size`."""
    began_after: str = ""
    """Why the kernel before was gone, if it began with a new one: an `EndReason` of kernels, or
    `restarted` after a restart of the program.
    """
    ended: str = ""
    """Why the kernel was gone after it; empty where it lived on."""
    chat_id: str = ""
    """The chat that has the kernel, and keeps what is `kept`."""
    again: bool = False
    """Whether it is a cell of before that was run once more."""


@dataclass(frozen=True, slots=True)
class CodeBegan:
    """A cell begins to run."""

    cell_id: str
    agent: str
    language: str
    code: str
    chat_id: str = ""


@dataclass(frozen=True, slots=True)
class CodeOutput:
    """The next piece of what a cell puts out; shown, never stored: its end tells all of it."""

    cell_id: str
    agent: str
    output: dict[str, Any]
    """As in the outputs of a Cell."""


@dataclass(frozen=True, slots=True)
class CodeRan:
    """An agent ran a block of code."""

    agent: str
    language: str
    code: str
    exit_code: int
    output: str
    executor: str = ""
    seconds: float = 0.0
    stopped: bool = False
    """Whether it was killed because the run was stopped; the output is what there was by then."""
    cell: Cell | None = None
    """What its kernel tells of it; None where it ran in none."""
