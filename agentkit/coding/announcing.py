"""Code that was stopped while it ran is told like code that ended: with what it had put out."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from agentkit.core import bus
from agentkit.errors import Stopped
from agentkit.events import CodeRan

STOPPED_EXIT_CODE = 137
"""As of a shell whose program was killed."""


@contextmanager
def announce_stops(agent: str, language: str, code: str, executor: str) -> Iterator[None]:
    """Emit CodeRan when the run is stopped while the block runs this code."""
    began = time.monotonic()
    try:
        yield
    except Stopped as stopped:
        seconds = time.monotonic() - began
        bus.emit(
            CodeRan(
                agent, language, code, STOPPED_EXIT_CODE, stopped.output, executor, seconds, True
            )
        )
        raise
