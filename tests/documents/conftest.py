"""One jail for all tests of a module, and a way to read bytes in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentkit.documents import DocumentText, Jail, Limits

Read = Callable[[bytes, str], DocumentText]


@pytest.fixture(scope="module")
def jail() -> Iterator[Jail]:
    with Jail(Limits(timeout_s=60, memory_mb=1_500)) as jail:
        yield jail


@pytest.fixture
def read(jail: Jail, tmp_path: Path) -> Read:
    def read_bytes(data: bytes, name: str) -> DocumentText:
        path = tmp_path / "file"
        path.write_bytes(data)
        return jail.read(path, name)

    return read_bytes


@pytest.fixture
def text_file(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_text("Hello there.")
    return path
