"""A process that holds a data folder until its standard input ends: `python -m tests.api.holder`.

`AGENTKIT_DATA` names the folder; `EMBEDDING_DELAY_S` is how long every embedding takes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agentkit.api import Held
from agentkit.settings import load_settings
from tests.cli.program import SlowEmbedder

PROJECT = Path(__file__).resolve().parents[2]


@contextmanager
def holding(data: Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Such a process that has the folder; it is ended with the block, if it still lives."""
    with started("-m", "tests.api.holder", AGENTKIT_DATA=str(data), **environment) as process:
        assert process.stdout
        assert process.stdout.readline() == "up\n", process.communicate()[1]
        yield process


@contextmanager
def started(*arguments: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """A Python program in the project's folder; it is ended with the block, if it still lives."""
    process = subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=PROJECT,
        env={**os.environ, **environment},
    )
    with process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def main() -> None:
    """Hold the folder."""
    delay = float(os.environ.get("EMBEDDING_DELAY_S", "0"))
    held = Held(load_settings(), SlowEmbedder(delay))
    sys.stdout.write("up\n")
    sys.stdout.flush()
    sys.stdin.read()
    held.close()


if __name__ == "__main__":
    main()
