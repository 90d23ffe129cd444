"""Which files a kernel's folder holds, by their paths in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentkit.coding.chat_kernel.made_files import list_files

LONG = "n" * 250


def test_files_are_told_by_their_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the system tells nothing of a descriptor, as macOS, which has no /proc."""

    def find_nothing(path: object, **_: object) -> str:
        raise FileNotFoundError(path)

    names = ["a/b/c/deep", "a/b/other", "a/later", "top", "z/b/c/deep"]
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (tmp_path / "link").symlink_to(tmp_path / "top")
    os.mkfifo(tmp_path / "a" / "pipe")
    monkeypatch.setattr(os, "readlink", find_nothing)
    found = list_files(tmp_path)
    assert sorted(found) == names
    assert [found[name][1] for name in names] == list(map(len, names))
    assert list_files(tmp_path / "nothing") == {}


def test_files_whose_paths_are_too_long_are_left_out(tmp_path: Path) -> None:
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(20):
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=here))
        os.mkdir(LONG, dir_fd=here)
        inner = os.open(LONG, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    found = sorted(list_files(tmp_path), key=len)
    assert found == [f"{LONG}/" * depth + "file" for depth in range(16)]
