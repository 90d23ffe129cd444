"""Runs code in a bubblewrap sandbox on this machine: no network, nothing to see but the system and
Python, hard limits.
"""

from __future__ import annotations

import os
import sys
import tempfile
import weakref
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from agentkit.coding import bubblewrap, folders
from agentkit.coding.base import CodeBlock
from agentkit.coding.command_line import CommandLineExecutor
from agentkit.coding.functions import Function
from agentkit.coding.probe import bubblewrap_works, without_bubblewrap
from agentkit.coding.process import OUTPUT_BYTES
from agentkit.core import confinement
from agentkit.errors import ExecutionError, NoIsolation, WrongArgument

_OURS = Path(__file__).resolve().parents[2]


class SandboxCommandLineCodeExecutor(CommandLineExecutor):
    """Runs shell and Python blocks in a sandbox that ends with the block.

    Code sees the system and the installed Python packages, read-only, and the working folder, which
    alone it can write to besides a private /tmp. It sees no network, home, other process, or
    environment variable of ours. Timeout gives exit code 124; too much memory or disk 137, or an
    error inside of the code. Installing packages fails: there is no network.

    As root, code runs as a user of its own. A working folder that was there before is handed to
    that user, what is in it stays as it was.
    """

    _remove: weakref.finalize[[Path], SandboxCommandLineCodeExecutor] | None = None

    def __init__(
        self,
        timeout: float = 60,
        work_dir: Path | str | None = None,
        memory_mb: int = 1024,
        processes: int = 64,
        output_bytes: int = OUTPUT_BYTES,
        file_mb: int = 100,
        functions: Sequence[Function] = (),
        functions_module: str = "functions",
    ) -> None:
        """`work_dir` None is a temporary folder, removed with this object. Of each block:
        `memory_mb` is what all its processes may take together, `processes` how many there may be
        (threads count), `output_bytes` what is kept of its output, `file_mb` what it may add to the
        folder. Raises WrongArgument, and NoIsolation where no sandbox works.
        """
        if not bubblewrap_works():
            raise NoIsolation(f"bubblewrap makes no sandbox here.\n{without_bubblewrap()}")
        for name, value in (
            ("memory_mb", memory_mb),
            ("processes", processes),
            ("output_bytes", output_bytes),
            ("file_mb", file_mb),
        ):
            if value < 1:
                raise WrongArgument(f"{name}={value!r}: at least 1 is needed to run anything.")
        folder = Path(
            self._temporary_folder() if work_dir is None else check_folder(Path(work_dir))
        )
        self._ours = work_dir is None or not folder.exists()
        super().__init__(timeout, folder, functions, functions_module)
        self._memory_mb, self._processes = memory_mb, processes
        self._output_bytes, self._file_mb = output_bytes, file_mb
        self._user = confinement.find_unused_user()

    def _temporary_folder(self) -> str:
        folder = tempfile.mkdtemp(prefix="agentkit-")
        self._remove = weakref.finalize(self, folders.remove, Path(folder))
        return folder

    def stop(self) -> None:
        """Remove the temporary folder; a given one stays."""
        if self._remove is not None:
            self._remove()

    def _begin(self, code_blocks: Sequence[CodeBlock]) -> None:
        super()._begin(code_blocks)
        with suppress(OSError):  # what follows says what is wrong with the folder
            folders.open_up(self._work_dir)

    def __enter__(self) -> SandboxCommandLineCodeExecutor:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _run(self, command: list[str], work_dir: Path, timeout: float) -> tuple[int, str]:
        if self._user is not None:
            _hand_over(work_dir, self._user, whole=self._ours)
        limits = bubblewrap.Limits(
            timeout, self._memory_mb, self._processes, self._output_bytes, self._file_mb
        )
        return bubblewrap.run(command, work_dir, limits, self._user)


def check_folder(folder: Path) -> Path:
    """The folder, unless code that could write to it would own this machine's user or this program;
    raises WrongArgument then.
    """
    whole = folder.resolve()
    for precious in (Path.home(), _OURS, Path(sys.prefix)):
        if precious.is_relative_to(whole):
            raise WrongArgument(
                f"work_dir={str(folder)!r} holds {precious}, which code must not change; name a"
                " folder of its own."
            )
    return folder


def _hand_over(folder: Path, user: int, *, whole: bool) -> None:
    """Make the folder the sandbox's user's. Nothing of the sandbox runs meanwhile, and links are
    not followed.
    """
    try:
        if whole:
            folders.hand_over(folder, user)
        else:
            os.chown(folder, user, user)
    except OSError as error:
        raise ExecutionError(
            f"the folder {str(folder)!r} cannot be handed to the user of the sandbox:"
            f" {error.strerror}. Name another one as work_dir."
        ) from error
