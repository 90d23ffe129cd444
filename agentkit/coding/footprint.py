"""What a sandbox uses at this moment, seen from outside: memory of all its processes, and disk.
Linux only.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from agentkit.coding import folders

_FEWEST_BYTES = 4096
"""What a file counts at least, so that a million empty ones are noticed too."""


def disk_bytes(folder: Path) -> int:
    """Bytes that the files below `folder` occupy; holes in them do not count."""
    total = 0
    with suppress(OSError):  # the folder itself has gone
        for here, files, left in folders.walk(folder):
            total += 0 if left else _FEWEST_BYTES
            total += sum(_occupied(name, here) for name in files)
    return total


def _occupied(name: str, here: int) -> int:
    try:
        return max(_FEWEST_BYTES, os.lstat(name, dir_fd=here).st_blocks * 512)
    except OSError:  # it has gone since
        return 0


def descendants(pid: int) -> list[int]:
    """The process and all that it started; those whose parent died belong to the sandbox's first
    process.
    """
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            children.setdefault(_parent(name), []).append(int(name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found


def _parent(pid: str) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except OSError:
        return 0


def threads_of(user: int) -> int:
    """How many threads this user runs at all."""
    count = 0
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == user:
                count += len(os.listdir(f"/proc/{name}/task"))
        except OSError:
            continue
    return count


def memory_bytes(pids: list[int], enough: int) -> int:
    """Memory of these processes. Shared pages are counted apart only when the quick sum is above
    `enough`.
    """
    quick = sum(map(_resident, pids))
    return quick if quick <= enough else sum(_proportional(pid) for pid in pids)


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def _proportional(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_bytes()
    except OSError:
        return _resident(pid)
    return sum(
        int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith(b"Pss:")
    )


def deleted_bytes(pids: list[int]) -> int:
    """Bytes of open files that no folder shows any more."""
    files = {
        (status.st_dev, status.st_ino): status.st_blocks * 512
        for pid in pids
        for status in _open_files(pid)
    }
    return sum(files.values())


def _open_files(pid: int) -> Iterator[os.stat_result]:
    try:
        names = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return
    for name in names:
        try:
            status = os.stat(f"/proc/{pid}/fd/{name}")
        except OSError:
            continue
        if status.st_nlink == 0:
            yield status
