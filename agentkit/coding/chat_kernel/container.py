"""A kernel in a container of Docker or podman, for machines without bubblewrap, such as macOS."""

from __future__ import annotations

import contextlib
import os
import subprocess
import uuid
import weakref
from collections.abc import Sequence
from pathlib import Path

from agentkit.coding import folders as working_folders
from agentkit.coding import footprint
from agentkit.coding.bubblewrap import MIB, Limits
from agentkit.coding.chat_kernel import in_container, outputs
from agentkit.coding.chat_kernel.following import (
    FOR_EVER_S,
    HERE,
    INSIDE,
    OWN_PROCESSES,
    RESERVED_MB,
    EndReason,
    RunningKernel,
)
from agentkit.coding.engine import call, engine
from agentkit.core import confinement, seccomp
from agentkit.errors import ExecutionError

IMAGE = "quay.io/jupyter/scipy-notebook"
"""An image of the Jupyter project with Python, a kernel, pandas, numpy, matplotlib and altair."""
IMAGE_VARIABLE = "AGENTKIT_KERNEL_IMAGE"
_CALL_S = 60.0
_PROGRAMS = "/agentkit"
_CHILD = HERE.parent / "sandbox_child.py"
_FILES = (
    HERE / "in_container.py",
    HERE / "in_client.py",
    HERE / "in_kernel.py",
    Path(seccomp.__file__),
    _CHILD,
)
_EXIT_REASONS: dict[int, EndReason] = {
    in_container.OUT_OF_MEMORY: "memory",
    in_container.RUNAWAY: "runaway",
}
_ENVIRONMENT = {
    "HOME": "/tmp",
    "TMPDIR": "/tmp",
    "LANG": "C.UTF-8",
    "PYTHONUTF8": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PIP_RETRIES": "0",  # there is no network to wait for
    "OPENBLAS_NUM_THREADS": "1",  # each thread would take its share of the address space
    "OMP_NUM_THREADS": "1",
}


def image() -> str:
    """The image that kernels run in, `AGENTKIT_KERNEL_IMAGE` if that is set."""
    return os.environ.get(IMAGE_VARIABLE) or IMAGE


def find_obstacle() -> str:
    """Why kernels cannot run in containers here and what to do, for a person; empty if they can.

    The image is never fetched by itself: it is large, and the place that it comes from is the
    person's choice.
    """
    program = engine()
    if program is None:
        return "No Docker (or podman) service answers."
    if call(program, "image", "inspect", image(), seconds=_CALL_S)[0]:
        name = Path(program).name
        return (
            f"Docker works here, but the image of the kernels is missing: {name} pull {image()}\n"
            f"({IMAGE_VARIABLE} names another one, with Python, ipykernel and jupyter_client.)"
        )
    return ""


class KernelContainer(RunningKernel):
    """A kernel and its client in one container: no network, no rights, its own folder and /tmp.

    Its first process is the client, which halts all others between cells. It ends when our pipe to
    it does, so that nothing is left when this program dies.
    """

    def __init__(self, folder: Path, limits: Limits) -> None:
        """Start it with `folder` to work in; as root it becomes the folder of a user of its own.

        Raises ExecutionError when it does not start, Stopped when the run is stopped meanwhile.
        """
        super().__init__(folder, limits)
        self._deleted = 0
        program = engine()
        if program is None:
            raise ExecutionError(find_obstacle())
        self._program, self._name = program, f"agentkit-kernel-{uuid.uuid4().hex[:12]}"
        self._user = _prepare(folder)
        self._process = subprocess.Popen(
            [program, "run", *self._options(), image(), *self._command()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        self._remove = weakref.finalize(self, call, program, "kill", self._name, seconds=_CALL_S)
        try:
            self._wait_until_ready()
        except BaseException:
            self.end()
            raise

    def _options(self) -> list[str]:
        size = self._limits.file_mb
        space = f"rw,size={size}m,mode=1777"
        memory = f"{self._limits.memory_mb}m"
        options = ["--rm", "--interactive", "--name", self._name, "--network", "none"]
        options += ["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
        options += ["--memory", memory, "--memory-swap", memory, "--user", self._user]
        options += ["--pids-limit", str(self._limits.processes + OWN_PROCESSES)]
        options += ["--tmpfs", f"/tmp:{space}", "--tmpfs", "/sockets:rw,size=1m,mode=1777"]
        options += ["--volume", f"{self._folder.resolve()}:{INSIDE}", "--workdir", INSIDE]
        for file in _FILES:
            options += ["--volume", f"{file}:{_PROGRAMS}/{file.name}:ro"]
        for name, value in _ENVIRONMENT.items():
            options += ["--env", f"{name}={value}"]
        return [*options, "--hostname", "sandbox", "--entrypoint", "python"]

    def _command(self) -> list[str]:
        memory = (self._limits.memory_mb + RESERVED_MB) * MIB
        # The number of processes is the container's matter: here those of others would count too.
        figures = [-1, memory, self._limits.file_mb * MIB, FOR_EVER_S, FOR_EVER_S]
        limited = ["-I", "-S", f"{_PROGRAMS}/{_CHILD.name}", *map(str, figures)]
        program = ["python", "-I", "-B", "-X", "utf8", f"{_PROGRAMS}/in_container.py"]
        return [*limited, *program, self._kernel_options(), self._client_options()]

    @property
    def alive(self) -> bool:
        """Whether the container runs."""
        return not self._ended and self._process.poll() is None

    def _pipes(self) -> tuple[int, int]:
        assert self._process.stdin is not None  # both are pipes
        assert self._process.stdout is not None
        return self._process.stdin.fileno(), self._process.stdout.fileno()

    def _lives(self) -> Sequence[int]:
        return ()

    def _places(self) -> Sequence[Path]:
        return (self._folder,)

    def _why_gone(self) -> EndReason:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return _EXIT_REASONS.get(self._process.wait(_CALL_S), "exited")
        return "exited"

    def _find_excess(self, allowed: int) -> EndReason | None:
        """The memory is bounded by the container, which ends when it is full."""
        return "disk" if footprint.disk_bytes(self._folder) + self._deleted > allowed else None

    def _receive(self, end_it: bool = True) -> list[outputs.Line]:
        """The same, without what the container tells of files that are deleted and still open."""
        lines = super()._receive(end_it)
        told = [line for line in lines if line.get("kind") == "deleted"]
        for size in [line.get("bytes") for line in told]:
            if isinstance(size, int):
                self._deleted = size
        return [line for line in lines if line not in told]

    def _interrupt(self) -> None:
        call(self._program, "kill", "--signal", "INT", self._name, seconds=_CALL_S)

    def _halt(self) -> None:
        """The client has done it before it said that the cell is done."""

    def _resume(self) -> None:
        """The client does it when a cell comes."""

    def _read_last_words(self) -> str:
        self.kill()
        with contextlib.suppress(OSError, ValueError, subprocess.TimeoutExpired):
            _, said = self._process.communicate(timeout=_CALL_S)
            return said.decode("utf-8", "replace").strip()[-2000:]
        return ""

    def end(self) -> None:
        """Kill the container and all that runs in it; a second call does nothing."""
        with self._ending:
            if self._ended:
                return
            self._ended = True
            if self._process.poll() is None:
                self._remove()
            self._remove.detach()
            self._process.communicate()

    def kill(self) -> None:
        """Let it die from another thread than the one that asks it, which then calls `end`."""
        with self._ending:
            if not self._ended:
                call(self._program, "kill", self._name, seconds=_CALL_S)


def _prepare(folder: Path) -> str:
    """Let the container's user work in the folder; who that is, as Docker takes it.

    It is ours, so that its files are; for root, whom no container should have, another one.
    """
    user = confinement.find_unused_user()
    try:
        working_folders.open_up(folder)
        if user is not None:
            working_folders.hand_over(folder, user)
    except OSError as error:
        raise ExecutionError(
            f"a kernel cannot work in {str(folder)!r}: {error.strerror}."
        ) from error
    if user is None:
        return f"{os.getuid()}:{os.getgid()}"
    return f"{user}:{user}"
