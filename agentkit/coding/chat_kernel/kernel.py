"""A kernel of one chat: cells run in it one after the other, and what they make is typed data."""

from __future__ import annotations

import importlib.util
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agentkit.coding.bubblewrap import Limits
from agentkit.coding.chat_kernel import container, made_files
from agentkit.coding.chat_kernel.following import EndReason, Gone, RunningKernel, check_code
from agentkit.coding.chat_kernel.made_files import MadeFile
from agentkit.coding.chat_kernel.outputs import Collector, Output, Variable, to_text
from agentkit.coding.chat_kernel.process import KernelProcess
from agentkit.coding.probe import bubblewrap_works, docker_works, how_to_isolate
from agentkit.coding.sandbox import check_folder
from agentkit.core import stopping
from agentkit.errors import ExecutionError, NoIsolation, Stopped

PACKAGES = ("pandas", "numpy", "matplotlib", "altair")
_NEEDED = ("ipykernel", "jupyter_client")
_LOOK_EVERY_S = 0.2
_KILL_EVERY_S = 0.02
_LIST_S = 10.0
_FILE_BYTES = 200 << 20
_WHY: dict[EndReason, str] = {
    "exited": "its process ended",
    "memory": "its processes used more than {0.memory_mb:,} MB of memory",
    "disk": "it wrote more than {0.file_mb:,} MB; what the cell made was removed",
    "timeout": "the cell took longer than {0.seconds:g} s and did not obey the interrupt",
    "flooded": "it put out more than can be taken",
    "runaway": "its processes multiplied faster than they could be halted",
    "stopped": "the run was stopped and the cell did not obey the interrupt",
    "least_used": "other chats needed its place, and it was the one not used for longest",
    "idle": "it was not used for a long time",
    "ended": "it was asked to end",
    "branch": "what it held belonged to another branch of the chat",
}

CellStatus = Literal["ok", "error", "timeout", "died"]


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether kernels can run here; true if so."""

    ok: bool
    reason: str = ""
    """Why not and what to do, for a person to read."""

    def __bool__(self) -> bool:
        return self.ok


@dataclass(frozen=True, slots=True)
class KernelEnd:
    """A kernel is gone, and its variables with it."""

    reason: EndReason
    why: str

    def __str__(self) -> str:
        return f"The kernel ended, and with it all variables: {self.why}."


@dataclass(frozen=True, slots=True)
class CellResult:
    """What became of a cell."""

    status: CellStatus
    """`timeout`: interrupted; `died`: the kernel is gone."""
    outputs: tuple[Output, ...]
    files: tuple[MadeFile, ...]
    """Those that it made or changed in the working folder."""
    seconds: float
    began_after: KernelEnd | None = None
    """Why the kernel before is gone, if this cell began with a new one."""
    end: KernelEnd | None = None
    """Why the kernel is gone now; None while it lives, also after a timeout that it obeyed."""

    @property
    def ok(self) -> bool:
        """Whether it ran to its end without an error."""
        return self.status == "ok"

    def text(self) -> str:
        """All of it for those who read text alone, such as models."""
        told: list[str] = []
        if self.began_after is not None:
            told.append(f"{self.began_after}\n")
        told += map(to_text, self.outputs)
        if self.status == "timeout":
            told.append(f"[interrupted after {self.seconds:.0f} s; variables are kept]\n")
        told += [f"[file: {file.name}, {file.bytes:,} bytes]\n" for file in self.files]
        if self.end is not None:
            told.append(f"{self.end}\n")
        return "".join(told)


def _find_status(ending: str, taken: Collector) -> CellStatus:
    """What became of a cell whose kernel lives."""
    if ending == "timeout":
        return "timeout"
    if taken.status == "ok":
        return "ok"
    return "error"


def is_available(in_container: bool | None = None) -> Availability:
    """Whether this machine can run kernels: in bubblewrap's sandboxes, in containers if
    `in_container`, or in what works here, if None.
    """
    if _choose_container(in_container):
        return _is_container_available()
    if missing := [name for name in _NEEDED if importlib.util.find_spec(name) is None]:
        return Availability(False, f"Kernels need: pip install {' '.join(missing)}")
    return Availability(True)


def _choose_container(in_container: bool | None) -> bool:
    if in_container is None:
        return not bubblewrap_works()
    return in_container


def _is_container_available() -> Availability:
    if not docker_works():
        return Availability(False, f"Kernels need bubblewrap or Docker.\n{how_to_isolate()}")
    obstacle = container.find_obstacle()
    return Availability(not obstacle, obstacle)


def find_packages() -> dict[str, bool]:
    """Which of the packages for data and plots code in a kernel can import."""
    return {name: importlib.util.find_spec(name) is not None for name in PACKAGES}


class ChatKernel:
    """A kernel that is started when it is needed, usable from any thread; who comes while a cell
    runs waits for its turn.

    Code sees the system and Python's packages to read, its folder as /workspace, a private /tmp,
    and nothing else: no network, no variable of ours, no other process. Between cells all its
    processes are halted. The folder and what is in it stays when the kernel ends.
    """

    def __init__(
        self,
        folder: Path | str,
        limits: Limits | None = None,
        in_container: bool | None = None,
    ) -> None:
        """`folder` is made when missing. The limits count for each cell: seconds, memory of all
        processes, processes, bytes of text; `file_mb` bounds the whole folder, or what is in it
        when the cell begins. `in_container` None: a container where bubblewrap does not work.
        Raises NoIsolation where kernels cannot run, WrongArgument for a folder with something
        precious.
        """
        if not (available := is_available(in_container)):
            raise NoIsolation(available.reason)
        self.folder = check_folder(Path(folder)).resolve()
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.limits = limits or Limits()
        contained = _choose_container(in_container)
        self._start = container.KernelContainer if contained else KernelProcess
        self.last_end: KernelEnd | None = None
        self._process: RunningKernel | None = None
        self._turn = threading.Lock()
        self._asked_to_end: EndReason | None = None
        self._closed = False

    @property
    def alive(self) -> bool:
        """Whether there is a kernel with variables."""
        return self._process is not None and self._process.alive

    def run_cell(self, code: str, on_output: Callable[[Output], None] | None = None) -> CellResult:
        """Run a cell, `on_output` gets each output as it comes.

        Whatever code does is a result. Raises Stopped with the output so far when the run is
        stopped (within a second; the state is kept if the cell obeys the interrupt), ExecutionError
        when no kernel can be started, WrongArgument for more than 1 MB of code.
        """
        check_code(code)
        with self._taking_turn():
            return self._run_cell(code, on_output)

    def run_cells(
        self, codes: Iterable[str], on_output: Callable[[Output], None] | None = None
    ) -> list[CellResult]:
        """Run cells in order; the first one that fails is the last one."""
        results: list[CellResult] = []
        for code in codes:
            results.append(self.run_cell(code, on_output))
            if not results[-1].ok:
                break
        return results

    def variables(self) -> tuple[Variable, ...]:
        """The names that cells have made and that are alive, at most 500, sorted; empty without a
        kernel.
        """
        with self._taking_turn():
            if not self.alive or self._process is None:
                return ()
            found = Collector(0)
            code = "__import__('IPython').get_ipython().show_variables()"
            try:
                self._process.run(code, found.take, _LIST_S, silent=True)
            except Gone as gone:
                self._note_end(gone.reason)
            return found.variables

    def read_file(self, name: str, most_bytes: int = _FILE_BYTES) -> bytes:
        """The content of a file that a cell made; no link is followed. Raises NotFound."""
        return made_files.read_file(self.folder, name, most_bytes)

    def end(self, reason: EndReason = "ended") -> None:
        """End the kernel, also in the middle of a cell; without one, do nothing."""
        self._asked_to_end = reason
        while not self._turn.acquire(timeout=_KILL_EVERY_S):
            if (running := self._process) is not None:
                running.kill()
        try:
            self._end_process(reason)
        finally:
            self._asked_to_end = None
            self._turn.release()

    def close(self) -> None:
        """End the kernel, and begin none any more."""
        self._closed = True
        self.end()

    def __enter__(self) -> ChatKernel:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    @contextmanager
    def _taking_turn(self) -> Iterator[None]:
        stopping.check()
        while not self._turn.acquire(timeout=_LOOK_EVERY_S):
            stopping.check()
        try:
            yield
        finally:
            self._turn.release()

    def _run_cell(self, code: str, on_output: Callable[[Output], None] | None) -> CellResult:
        process, began_after = self._ready()
        before = made_files.list_files(self.folder)
        taken = Collector(self.limits.output_bytes, on_output)
        began, end = time.monotonic(), None
        ending: str = "died"
        with stopping.keeping(taken.text):
            try:
                ending = process.run(code, taken.take, self.limits.seconds)
            except Gone as gone:
                end = self._note_end(gone.reason)
                ending = gone.reason
            if ending == "stopped":
                raise Stopped("stopped by the user while code was running")
        seconds = time.monotonic() - began
        after = made_files.list_files(self.folder)
        if ending == "disk":
            made_files.remove_files(self.folder, sorted(after.keys() - before.keys()))
            after = made_files.list_files(self.folder)
        files = made_files.compare(before, after)
        status = "died" if end else _find_status(ending, taken)
        return CellResult(status, taken.finish(), files, seconds, began_after, end)

    def _ready(self) -> tuple[RunningKernel, KernelEnd | None]:
        """The kernel, and why the one before is gone if this is a new one."""
        if self._process is not None and not self._process.alive:
            self._end_process("exited")
        if self._process is not None:
            return self._process, None
        if self._closed:
            raise ExecutionError("the kernel was closed, so no code runs in it any more.")
        self._process = self._start(self.folder, self.limits)
        last, self.last_end = self.last_end, None
        return self._process, last

    def _note_end(self, reason: EndReason) -> KernelEnd:
        self._end_process(self._asked_to_end or reason)
        assert self.last_end is not None
        return self.last_end

    def _end_process(self, reason: EndReason) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.end()
            self.last_end = KernelEnd(reason, _WHY[reason].format(self.limits))
