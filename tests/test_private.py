"""The data folder and what is in it can be read by its owner alone; nothing else is touched."""

from __future__ import annotations

import io
import json
import os
import stat
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agentkit import private
from agentkit.cli import main
from agentkit.llm import Connection, save_connection
from agentkit.retrieval import FakeEmbedder, Source
from agentkit.retrieval.index import index_files
from agentkit.retrieval.index.graph import Graph
from agentkit.retrieval.index.vectors import Vectors
from agentkit.settings import Settings
from agentkit.ui.shared.uploads import to_disk
from agentkit.workspace import Workspace
from tests.data.contents import OWNER

PACK = Path(__file__).parent / "data" / "folder-2026-11.tar.xz"


@pytest.fixture(autouse=True)
def _open_to_all() -> Iterator[None]:
    """New files can be read and written by everybody, unless somebody sees to it."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A data folder of an earlier version, whose files were made with the usual umask."""
    with tarfile.open(PACK) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "data"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def refuse(*given: object, **named: object) -> None:
    raise PermissionError(1, "Operation not permitted")


def only_files_named(name: str, chmod: Callable[..., None]) -> Callable[..., None]:
    """What happens where the other files belong to somebody else."""

    def change(path: Path, *given: Any, **named: Any) -> None:
        if Path(path).name != name:
            refuse()
        chmod(path, *given, **named)

    return change


def wide(folder: Path) -> dict[str, str]:
    """All that others may do something with, the folder included."""
    return {
        str(path.relative_to(folder.parent)): oct(mode(path))
        for path in (folder, *folder.rglob("*"))
        if mode(path) & 0o077
    }


def fill(workspace: Workspace, tmp_path: Path) -> None:
    """Do everything that leaves files."""
    rivers = tmp_path / "rivers.txt"
    rivers.write_text("The Danube is 2,850 kilometres long.")
    workspace.ingest(OWNER, "New", [Source("rivers.txt", rivers, "upload:rivers.txt")]).result()
    uploaded = io.BytesIO(b"The Volga is long.")
    uploaded.name = "volga.txt"
    kept = to_disk([uploaded], workspace.settings)
    asked = workspace.ask(
        OWNER, "How long?", collection="New", attachments=kept, model_id="offline"
    )
    asked.result()
    to_disk([uploaded], workspace.settings)  # not taken in yet
    exported = workspace.export_collection(OWNER, "New").result()
    workspace.import_collection(OWNER, exported, "Again").result()
    version = workspace.library.versions.add(OWNER, "New", embedder="fake", max_tokens=30)
    workspace.promote_version(OWNER, version.id).result()
    save_connection(workspace.settings, Connection("Ours", "http://127.0.0.1:9/v1", "key"))
    workspace.library.retrieve(OWNER, "New", "Danube")


def test_all_that_is_made_is_private_while_it_is_used_and_afterwards(tmp_path: Path) -> None:
    workspace = Workspace(Settings(data=tmp_path / "below" / "data"), FakeEmbedder())
    fill(workspace, tmp_path)
    data = tmp_path / "below" / "data"
    made = {path.name for path in data.rglob("*")}
    assert {"agentkit.duckdb.wal", "lexical", "New.agentkit.zip"} <= made
    assert wide(data) == {}
    workspace.close()
    assert wide(data) == {}
    assert mode(data) == 0o700
    assert mode(data / "agentkit.duckdb") == 0o600


def test_a_folder_of_an_earlier_version_is_closed_when_it_is_opened(
    old: Path, tmp_path: Path
) -> None:
    assert len(wide(old)) > 100
    workspace = Workspace(Settings(data=old, owner=OWNER), FakeEmbedder())
    assert wide(old) == {}
    fill(workspace, tmp_path)
    workspace.close()
    assert wide(old) == {}


def test_the_files_of_a_large_index_are_private(tmp_path: Path) -> None:
    vectors = FakeEmbedder().embed([f"text {number}" for number in range(50)])
    ids = np.arange(50, dtype=np.int64)
    rows = Vectors(64)
    rows.add(ids, vectors)
    graph = Graph(64, "cosine")
    graph.add(ids, vectors)
    folder = tmp_path / "index"
    index_files.write(folder, rows, graph, index_files.Tuned(50, 1.0, 1, 50), 50)
    assert {path.suffix for path in folder.iterdir()} == {".hnsw", ".json"}
    assert wide(folder) == {}


def test_what_ships_with_the_project_and_what_lies_outside_stay_as_they_are(
    old: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "deep" / "file").touch(0o644)
    (old / "samples").mkdir()
    (old / "samples" / "tides.md").touch(0o644)
    (old / "sample-questions.json").touch(0o644)
    (old / "files" / "link").symlink_to(outside)
    (old / "exports").rename(tmp_path / "elsewhere")
    (old / "exports").symlink_to(tmp_path / "elsewhere")
    (old / "link").symlink_to(outside / "deep" / "file")
    os.link(outside / "deep" / "file", old / "second-name")
    (old / "run.sh").touch(0o755)
    private.take(old)
    assert mode(old) == 0o700
    assert [mode(path) for path in (outside, outside / "deep", outside / "deep" / "file")] == [
        0o777,
        0o777,
        0o644,
    ]
    assert mode(old / "samples" / "tides.md") == mode(old / "sample-questions.json") == 0o644
    assert mode(tmp_path / "elsewhere") & 0o077
    assert mode(old / "run.sh") == 0o700  # its owner may run it still


def test_in_a_home_folder_only_our_own_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    tmp_path.chmod(0o755)
    (tmp_path / "letter.txt").touch(0o644)
    workspace = Workspace(Settings(data=tmp_path, owner=OWNER), FakeEmbedder())
    workspace.close()
    assert mode(tmp_path / "letter.txt") == 0o644
    assert mode(tmp_path) == 0o755
    assert mode(tmp_path / "agentkit.duckdb") == 0o600
    assert private.open_to_others(tmp_path) == []


@pytest.mark.parametrize("place", [".", "below"])
def test_the_working_folder_and_those_above_stay_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    (tmp_path / "below").mkdir()
    tmp_path.chmod(0o755)
    monkeypatch.chdir(tmp_path / place)
    private.take(tmp_path)
    assert mode(tmp_path) == 0o755


def test_a_folder_for_everybody_stays_one(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    (tmp_path / "connections.json").touch(0o644)
    private.take(tmp_path)
    assert (mode(tmp_path), mode(tmp_path / "connections.json")) == (0o1777, 0o600)


def test_a_file_that_cannot_be_closed_stops_nothing(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "chmod", refuse)
    Workspace(Settings(data=old, owner=OWNER), FakeEmbedder()).close()
    assert len(private.open_to_others(old)) > 100
    assert not private.keeps_modes(old)


def test_doctor_tells_what_others_can_read(
    old: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AGENTKIT_DATA", str(old))

    def told() -> dict[str, Any]:
        main(["doctor", "--json"], lambda settings: Workspace(settings, FakeEmbedder()))
        found = json.loads(capsys.readouterr().out)["checks"]
        return next(check for check in found if check["name"] == "privacy")

    chmod = os.chmod
    monkeypatch.setattr(os, "chmod", refuse)
    without_modes = told()
    assert without_modes["ok"]  # nothing can be done there
    assert "keeps no permissions" in without_modes["detail"]
    monkeypatch.setattr(os, "chmod", only_files_named("file", chmod))
    somebody_elses = told()
    assert not somebody_elses["ok"]
    assert "others may read or change" in somebody_elses["detail"]
    assert f"chmod -R go= {old}" in somebody_elses["advice"]
    monkeypatch.setattr(os, "chmod", chmod)
    assert told() == {
        "name": "privacy",
        "ok": True,
        "detail": "only you can read the data folder",
        "advice": "",
    }
