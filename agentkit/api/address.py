"""Who holds a data folder, and where that process is reached: the file `socket.json` in the folder.

The holder keeps this file locked as long as it lives, from before it opens the database until
after it has closed it; the kernel lets go of the lock when the process dies, however it dies. What
stands in the file is where the holder listens. It is believed only if somebody answers there.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import struct
import sys
import tempfile
import weakref
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from agentkit.core.given import join_filled
from agentkit.errors import DatabaseInUse, StoreError

API = 1
"""Version of the API that this program speaks; it changes when older clients cannot be served."""
_PREFIX = "agentkit-"
_LONGEST = 100  # of a socket's path in bytes: macOS takes 103, Linux 107


@dataclass(frozen=True, slots=True)
class Address:
    """Where the holder of a data folder is reached."""

    api: int
    pid: int
    socket: str


def read(folder: Path) -> Address | None:
    """What the folder says about its holder, dead or alive; None when it says nothing."""
    try:
        return Address(**json.loads(_file(folder).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):  # it is not there, or being written just now
        return None


def peer_uid(connected: socket.socket) -> int:
    """The user of the process at the other end of a Unix socket."""
    if sys.platform == "darwin":
        local, credentials = 0, 1  # SOL_LOCAL, LOCAL_PEERCRED; a struct xucred: version, user, ...
        uid: int = struct.unpack("2I", connected.getsockopt(local, credentials, 8))[1]
        return uid
    found = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, uid, _ = struct.unpack("3i", found)
    return int(uid)


class Taken(DatabaseInUse):
    """Another process of ours has the hold; it serves, or will in a moment, or is just ending."""


class Claim:
    """The hold of this process on a data folder; `release` it after the database is closed."""

    def __init__(self, folder: Path) -> None:
        """Take the hold; raises Taken when another process has it, and StoreError."""
        self._folder = folder
        self._listening: socket.socket | None = None
        self._socket: Path | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(_file(folder), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            why = f"The data folder {folder} cannot be used ({error.strerror})"
            raise StoreError(f"{why}; choose another with AGENTKIT_DATA.") from error
        self._take_lock()
        _claims.add(self)

    def listen(self) -> socket.socket:
        """A listening socket that the folder names from now on; raises StoreError."""
        if (left := read(self._folder)) is not None:
            _remove(Path(left.socket))  # its process is dead, else it had the lock
        try:
            self._socket = _short_path()
            self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._listening.bind(str(self._socket))
            self._listening.listen(64)
        except OSError as error:
            why = f"No socket can be made for other commands ({error})"
            raise StoreError(f"{why}; check the folder for temporary files, TMPDIR.") from error
        self._write(str(self._socket))
        return self._listening

    def hide(self) -> None:
        """Nobody is led to the socket any more; the hold stays."""
        if self._socket is not None:
            self._write("")
            _remove(self._socket)
            self._socket = None

    def release(self) -> None:
        """End the hold; another process may take it."""
        self.hide()
        self.let_go()

    def _take_lock(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            holder = read(self._folder)
            by = f"process {holder.pid}" if holder else "another process"
            raise Taken(
                f"The data folder {self._folder} is in use by {by} (the app, or another command)."
                " Stop that one first, or set AGENTKIT_DATA to another folder."
            ) from None
        except OSError:
            return  # a file system without such locks: the database's own one decides

    def _write(self, path: str) -> None:
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, json.dumps(asdict(Address(API, os.getpid(), path))).encode(), 0)

    def let_go(self) -> None:
        """Close what is open here, and leave the file and the socket as they are."""
        _claims.discard(self)
        lock, self._lock = self._lock, -1
        if self._listening is not None:
            self._listening.close()
        if lock >= 0:
            os.close(lock)


_claims: weakref.WeakSet[Claim] = weakref.WeakSet()


def _let_go_of_all() -> None:
    for claim in list(_claims):
        claim.let_go()


# The child of a fork has copies of lock and socket: they would outlive this process and look like
# it, to whoever waits for the lock or an answer.
os.register_at_fork(after_in_child=_let_go_of_all)


def _remove(path: Path) -> None:
    """Remove a socket with the folder around it, provided that they look like ours."""
    with suppress(OSError):
        ours = path.parent.lstat().st_uid == os.geteuid()
        if ours and path.parent.name.startswith(_PREFIX):
            path.unlink(missing_ok=True)
            path.parent.rmdir()


def _file(folder: Path) -> Path:
    return folder / "socket.json"


def _short_path() -> Path:
    """Where a socket may lie: in a new folder that only this user can enter."""
    places = [os.environ.get("XDG_RUNTIME_DIR", ""), tempfile.gettempdir(), "/tmp"]
    for place in filter(_usable, places):
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place))  # mode 0700
        if len(os.fsencode(folder)) + 2 <= _LONGEST:
            return folder / "s"
        folder.rmdir()
    tried = join_filled(", ", places)
    raise OSError(f"none of {tried} can be written, or their paths are long")


def _usable(place: str) -> bool:
    return bool(place) and os.path.isdir(place) and os.access(place, os.W_OK | os.X_OK)
