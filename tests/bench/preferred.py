"""Going first for a moment, so that the wall time is about that of an idle machine.

Linux shares the processors out among sessions: a bench that is started by `setsid` (and by root) is
a group of its own, which may go before all others. Only for seconds: everybody else waits.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_GROUP, _FIRST, _AS_OTHERS = Path("/proc/self/autogroup"), "-20", "0"
_WAITED = Path("/proc/thread-self/schedstat")


@contextmanager
def preferred() -> Iterator[None]:
    """While the block runs this process goes first, where it may."""
    with suppress(OSError):
        _GROUP.write_text(_FIRST, encoding="ascii")
    try:
        yield
    finally:
        with suppress(OSError):
            _GROUP.write_text(_AS_OTHERS, encoding="ascii")
        time.sleep(0.5)  # the others go on


def waited_ms() -> float:
    """Milliseconds that this thread was ready and had no processor; 0 where nobody says so."""
    if not _WAITED.is_file():
        return 0.0
    return int(_WAITED.read_text(encoding="ascii").split()[1]) / 1e6
