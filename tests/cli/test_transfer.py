"""`collection list`, `collection export` and `collection import`."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from tests.cli.conftest import Cli


@pytest.fixture
def filled(cli: Cli, papers: Path) -> Cli:
    """A data folder with one collection."""
    cli("ingest", papers / "rivers.md", papers / "deep", "--collection", "Rivers and more")
    return cli


def test_a_collection_goes_out_and_comes_in_elsewhere(
    filled: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "rivers.agentkit.zip"
    out = filled("collection", "export", "Rivers and more", file)
    assert out.code == 0
    assert out.out.startswith(f"Rivers and more: 3 documents, 3 chunks in {file} (")
    question = ("search", "How long is the Danube?", "--collection")
    before = filled(*question, "Rivers and more", "--json").json["hits"]
    monkeypatch.setenv("AGENTKIT_DATA", str(tmp_path / "elsewhere"))
    assert filled("collection", "import", file).out == "Rivers and more: 3 documents, 3 chunks.\n"
    after = filled(*question, "Rivers and more", "--json").json["hits"]
    assert [hit["text"] for hit in after] == [hit["text"] for hit in before]
    # BM25 counts what was removed until segments are merged, so scores are the same but for a per
    # cent or so.
    assert [hit["score"] for hit in after] == pytest.approx(
        [hit["score"] for hit in before], abs=0.02
    )
    taken = filled("collection", "import", file, "--json")
    assert taken.code == 1
    assert (
        "There is a collection 'Rivers and more' already; give another name" in taken.json["error"]
    )
    assert filled("collection", "import", file, "--name", "Copy", "--json").json == {
        "collection": "Copy",
        "documents": 3,
        "chunks": 3,
        "embedder": "fake",
        "note": "",
    }


def test_into_a_folder_and_never_over_another_file(filled: Cli, tmp_path: Path) -> None:
    made = filled("collection", "export", "Rivers and more", tmp_path, "--json").json
    path = tmp_path / "Rivers and more.agentkit.zip"
    assert made == {
        "file": str(path),
        "bytes": path.stat().st_size,
        "collection": "Rivers and more",
        "documents": 3,
        "chunks": 3,
        "embedder": "fake",
    }
    again = filled("collection", "export", "Rivers and more", tmp_path)
    assert (again.code, again.out) == (1, "")
    assert f"{path} is there already; give another name, or --force" in again.err
    assert filled("collection", "export", "Rivers and more", tmp_path, "--force").code == 0


def test_the_list(cli: Cli, papers: Path) -> None:
    assert "There are no collections yet" in cli("collection", "list").err
    cli("ingest", papers / "rivers.md")
    lines = cli("collection", "list").out.splitlines()
    assert [" ".join(line.split()) for line in lines] == [
        "collection documents chunks embedding model",
        "Documents 1 1 fake",
    ]
    assert cli("collection", "list", "--json").lines[0]["documents"] == 1


def test_what_cannot_be_done_says_why(cli: Cli, tmp_path: Path) -> None:
    missing = cli("collection", "export", "Nowhere", tmp_path)
    assert (missing.code, "There is no collection 'Nowhere'" in missing.err) == (1, True)
    assert "cannot be read" in cli("collection", "import", tmp_path / "none.zip").err
    other = tmp_path / "other.zip"
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("readme.txt", "hello")
    assert "not an exported collection" in cli("collection", "import", other).err
    assert cli("collection").code == 2


def test_a_model_that_is_not_here_is_said(
    filled: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, changed = tmp_path / "rivers.zip", tmp_path / "changed.zip"
    filled("collection", "export", "Rivers and more", file)
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(changed, "w") as new:
        for info in old.infolist():
            data = old.read(info)
            if info.filename == "manifest.json":
                manifest = json.loads(data)
                manifest["version"]["embedder"] = "somebody's model"
                data = json.dumps(manifest).encode()
            new.writestr(info.filename, data)
    monkeypatch.setenv("AGENTKIT_DATA", str(tmp_path / "elsewhere"))
    ended = filled("collection", "import", changed)
    assert ended.code == 0
    assert 'There is no embedding model "somebody\'s model" here' in ended.err
    found = filled(
        "search", "Danube", "--collection", "Rivers and more", "--mode", "lexical", "--json"
    ).json["hits"]
    assert found[0]["document"] == "rivers.md"
