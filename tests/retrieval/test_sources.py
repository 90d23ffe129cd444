"""Files and folders become sources with names that tell them apart."""

from __future__ import annotations

import os
from pathlib import Path

from agentkit.retrieval import sources_from_paths


def write(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(path.name)


def test_a_folder_without_what_is_hidden(tmp_path: Path) -> None:
    write(
        tmp_path / "b.txt",
        tmp_path / "a" / "c.txt",
        tmp_path / ".git" / "config",
        tmp_path / ".hidden",
    )
    write(tmp_path / "node_modules" / "x.js", tmp_path / "a" / "__pycache__" / "y.pyc")
    found = sources_from_paths([tmp_path])
    assert [source.name for source in found] == ["a/c.txt", "b.txt"]
    assert [source.origin for source in found] == [
        str(tmp_path / "a" / "c.txt"),
        str(tmp_path / "b.txt"),
    ]


def test_each_file_once_and_loops_end(tmp_path: Path) -> None:
    write(tmp_path / "a" / "x.txt")
    (tmp_path / "a" / "loop").symlink_to(tmp_path / "a", target_is_directory=True)
    (tmp_path / "again.txt").symlink_to(tmp_path / "a" / "x.txt")
    found = sources_from_paths([tmp_path, tmp_path / "a" / "x.txt", tmp_path / "a"])
    assert [source.path for source in found] == [tmp_path / "a" / "x.txt"]


def test_equal_names_get_their_folders(tmp_path: Path) -> None:
    write(tmp_path / "one" / "x" / "r.txt", tmp_path / "two" / "x" / "r.txt", tmp_path / "s.txt")
    found = sources_from_paths(
        [tmp_path / "one" / "x" / "r.txt", tmp_path / "two" / "x" / "r.txt", tmp_path / "s.txt"]
    )
    assert [source.name for source in found] == ["one/x/r.txt", "two/x/r.txt", "s.txt"]


def test_a_missing_path_is_a_source_too(tmp_path: Path) -> None:
    (found,) = sources_from_paths([tmp_path / "gone.txt"])
    assert (found.name, found.path) == ("gone.txt", tmp_path / "gone.txt")


def test_a_folder_that_cannot_be_listed_is_a_source_too(tmp_path: Path) -> None:
    """One whose path is too long, for example, which does not hide the files beside it."""
    write(tmp_path / "a.txt", tmp_path / "z.txt")
    folder = os.open(tmp_path, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("long" * 60, dir_fd=folder)
        inner = os.open("long" * 60, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(folder)
    found = sources_from_paths([tmp_path])
    assert [source.name for source in found[:1] + found[-1:]] == ["a.txt", "z.txt"]
    assert [source.path.name for source in found[1:-1]] == ["long" * 60]
