"""Working folders that code has filled as it liked: walked and removed by descriptors, however
deep.

A path has at most 4,096 bytes and Python calls itself at most 1,000 times; folders can be nested
deeper than both. So each folder is opened from the one before it, and left through its `..`.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_MAY_LIST = stat.S_IRUSR | stat.S_IXUSR


class Level(NamedTuple):
    """A folder above the one where a walk is."""

    identity: tuple[int, int]
    name: str
    """The folder in it that the way goes through."""
    waiting: list[str]
    """The folders in it that are still to come."""


class Visit(NamedTuple):
    """One step of a walk."""

    here: int
    """A descriptor of a folder, open until the next step."""
    files: list[str]
    """What is in it besides folders, if it has just been entered: links, pipes and sockets too."""
    above: list[Level]
    """The folders above it, from the top, as they are until the next step."""
    left: str = ""
    """A folder in it that is done with; empty if this one has just been entered."""


def walk(top: Path) -> Iterator[Visit]:
    """Enter `top` and each folder below it, and come by again when one is done with.

    Two descriptors are open at most. Links are not followed. Folders that are shut against their
    own user are opened; those that cannot be entered are left out. Code may run meanwhile and move
    folders about:
    the walk goes on in what is still in its place. Raises OSError when `top` cannot be opened.
    """
    way = _Way(top)
    try:
        files, waiting = _list_folder(way.here)
        yield Visit(way.here, files, way.above)
        while waiting or way.above:
            if not waiting:
                left, waiting = way.up()
                yield Visit(way.here, [], way.above, left)
            elif way.down(waiting.pop(), waiting):
                files, waiting = _list_folder(way.here)
                yield Visit(way.here, files, way.above)
    finally:
        os.close(way.here)


def remove(top: Path) -> None:
    """Remove a folder and all below it, as far as the system lets us; no code may run in it any
    more.
    """
    if os.scandir not in os.supports_fd or os.rmdir not in os.supports_dir_fd:
        shutil.rmtree(top, ignore_errors=True)
        return
    with suppress(OSError):
        for here, files, _, left in walk(top):
            with suppress(OSError):
                os.fchmod(here, stat.S_IRWXU)
            for name in files:
                with suppress(OSError):
                    os.unlink(name, dir_fd=here)
            if left:
                with suppress(OSError):
                    os.rmdir(left, dir_fd=here)
        os.rmdir(top)


def hand_over(top: Path, user: int) -> None:
    """Give a folder and all below it to a user, which only root can; OSError where the system
    refuses.
    """
    for here, files, *_ in walk(top):
        os.chown(here, user, user)
        for name in files:
            os.chown(name, user, user, dir_fd=here, follow_symlinks=False)


def open_up(top: Path) -> None:
    """Let its own user into a folder again that code has shut."""
    mode = top.stat().st_mode
    if mode & stat.S_IRWXU != stat.S_IRWXU:
        top.chmod(stat.S_IMODE(mode) | stat.S_IRWXU)


class _Way:
    """Where a walk is, and how it came there."""

    def __init__(self, top: Path) -> None:
        self.here = _enter(str(top), None)
        self.above: list[Level] = []
        self._top = top

    def down(self, name: str, waiting: list[str]) -> bool:
        """Enter a folder, unless it has gone since or is not ours; `waiting` is kept for the way
        back.
        """
        try:
            inner = _enter(name, self.here)
        except OSError:
            return False
        self.above.append(Level(_identify(self.here), name, waiting))
        self._step(inner)
        return True

    def up(self) -> tuple[str, list[str]]:
        """Leave a folder for the one above it: which one was left, and what is still to come
        there.
        """
        outer = self._same("..", self.above[-1].identity)
        if outer is not None:
            self._step(outer)
        else:  # it was moved
            self._down_again()
        level = self.above.pop()
        return level.name, level.waiting

    def _down_again(self) -> None:
        """Go from the top to the lowest folder of the way that is still in its place."""
        self._step(_enter(str(self._top), None))
        for depth in range(1, len(self.above)):
            inner = self._same(self.above[depth - 1].name, self.above[depth].identity)
            if inner is None:
                del self.above[depth:]
                return
            self._step(inner)

    def _same(self, name: str, identity: tuple[int, int]) -> int | None:
        """Open a folder from here if it is still the one that it was."""
        try:
            opened = _enter(name, self.here)
        except OSError:
            return None
        if _identify(opened) == identity:
            return opened
        os.close(opened)
        return None

    def _step(self, folder: int) -> None:
        os.close(self.here)
        self.here = folder


def _enter(name: str, within: int | None) -> int:
    """Open a folder, also one that its own user may not list; links are refused but at the top."""
    flags = _FOLDER if within is None else _FOLDER | _NO_LINK
    try:
        opened = os.open(name, flags, dir_fd=within)
    except PermissionError:
        return _enter_shut(name, flags, within)
    mode = os.fstat(opened).st_mode
    if mode & _MAY_LIST != _MAY_LIST:
        with suppress(PermissionError):  # root may list it all the same
            os.fchmod(opened, stat.S_IMODE(mode) | _MAY_LIST)
    return opened


def _enter_shut(name: str, flags: int, within: int | None) -> int:
    if not hasattr(
        os, "O_PATH"
    ):  # nor is there a sandbox, whose code could put a link in its place
        os.chmod(name, stat.S_IRWXU, dir_fd=within)
        return os.open(name, flags, dir_fd=within)
    handle = os.open(name, flags | os.O_PATH, dir_fd=within)
    try:
        same = f"/proc/self/fd/{handle}"
        os.chmod(same, stat.S_IMODE(os.fstat(handle).st_mode) | _MAY_LIST)
        return os.open(same, _FOLDER)
    finally:
        os.close(handle)


def _list_folder(here: int) -> tuple[list[str], list[str]]:
    """Names of the files and the like, and names of the folders."""
    files: list[str] = []
    folders: list[str] = []
    with suppress(OSError), os.scandir(here) as entries:
        for entry in entries:
            (folders if entry.is_dir(follow_symlinks=False) else files).append(entry.name)
    return files, folders


def _identify(here: int) -> tuple[int, int]:
    status = os.fstat(here)
    return status.st_dev, status.st_ino
