"""What runs code looks like: blocks go in, one result comes out. The names are AutoGen's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol, runtime_checkable


@dataclass(slots=True)
class CodeBlock:
    """Code with its language, which is empty when nobody said."""

    code: str
    language: str


@dataclass(slots=True)
class CodeResult:
    """What running blocks gave: the exit code of the last one that ran, and all output so far,
    stderr included.
    """

    exit_code: int
    output: str

    def model_dump(self) -> dict[str, Any]:
        """The result as a dict."""
        return asdict(self)


@dataclass(slots=True)
class CommandLineCodeResult(CodeResult):
    """The result of an executor that writes each block into a file."""

    code_file: str | None = None
    """Path of the first file, None when no block was written."""


@dataclass(slots=True)
class IPythonCodeResult(CodeResult):
    """The result of a Jupyter kernel."""

    output_files: list[str]
    """Paths of pictures and HTML that the code produced."""


class CodeExtractor(Protocol):
    """Finds the blocks of code in a message."""

    def extract_code_blocks(self, message: str | list[dict[str, Any]] | None) -> list[CodeBlock]:
        """The blocks in order; empty when there are none."""


@runtime_checkable
class CodeExecutor(Protocol):
    """Runs code. A block that fails ends the run; what it wrote is in the result."""

    @property
    def code_extractor(self) -> CodeExtractor:
        """What finds the blocks that this executor understands."""

    def execute_code_blocks(self, code_blocks: Sequence[CodeBlock]) -> CodeResult:
        """Run the blocks in order until one fails.

        A timeout is a result with exit code 124, a file name outside of the working folder one with
        exit code 1. Raises ExecutionError when nothing can be run, Stopped with the output so far
        when the enclosing run is stopped (all processes are dead then).
        """

    def restart(self) -> None:
        """Forget all state."""
