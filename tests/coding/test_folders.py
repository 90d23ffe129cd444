"""Folders that hostile code has filled: nothing of them breaks a walk, and nothing is left of
them.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from agentkit.coding import folders, footprint

DEPTH = 2_500  # deeper than a path is long, and than Python may call itself
MANY = 5_000


def nest(top: Path, depth: int = DEPTH, name: str = "d") -> None:
    """Folders in folders, with a file in the lowest one."""
    here = os.open(top, os.O_DIRECTORY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=here)
        inner = os.open(name, os.O_DIRECTORY, dir_fd=here)
        os.close(here)
        here = inner
    write(here, "lowest", b"x" * 20_000)
    os.close(here)


def write(here: int, name: str, content: bytes = b"") -> None:
    file = os.open(name, os.O_WRONLY | os.O_CREAT, dir_fd=here)
    os.write(file, content)
    os.close(file)


def long_names(top: Path) -> None:
    nest(top, 40, "n" * 255)


def shut(top: Path) -> None:
    for mode in (0o000, 0o300, 0o400, 0o500):
        folder = top / f"{mode:o}"
        (folder / "inner").mkdir(parents=True)
        (folder / "inner" / "file").write_text("x")
        (folder / "inner").chmod(mode)
        folder.chmod(mode)


def loops(top: Path) -> None:
    (top / "self").symlink_to("self")
    (top / "up").symlink_to("..")
    (top / "nowhere").symlink_to("/no/such/place")
    (top / "root").symlink_to("/")


def odd(top: Path) -> None:
    os.mkfifo(top / "pipe")
    here = os.open(top, os.O_DIRECTORY)
    os.mkdir(b"\xff\xfe folder", dir_fd=here)
    os.close(here)
    (top / "new\nline").mkdir()
    Path(os.fsdecode(os.fsencode(top) + b"/\xff\xfe folder/\xc3\x28")).write_text("x")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(top / "socket"))


def many(top: Path) -> None:
    here = os.open(top, os.O_DIRECTORY)
    for number in range(MANY):
        write(here, str(number))
    os.close(here)


LEFT: list[Callable[[Path], None]] = [nest, long_names, shut, loops, odd, many]


@pytest.fixture
def top(tmp_path: Path) -> Path:
    made = tmp_path / "top"
    made.mkdir()
    return made


@pytest.mark.parametrize("fill", LEFT, ids=lambda fill: str(fill.__name__))
def test_all_is_removed(top: Path, tmp_path: Path, fill: Callable[[Path], None]) -> None:
    (tmp_path / "beside").write_text("untouched")
    fill(top)
    folders.remove(top)
    assert os.listdir(tmp_path) == ["beside"]
    assert (tmp_path / "beside").read_text() == "untouched"


@pytest.mark.parametrize("fill", LEFT, ids=lambda fill: str(fill.__name__))
def test_all_is_counted(top: Path, fill: Callable[[Path], None]) -> None:
    empty = footprint.disk_bytes(top)
    fill(top)
    added = footprint.disk_bytes(top) - empty
    blocks: dict[Callable[[Path], None], int] = {
        nest: DEPTH + 5,
        long_names: 45,
        shut: 12,
        loops: 4,
        many: MANY,
    }
    least = 4096 * blocks.get(fill, 5)
    assert least <= added < 2 * least
    folders.remove(top)


def test_a_file_or_nothing_in_the_place_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    folders.remove(tmp_path / "file")
    folders.remove(tmp_path / "nothing")
    assert os.listdir(tmp_path) == ["file"]
    assert footprint.disk_bytes(tmp_path / "nothing") == 0


def test_a_walk_has_few_descriptors_open(top: Path) -> None:
    nest(top, 300)
    before = len(os.listdir("/proc/self/fd"))
    most = max(len(os.listdir("/proc/self/fd")) for _ in folders.walk(top))
    assert most <= before + 2
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_folder_that_is_moved_meanwhile_leads_nobody_astray(top: Path, tmp_path: Path) -> None:
    """Its `..` is another folder now, which may be outside of what is walked."""
    for name in ("a/b/c", "other"):
        (top / name).mkdir(parents=True)
    for name in ("seen", "a/seen", "a/b/seen", "a/b/c/seen"):
        (top / name).touch()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").touch()
    moved, inner = top / "a" / "b", os.stat(top / "a" / "b" / "c")
    walked: list[str] = []
    for here, files, *_ in folders.walk(top):
        walked += files
        if moved.exists() and os.path.samestat(os.fstat(here), inner):
            moved.rename(outside / "b")
    assert walked.count("seen") == 4
    assert "secret" not in walked


def test_a_working_folder_that_its_user_shut_is_open_again(top: Path) -> None:
    top.chmod(0o040)
    folders.open_up(top)
    assert top.stat().st_mode & 0o777 == 0o740
