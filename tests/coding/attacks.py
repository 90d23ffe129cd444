"""What code tries in order to get out, or to get more than it may have."""

from __future__ import annotations

import os
import platform
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agentkit.core import seccomp

filtered = pytest.mark.skipif(
    seccomp.filter_program() is None, reason="system calls are filtered on x86_64 and aarch64 only"
)

SECRETS = ("/etc/shadow", "/etc/passwd", "/run", "/var", "/sys", "/root/.bashrc", "/boot")
"""What no code may see."""
OF_CONTAINERS = ("/etc/passwd", "/run", "/var", "/sys")
"""What of it there is in each container, made by the engine: nothing of this machine is in it."""
OUTSIDE = ("/", "/usr", "/etc", "/dev", "/proc", "/usr/bin", sys.prefix, sys.base_prefix)
"""Folders that no code may write to."""
_KEYCTL = 250 if platform.machine() == "x86_64" else 219
KEYRING = (
    f"import ctypes\nc = ctypes.CDLL(None, use_errno=True)\nprint(c.syscall({_KEYCTL}, 0, -3,"
    " 1), ctypes.get_errno())"
)
SHARED_MEMORY = (
    "import ctypes\nc = ctypes.CDLL(None, use_errno=True)\n"
    "print([(c.shmget(0, 4096, 0o1600), c.semget(0, 9, 0o1600), c.msgget(0, 0o1600)),"
    " ctypes.get_errno()])"
)
NASTY = {
    "long path": (
        "for i in range(30):\n    os.mkdir('n' * 250); os.chdir('n' * 250)\nopen('x',"
        " 'w').write('x')"
    ),
    "deep": "for i in range(2_500):\n    os.mkdir('d'); os.chdir('d')\nopen('x', 'w').write('x')",
    "shut": (
        "os.makedirs('a/b'); os.mkdir('a/b/c', 0); os.chmod('a/b', 0); os.chmod('a', 0);"
        " os.chmod('.', 0)"
    ),
    "many": "os.mkdir('m'); os.chdir('m')\nfor i in range(2_000):\n    open(str(i), 'w').close()",
    "links": (
        "os.symlink('.', 'self'); os.symlink('b', 'a'); os.symlink('a', 'b'); os.symlink('/',"
        " 'root')"
    ),
    "pipes": (
        "os.mkfifo('pipe'); os.mkfifo('functions.py'); os.mkdir(b'\\xff\\n');"
        " open(b'\\xff\\n/\\xfe', 'w').close()"
    ),
}
"""What code may leave in its folder."""


@contextmanager
def connections() -> Iterator[list[str]]:
    """Ways to a server that listens on this machine meanwhile, to another one, and to a name."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        socket.create_connection(("127.0.0.1", port)).close()
        yield [
            f"__import__('socket').create_connection(('127.0.0.1', {port}), 2)",
            "__import__('socket').create_connection(('1.1.1.1', 53), 2)",
            "__import__('socket').getaddrinfo('example.com', 80)",
        ]


def alive(mark: str) -> bool:
    """Whether a process has this in its command."""
    return mark.encode() in b"".join(_command(pid) for pid in os.listdir("/proc") if pid.isdigit())


def _command(pid: str) -> bytes:
    try:
        return Path("/proc", pid, "cmdline").read_bytes()
    except OSError:
        return b""
