"""What every bubblewrap sandbox of ours has in common: own namespaces, an unused user, the system
and Python to read.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain, filterfalse, product, starmap
from operator import ne
from pathlib import Path

from agentkit.core.given import list_missing

NAMESPACES = (
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-uts",
    "--unshare-cgroup-try",
)
"""No network, no process and no shared memory of others."""
_UNUSED_USERS = range(60578, 61184)
"""Numbers that Debian, Fedora and systemd give to nobody, and that fit into a container's
65,536.
"""
_SYSTEM = [
    f"/{name}" for name in ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "nix/store")
]
_SYSTEM += [f"/etc/{name}" for name in ("alternatives", "fonts", "localtime", "mime.types")]
_SYSTEM += ["/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d"]
_OF_PYTHON = ("bin", "lib", "lib64", "include", "share", "pyvenv.cfg")


def program() -> str | None:
    """Path of the program bwrap; None where there is none. That it is there does not mean that it
    works.
    """
    return shutil.which("bwrap") if sys.platform == "linux" else None


def find_unused_user() -> int | None:
    """A number of a user for a sandbox when this process is root; None when it stays the user that
    it is.
    """
    if os.geteuid() == 0:
        return random.choice(_UNUSED_USERS)
    return None


def as_user(user: int | None, *rights: str) -> list[str]:
    """Options for who the first program is: root with `rights` and those to become `user`, else
    ourselves without any.

    In a user namespace only root itself would be there to become.
    """
    if user is None:
        return ["--unshare-user"]
    kept = ("CAP_SETUID", "CAP_SETGID", *rights)
    return ["--cap-drop", "ALL", *chain.from_iterable(product(["--cap-add"], kept))]


def mounts(added: Mapping[Path, str]) -> Iterator[str]:
    """Options that show the system and Python to read, and places of one's own: path -> `--bind` or
    `--ro-bind`.

    Outer folders come first, and the way to each is open to the sandbox's user.
    """
    read = [*map(Path, _SYSTEM), *_find_python()]
    places = {**dict.fromkeys(read, "--ro-bind"), **added}
    made = {Path("/"), Path("/tmp")}
    for place in sorted(places, key=lambda place: len(place.parts)):
        if place.is_symlink():
            target = os.readlink(place)
            yield from ("--symlink", target, str(place))
        elif place.exists():
            outer = list_missing(reversed(place.parents), made)
            for parent in filterfalse(_is_of_system, outer):
                yield from ("--perms", "0755", "--dir", str(parent))
            yield from (places[place], str(place), str(place))
            made |= {place, *place.parents}


def _is_of_system(place: Path) -> bool:
    return place.is_relative_to("/usr")


def _find_python() -> Iterator[Path]:
    """The folders and files of Python and of its environment, but those of the system's own."""
    prefixes = (sys.prefix, sys.base_prefix)
    known = map(Path, (*prefixes, *map(os.path.realpath, prefixes)))
    own = filter(partial(ne, Path("/usr")), known)
    return starmap(Path, product(own, _OF_PYTHON))
