"""The program that runs containers, Docker's or podman's, called on its command line."""

from __future__ import annotations

import shutil
import subprocess

_ANSWER_S = 10.0
_PROGRAMS = ("docker", "podman")


def engine() -> str | None:
    """Path of the first of `docker` and `podman` that is installed and whose service answers; None
    without one.
    """
    return next(
        (path for name in _PROGRAMS if (path := shutil.which(name)) and _answers(path)), None
    )


def call(program: str, *arguments: str, seconds: float | None = None) -> tuple[int, str]:
    """Exit code and output (stderr included) of one call; a call that takes longer than `seconds`
    gives 124.
    """
    try:
        done = subprocess.run(
            [program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=seconds,
            text=True,
            errors="replace",
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 124, f"{program} {arguments[0]} did not answer within {seconds:g} s"
    except OSError as error:
        return 127, f"{program} cannot be started: {error}"
    return done.returncode, done.stdout.strip()


def _answers(program: str) -> bool:
    return call(program, "info", seconds=_ANSWER_S)[0] == 0
