"""What is uploaded is written to the disk once; what the user gives by its path stays theirs."""

from __future__ import annotations

import errno
import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentkit.retrieval import FakeEmbedder, Source
from agentkit.settings import Settings
from agentkit.ui.shared.uploads import to_disk
from agentkit.workspace import Workspace

OWNER, TEXT = "owner", b"Green tea is brewed at 80 degrees."


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    opened = Workspace(Settings(data=tmp_path / "data"), FakeEmbedder())
    opened.library.create_collection(OWNER, "Docs")
    yield opened
    opened.close()


def uploaded(settings: Settings) -> Source:
    file = io.BytesIO(TEXT)
    file.name = "tea.txt"
    (source,) = to_disk([file], settings)
    return source


def original(workspace: Workspace, source: Source) -> Path:
    """Where it is kept after it was taken in."""
    workspace.ingest(OWNER, "Docs", [source]).result()
    (document,) = workspace.library.documents(OWNER, "Docs")
    assert document.status == "indexed"
    return workspace.library.original(OWNER, document.id)


def everything_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_an_upload_becomes_the_original_without_being_written_again(workspace: Workspace) -> None:
    source = uploaded(workspace.settings)
    written = source.path.stat()
    kept = original(workspace, source)
    found = kept.stat()
    assert (found.st_ino, found.st_mtime_ns) == (written.st_ino, written.st_mtime_ns)
    assert (found.st_nlink, found.st_mode & 0o777, kept.read_bytes()) == (1, 0o600, TEXT)
    assert not everything_in(workspace.settings.data / "uploads")
    assert everything_in(workspace.settings.data / "files") == [kept]


@pytest.mark.parametrize("place", ["elsewhere", "data/uploads/../own", "link"])
def test_a_file_that_is_given_by_its_path_is_copied(
    workspace: Workspace, tmp_path: Path, place: str
) -> None:
    (tmp_path / "data" / "uploads").mkdir()
    folder = tmp_path / place.removeprefix("link")
    folder.mkdir(exist_ok=True)
    path = folder / "tea.txt"
    path.write_bytes(TEXT)
    given = path
    if place == "link":
        given = tmp_path / "data" / "uploads" / "tea.txt"
        given.symlink_to(path)
    kept = original(workspace, Source("tea.txt", given, str(given)))
    assert kept.stat().st_ino != path.stat().st_ino
    path.write_bytes(b"Something else.")
    assert kept.read_bytes() == TEXT


def test_where_a_file_can_have_one_name_only_it_is_copied(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*given: object, **named: object) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    source = uploaded(workspace.settings)
    written = source.path.stat().st_ino
    monkeypatch.setattr(os, "link", refuse)
    kept = original(workspace, source)
    assert (kept.stat().st_ino == written, kept.read_bytes()) == (False, TEXT)


DIES = """
import os, signal, sys
from pathlib import Path
from agentkit.retrieval import Source
from agentkit.retrieval.store.originals import Originals

def die(*given):
    os.kill(os.getpid(), signal.SIGKILL)

link = os.link
if sys.argv[3] == "before it has its place":
    os.link = lambda *given: die(link(*given))
upload = Source("tea.txt", Path(sys.argv[2]), "upload:tea.txt")
kept = Originals(Path(sys.argv[1]), 1000).keep(upload)
die()
"""


@pytest.mark.parametrize("when", ["before it has its place", "before anybody knows of it"])
def test_killed_on_the_way_the_upload_is_whole_and_can_be_taken_in(
    workspace: Workspace, when: str
) -> None:
    source, data = uploaded(workspace.settings), workspace.settings.data
    child = subprocess.run(
        [sys.executable, "-c", DIES, data, source.path, when], check=False, timeout=60
    )
    assert child.returncode == -signal.SIGKILL
    assert source.path.read_bytes() == TEXT
    assert original(workspace, source).read_bytes() == TEXT
    assert workspace.library.check_originals() == []
