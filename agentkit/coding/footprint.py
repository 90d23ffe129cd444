"""What a sandbox uses at this moment, seen from outside: memory of all its processes, and disk.
Linux only.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path

from agentkit.coding import folders

_PROC = Path("/proc")
_PSS = re.compile(rb"^Pss:\s+(\d+)", re.MULTILINE)
_BLOCK_BYTES = 512
"""What `st_blocks` counts in, on any file system."""
_FEWEST_BYTES = 4096
"""What a file counts at least, so that a million empty ones are noticed too."""


def disk_bytes(folder: Path) -> int:
    """Bytes that the files below `folder` occupy; holes in them do not count."""
    total = 0
    with suppress(OSError):  # the folder itself has gone
        for here, files, _, left in folders.walk(folder):
            if not left:
                total += _FEWEST_BYTES
            for name in files:
                with suppress(OSError):  # it has gone since
                    occupied = os.lstat(name, dir_fd=here).st_blocks * _BLOCK_BYTES
                    total += max(_FEWEST_BYTES, occupied)
    return total


def descendants(pid: int) -> list[int]:
    """The process and all that it started; those whose parent died belong to the sandbox's first
    process.
    """
    return list(read_states(pid))


def read_states(pid: int) -> dict[int, str]:
    """The same, each with the letter of its state (proc_pid_stat(5)); X for one that has gone."""
    children: dict[int, list[int]] = {}
    states: dict[int, str] = {}
    for folder in _PROC.glob("[0-9]*"):
        with suppress(OSError):
            # The name of the program, in parentheses, may itself hold parentheses.
            state, parent = (folder / "stat").read_bytes().rpartition(b")")[2].split()[:2]
            children.setdefault(int(parent), []).append(int(folder.name))
            states[int(folder.name)] = state.decode()
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return {one: states.get(one, "X") for one in found}


def threads_of(user: int) -> int:
    """How many threads this user runs at all."""
    count = 0
    for folder in _PROC.glob("[0-9]*"):
        with suppress(OSError):
            if folder.stat().st_uid == user:
                count += len(os.listdir(folder / "task"))
    return count


def memory_bytes(pids: list[int], enough: int) -> int:
    """Memory of these processes. Shared pages are counted apart only when the quick sum is above
    `enough`.
    """
    quick = sum(map(_count_resident, pids))
    if quick <= enough:
        return quick
    return sum(map(_count_proportional, pids))


def _count_resident(pid: int) -> int:
    """Bytes of memory of a process, shared pages too; 0 for one that has ended."""
    try:
        pages = (_PROC / str(pid) / "statm").read_bytes().split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _count_proportional(pid: int) -> int:
    """The same, each shared page divided among those who share it, where the system tells that."""
    try:
        text = (_PROC / str(pid) / "smaps_rollup").read_bytes()
    except OSError:
        return _count_resident(pid)
    return sum(map(int, _PSS.findall(text))) * 1024


def count_deleted_bytes(pids: list[int]) -> int:
    """Bytes of open files that no folder shows any more."""
    files = {}
    for status in chain.from_iterable(map(_find_deleted, pids)):
        files[status.st_dev, status.st_ino] = status.st_blocks * _BLOCK_BYTES
    return sum(files.values())


def _find_deleted(pid: int) -> Iterator[os.stat_result]:
    """The open files of a process that no folder shows any more."""
    with suppress(OSError):
        for file in (_PROC / str(pid) / "fd").iterdir():
            with suppress(OSError):
                status = file.stat()
                if status.st_nlink == 0:
                    yield status
