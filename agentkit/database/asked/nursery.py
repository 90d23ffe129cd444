"""The process that answers SELECTs has loaded its libraries once, and makes a copy of itself for
each statement, so that none sees anything of another: `python -m agentkit.database.asked.nursery
SOCKET`.

Over the socket come descriptors, each the end of a channel to whoever asks; a copy reads its
question there. It ends with whoever started it, as the socket is closed then.
"""

from __future__ import annotations

import os
import resource
import signal
import socket
import sys

import pyarrow

from agentkit.database.asked import child

_MOST = 64
"""Descriptors that come at once at most."""


def main() -> None:
    """Make a copy for each channel that comes, until there is nobody who could ask."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    pyarrow.set_cpu_count(1)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system takes the ended ones away
    with socket.socket(fileno=int(sys.argv[1])) as asked:
        while True:
            said, descriptors, _, _ = socket.recv_fds(asked, 1, _MOST)
            if not said:
                return
            for descriptor in descriptors:
                _begin(descriptor, asked)


def _begin(descriptor: int, asked: socket.socket) -> None:
    """Answer in a copy of this process what is asked over that channel."""
    if os.fork():
        os.close(descriptor)
        return
    asked.close()
    with socket.socket(fileno=descriptor) as channel:
        child.answer(channel)
    os._exit(0)  # what was interrupted need not be taken down in order


if __name__ == "__main__":
    main()
