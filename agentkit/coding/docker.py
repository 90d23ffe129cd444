"""Runs code in a container of Docker (or podman), which lives as long as the executor."""

from __future__ import annotations

import uuid
import weakref
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from agentkit.coding.command_line import CommandLineExecutor, make_folder
from agentkit.coding.engine import call, engine
from agentkit.coding.probe import without_docker
from agentkit.coding.process import TIMEOUT_EXIT_CODE, run_command
from agentkit.errors import ExecutionError, NoIsolation, Stopped

INSIDE = "/workspace"
"""Where the container sees the working folder."""
_FOR_EVER = ("-c", "exec tail -f /dev/null")
_START_S = 900.0  # a first start may have to fetch the image
_CALL_S = 60.0


class DockerCommandLineCodeExecutor(CommandLineExecutor):
    """Runs shell and Python blocks in one container, with the working folder as /workspace.

    The container has a network, as in AutoGen, so that code may install packages: what it reads it
    can send. Its user is the image's, root in most, and so are the files it makes. A timeout or a
    stop restarts the container: all that runs in it is dead then, files and installed packages
    stay. Works through the `docker` program, else `podman`.
    """

    def __init__(
        self,
        image: str = "python:3-slim",
        container_name: str | None = None,
        timeout: float = 60,
        work_dir: Path | str = Path(),
        bind_dir: Path | str | None = None,
        auto_remove: bool = True,
        stop_container: bool = True,
        execution_policies: Mapping[str, bool] | None = None,
    ) -> None:
        """Starts the container. `container_name` None makes one up; `bind_dir` is the path of
        `work_dir` for the Docker service where that is another (we run in a container too);
        `auto_remove` removes the container when it stops, `stop_container` stops it with this
        object or program. Raises NoIsolation without a service, ExecutionError when the container
        does not start, Stopped when the run is stopped meanwhile.
        """
        super().__init__(timeout, work_dir, execution_policies=execution_policies)
        program = engine()
        if program is None:
            raise NoIsolation(
                "No Docker (or podman) service answers, so code cannot run in a"
                f" container.\n{without_docker()}"
            )
        self._program = program
        self._name = container_name or f"agentkit-{uuid.uuid4().hex[:12]}"
        self._bind_dir = self.work_dir if bind_dir is None else make_folder(bind_dir)
        self._start(image, auto_remove)
        if stop_container:
            weakref.finalize(self, _stop, program, self._name)

    @property
    def bind_dir(self) -> Path:
        """The working folder as the Docker service sees it."""
        return self._bind_dir

    @property
    def container_name(self) -> str:
        """The container's name, for `docker logs` and the like."""
        return self._name

    def stop(self) -> None:
        """Stop the container; nothing happens to one that has gone."""
        _stop(self._program, self._name)

    def restart(self) -> None:
        """Restart the container: every process in it ends, files and installed packages stay."""
        super().restart()
        code, output = call(self._program, "restart", "-t", "0", self._name, seconds=_CALL_S)
        if code:
            raise ExecutionError(
                f"The container {self._name} does not restart: {output}. Make a new executor."
            )

    def __enter__(self) -> DockerCommandLineCodeExecutor:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _start(self, image: str, auto_remove: bool) -> None:
        options = [
            "--detach",
            "--init",
            "--name",
            self._name,
            "--entrypoint",
            "/bin/sh",
            "--workdir",
            INSIDE,
        ]
        options += [
            "--volume",
            f"{self._bind_dir.resolve()}:{INSIDE}",
            *(["--rm"] if auto_remove else []),
        ]
        try:
            code, output = run_command(
                [self._program, "run", *options, image, *_FOR_EVER],
                self.work_dir.resolve(),
                _START_S,
            )
        except Stopped:
            self.stop()  # it may have come up all the same
            raise
        if code == TIMEOUT_EXIT_CODE:
            self.stop()
        if code:
            raise ExecutionError(
                f"Failed to start container {self._name} from image {image}: {output.strip()}. See"
                " that the image's name is right and can be fetched, and that no other container"
                " has the name."
            )

    def _run(self, command: list[str], work_dir: Path, timeout: float) -> tuple[int, str]:
        called = [
            self._program,
            "exec",
            "--workdir",
            INSIDE,
            "--env",
            "PYTHONUNBUFFERED=1",
            self._name,
            *command,
        ]
        try:
            exit_code, output = run_command(called, work_dir, timeout)
        except Stopped:
            self.restart()
            raise
        if exit_code == TIMEOUT_EXIT_CODE:
            self.restart()
        elif exit_code and not self._runs():
            raise ExecutionError(
                f"The container {self._name} has gone: {output.strip()}. Make a new executor."
            )
        return exit_code, output

    def _runs(self) -> bool:
        return call(
            self._program, "inspect", "--format", "{{.State.Running}}", self._name, seconds=_CALL_S
        ) == (0, "true")

    def _path(self, file: Path) -> str:
        return f"{INSIDE}/{file.relative_to(self.work_dir.resolve()).as_posix()}"

    def _python(self) -> str:
        return "python"


def _stop(program: str, name: str) -> None:
    call(program, "stop", "-t", "1", name, seconds=_CALL_S)
