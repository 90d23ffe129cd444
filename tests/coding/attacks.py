"""What code tries in order to get out, or to get more than it may have."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

SECRETS = ("/etc/shadow", "/etc/passwd", "/run", "/var", "/sys", "/root/.bashrc", "/boot")
"""What no code may see."""
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


def alive(mark: str) -> bool:
    """Whether a process has this in its command."""
    return mark.encode() in b"".join(_command(pid) for pid in os.listdir("/proc") if pid.isdigit())


def _command(pid: str) -> bytes:
    try:
        return Path("/proc", pid, "cmdline").read_bytes()
    except OSError:
        return b""
