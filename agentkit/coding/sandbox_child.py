"""The first program in the sandbox: it limits itself, gives up root, and becomes the command that
is to run.

Started as a file inside of the sandbox, where agentkit is not there to be imported:
`python sandbox_child.py USER MEMORY_BYTES FILE_BYTES PROCESSES CPU_SECONDS COMMAND...` (USER is -1
to stay who we are).
"""

from __future__ import annotations

import os
import resource
import sys

_FIRST = 1
"""The sandbox's own first process: it has the code's user unless we are root, so that code could
make it work beyond limits.
"""


def main() -> None:
    """Never returns: the process is the command then, or ends with 127 and a sentence when there is
    no such command.
    """
    user, memory, file_size, processes, seconds = map(int, sys.argv[1:6])
    command = sys.argv[6:]
    limits = (
        ("CORE", 0),
        ("FSIZE", file_size),
        ("NOFILE", 256),
        ("CPU", seconds),
        ("NPROC", processes),
        ("AS", memory),
    )
    for name, value in limits:
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        for process in (_FIRST, 0):
            resource.prlimit(process, kind, (value, value))
    if user >= 0:  # root is exempt from the limit of processes
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]} cannot be run in the sandbox: {error.strerror}\n".encode())
        os._exit(127)


if __name__ == "__main__":
    main()
