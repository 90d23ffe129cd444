"""Makes the peers' environments, and lets them and ours do the same in turns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, cast

from tests.bench.peers.catalogue import Side, Task
from tests.bench.peers.page import LeftOut, Measured, Taken

ROOT = Path(__file__).resolve().parents[3]
ENVIRONMENTS = ROOT / ".cache" / "peers"
CONSTRAINT = "torch==2.13.0"
"""The only torch that may be installed: another one brings gigabytes."""
MOST_S = 1_200
"""What takes longer is given up."""
QUIET = {"HF_HUB_OFFLINE": "1", "ANONYMIZED_TELEMETRY": "False", "TOKENIZERS_PARALLELISM": "true"}


class PeerFailed(Exception):
    """A peer could not be installed, or did not do what it was asked."""


def make_environment(name: str, pins: Sequence[str], root: Path = ENVIRONMENTS) -> Path:
    """The Python of an environment that has these packages; nothing is done when it is there.

    Raises PeerFailed when they cannot be installed.
    """
    folder, wanted = root / name, "\n".join([sys.version, *pins])
    python, note = folder / "bin" / "python", folder / "installed.txt"
    if note.is_file() and note.read_text(encoding="utf-8") == wanted:
        return python
    print(f"installing {', '.join(pins)} ...", flush=True)
    constraint = root / "constraint.txt"
    root.mkdir(parents=True, exist_ok=True)
    constraint.write_text(CONSTRAINT, encoding="utf-8")
    run([sys.executable, "-m", "venv", "--clear", str(folder)])
    run([str(python), "-m", "pip", "install", "-q", "-c", str(constraint), *pins])
    note.write_text(wanted, encoding="utf-8")
    return python


def run(command: Sequence[str]) -> None:
    """Raises PeerFailed with the last line that it said when it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise PeerFailed(last_line(done.stderr) or f"{command[0]} ended with {done.returncode}")


def last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


class Process:
    """A side that waits for what it is to do. Raises PeerFailed when it ends."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self._log = log
        environment = os.environ | QUIET | {"PROJECT_PYTHON": sys.executable}
        with log.open("w", encoding="utf-8") as errors:
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self.version = str(self._read()["version"])

    def do(self, work: str) -> dict[str, Any]:
        """Do it once: seconds of `wall` and `processor` time, and the `answer`."""
        asking = cast(IO[str], self._process.stdin)
        try:
            print(work, file=asking, flush=True)
        except OSError as error:
            raise PeerFailed(self._why()) from error
        return self._read()

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _read(self) -> dict[str, Any]:
        watch = threading.Timer(MOST_S, self._process.kill)
        watch.start()
        try:
            line = cast(IO[str], self._process.stdout).readline()
        finally:
            watch.cancel()
        if not line:
            raise PeerFailed(self._why())
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _why(self) -> str:
        self.close()
        said = last_line(self._log.read_text(encoding="utf-8", errors="replace"))
        return said or f"it ended with {self._process.returncode}"


def command_of(side: Side, folder: Path) -> list[str]:
    """How it is started, over the data in the folder; installs it before. Raises PeerFailed."""
    own = make_environment(side.environment, side.pins) if side.environment else sys.executable
    return [str(own), "-m", f"tests.bench.peers.sides.{side.module}", str(folder), *side.arguments]


class Group:
    """Tasks whose sides keep what they have made for one of them."""

    def __init__(
        self, folder: Path, command: Callable[[Side, Path], list[str]] = command_of
    ) -> None:
        self._folder, self._command = folder, command
        self._running: dict[Side, Process] = {}
        self._failed: dict[Side, str] = {}

    def __enter__(self) -> Group:
        return self

    def __exit__(self, *_: object) -> None:
        with ExitStack() as stack:
            for process in self._running.values():
                stack.callback(process.close)

    def measure(self, task: Task) -> tuple[list[Measured], list[LeftOut]]:
        """What each peer takes against ours in the same rounds, and which peers have failed."""
        sides = (task.ours, *task.peers)
        taken: dict[Side, list[Taken]] = {side: [] for side in sides}
        answers: dict[Side, Any] = {}
        for number in range(task.rounds + 1):
            for side in ordered(sides, number):
                if (done := self._try(task, side)) and number == 0:
                    answers[side] = done["answer"]  # the first time is not counted
                elif done:
                    taken[side].append(Taken(done["wall"], done["processor"]))
            print(f"{task.title}: {number} of {task.rounds} rounds", flush=True)
        if task.ours in self._failed:
            raise SystemExit(f"{task.title}: ours failed: {self._failed[task.ours]}")

        def judge(side: Side) -> str:
            return task.judge(self._folder, answers[side], answers[task.ours]) if task.judge else ""

        measured = [
            Measured(
                task,
                side,
                self._running[side].version,
                taken[task.ours],
                taken[side],
                judge(task.ours),
                judge(side),
            )
            for side in task.peers
            if side not in self._failed
        ]
        failed = [(side, self._failed[side]) for side in task.peers if side in self._failed]
        return measured, [LeftOut(task, side, why) for side, why in failed]

    def _try(self, task: Task, side: Side) -> dict[str, Any] | None:
        """None when the side has failed, now or before."""
        if side in self._failed:
            return None
        try:
            return self._process(side).do(task.name)
        except PeerFailed as error:
            self._failed[side] = str(error)
            return None

    def _process(self, side: Side) -> Process:
        if side not in self._running:
            command = self._command(side, self._folder)
            self._running[side] = Process(command, self._folder / f"{len(self._running)}.log")
        return self._running[side]


def ordered(sides: Sequence[Side], number: int) -> Iterable[Side]:
    """Forwards, then backwards: who is first in one round is last in the next."""
    return sides if number % 2 == 0 else reversed(sides)


def measure_all(
    groups: Iterable[Sequence[Task]], folder: Path
) -> tuple[list[Measured], list[LeftOut]]:
    measured, left_out = [], []
    for tasks in groups:
        with Group(folder) as group:
            for task in tasks:
                some, failed = group.measure(task)
                measured += some
                left_out += failed
    return measured, left_out
