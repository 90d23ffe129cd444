"""What goes wrong around a library ends in a clear message and an unharmed store: vectors, files,
disks, other writers.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from agentkit.database import Database
from agentkit.errors import BadModelReply, ConfigError, StoreError
from agentkit.events import DocumentDone
from agentkit.retrieval import FakeEmbedder, Library, Source
from agentkit.retrieval.index import indexes, shown_rows, vector_index
from agentkit.retrieval.ingest import ingest
from tests.retrieval.conftest import OWNER, Shelf
from tests.retrieval.full_disk import at_most

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = 40
QUERIES = ("number7 cats", "number31", "sleep on the sofa", "number12 sleep")


@pytest.fixture
def early_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph, and files of it, from few vectors on."""
    monkeypatch.setattr(indexes, "EXACT_BELOW", 30)
    monkeypatch.setattr(vector_index, "FAR", 10)
    monkeypatch.setattr(shown_rows, "FAR", 10)


@pytest.fixture(scope="module")
def taken_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with forty documents and their graph, to be copied."""
    folder = tmp_path_factory.mktemp("filled")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indexes, "EXACT_BELOW", 30)
        patch.setattr(vector_index, "FAR", 10)
        patch.setattr(shown_rows, "FAR", 10)
        shelf = Shelf(folder)
        shelf.library.ingest(
            OWNER, "Docs", [shelf.source(f"{n}.md", text(n)) for n in range(DOCUMENTS)]
        )
        shelf.close()
    return folder


@pytest.fixture
def filled(tmp_path: Path, taken_in: Path, early_graph: None) -> Iterator[Shelf]:
    made = Shelf(Path(shutil.copytree(taken_in, tmp_path / "filled")))
    yield made
    made.close()


def text(number: int) -> str:
    return (
        f"# About\n\nnumber{number} cats sleep on the sofa\n\n# More\n\nnumber{number}"
        f" x{number * 7 % 40} y{number * 11 % 40}\n"
    )


def answers(library: Library, mode: str = "hybrid") -> list[list[tuple[str, str]]]:
    return [
        [(hit.document, hit.text) for hit in library.retrieve(OWNER, "Docs", query, mode=mode)]  # type: ignore[arg-type]
        for query in QUERIES
    ]


# Embedders


class FailingEmbedder(FakeEmbedder):
    """From the n-th document on it gives nonsense."""

    def __init__(self, good: int, spoil: Callable[[np.ndarray], np.ndarray]) -> None:
        super().__init__()
        self.good, self._spoil = good, spoil

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        vectors = super().embed(texts)
        bad = any(f"number{n} " in one for one in texts for n in range(self.good, DOCUMENTS))
        return self._spoil(vectors) if bad else vectors


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda vectors: np.where(np.arange(64) == 3, np.nan, vectors).astype(np.float32), "NaN"),
        (lambda vectors: vectors / 0, "NaN or infinity"),
        (lambda vectors: vectors[:, :32], "shape"),
        (lambda vectors: np.concatenate([vectors, vectors]), "shape"),
        (lambda vectors: vectors[0], "shape"),
    ],
    ids=["NaN", "infinite", "dimension", "too many", "one vector"],
)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_senseless_vectors_in_the_middle_of_an_ingest(
    shelf: Shelf,
    monkeypatch: pytest.MonkeyPatch,
    spoil: Callable[[np.ndarray], np.ndarray],
    said: str,
) -> None:
    monkeypatch.setattr(ingest, "GROUP_DOCUMENTS", 4)
    monkeypatch.setattr(
        ingest, "_GROUP_S", 60
    )  # on a slow machine smaller groups would not wait for the fourth
    broken = Library(shelf.database, shelf.settings, FailingEmbedder(8, spoil))
    with pytest.raises(BadModelReply, match=said):
        broken.ingest(OWNER, "Docs", [shelf.source(f"{n}.md", text(n)) for n in range(16)])
    rows = {document.name: document for document in broken.documents(OWNER, "Docs")}
    indexed = {name for name, row in rows.items() if row.status == "indexed"}
    assert 4 < len(indexed) <= 8, "whole groups; a pause in reading ends one early"
    assert indexed == {f"{n}.md" for n in range(len(indexed))}
    failed = [row for row in rows.values() if row.status == "failed"]
    assert failed
    assert all(said in row.error for row in failed)
    assert broken.check() == []
    broken.close()
    assert {one.status for one in shelf.library.retry(OWNER, [row.id for row in failed])} == {
        "indexed"
    }
    assert shelf.texts(f"number{int(failed[0].name[:-3])} cats")[0].count(failed[0].name[:-3])
    assert shelf.library.check() == []


@pytest.mark.parametrize("used_before", [True, False])
@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda vectors: vectors * np.nan, "NaN"),
        (lambda vectors: vectors[:, :32], "shape"),
        (lambda vectors: vectors[:0], "shape"),
    ],
    ids=["NaN", "dimension", "none"],
)
def test_senseless_vectors_of_a_query(
    filled: Shelf, spoil: Callable[[np.ndarray], np.ndarray], said: str, used_before: bool
) -> None:
    class Changing(FakeEmbedder):
        broken = not used_before

        def embed(self, texts: Sequence[str]) -> np.ndarray:
            vectors = super().embed(texts)
            return spoil(vectors) if self.broken else vectors

    before = answers(filled.library)
    library = Library(filled.database, filled.settings, embedder := Changing())
    if used_before:
        assert answers(library) == before
    embedder.broken = True
    with pytest.raises(BadModelReply, match=said):
        library.retrieve(OWNER, "Docs", "cats")
    embedder.broken = False
    assert answers(library) == before
    library.close()


def test_a_model_of_another_dimension_under_the_same_name(filled: Shelf) -> None:
    before = answers(filled.library)
    filled.close()
    filled.database = Database(filled.settings.data / "agentkit.duckdb")
    other = Library(filled.database, filled.settings, FakeEmbedder(32))
    with pytest.raises(ConfigError, match="gives 32 numbers now, but gave 64"):
        other.ingest(OWNER, "Docs", [filled.source("new.md", "something new")])
    with pytest.raises(ConfigError, match="restore the model"):
        other.retrieve(OWNER, "Docs", "cats")
    assert other.retrieve(OWNER, "Docs", "number7", mode="lexical")[0].document == "7.md"
    assert len(other.documents(OWNER, "Docs")) == DOCUMENTS
    other.close()
    filled.database.close()
    filled.open()
    assert answers(filled.library) == before
    assert filled.library.check() == []


# Files


def gone(file: Path) -> None:
    shutil.rmtree(file) if file.is_dir() else file.unlink()


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def empty(file: Path) -> None:
    file.write_bytes(b"")


def changed(file: Path) -> None:
    content = bytearray(file.read_bytes())
    for at in range(len(content) // 3, len(content) // 3 + 40):
        content[at % len(content)] ^= 0x5A
    file.write_bytes(content)


def foreign(file: Path) -> None:
    file.write_bytes(b"this is a letter to my aunt\n" * 100)


FILES = ["vectors.json", "vectors-*.hnsw", "lexical/meta.json", "passages-*.arrow"]


@pytest.mark.parametrize(
    "harm", [gone, cut, empty, changed, foreign], ids=lambda harm: harm.__name__
)
@pytest.mark.parametrize("name", FILES)
def test_a_harmed_index_file_changes_no_answer(
    filled: Shelf, name: str, harm: Callable[[Path], None]
) -> None:
    before = {mode: answers(filled.library, mode) for mode in ("lexical", "dense", "hybrid")}
    filled.close()
    (file,) = filled.settings.data.glob(f"indexes/*/{name}")
    harm(file)
    library = filled.open()
    assert {mode: answers(library, mode) for mode in before} == before
    assert library.check() == []
    library.ingest(OWNER, "Docs", [filled.source("new.md", "number99 dogs bark")])
    assert filled.texts("number99 dogs")[0] == "number99 dogs bark"
    assert filled.reopen().check() == []


@pytest.mark.parametrize("name", ["", "lexical"])
def test_a_missing_index_folder_changes_no_answer(filled: Shelf, name: str) -> None:
    before = answers(filled.library)
    filled.close()
    (folder,) = (filled.settings.data / "indexes").iterdir()
    gone(folder / name)
    assert answers(filled.open()) == before
    assert filled.library.check() == []


def test_harmed_words_change_no_answer(filled: Shelf) -> None:
    before = answers(filled.library, "lexical")
    filled.close()
    for kind in ("term", "idx", "fast", "fieldnorm"):
        for file in filled.settings.data.glob(f"indexes/*/lexical/*.{kind}"):
            cut(file)
        library = filled.open()
        assert answers(library, "lexical") == before, kind
        assert library.check() == []
        filled.close()
    filled.open()


# A full disk

CHILD = """
import json, os, resource, sys
from pathlib import Path
from agentkit.core import bus
from agentkit.database import Database
from agentkit.errors import AgentkitError
from agentkit.events import DocumentDone
from agentkit.retrieval import FakeEmbedder, Library, sources_from_paths
from agentkit.retrieval.index import indexes, shown_rows, vector_index
from agentkit.retrieval.ingest import ingest
from agentkit.settings import Settings

indexes.EXACT_BELOW = 30
vector_index.FAR = shown_rows.FAR = 10
ingest.GROUP_DOCUMENTS = 8
data, files, do, limit = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
database = Database(data / "agentkit.duckdb")
library = Library(database, Settings(data=data), FakeEmbedder())
acknowledged, said = [], ""

def acknowledge(event):
    if isinstance(event, DocumentDone) and event.status == "indexed":
        acknowledged.append(event.document)

library.retrieve("ann", "Docs", "cats")
if do == "build":
    version = library.versions.add("ann", "Docs", embedder="fake", max_tokens=20)
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
try:
    with bus.listening(acknowledge):
        if do == "ingest":
            library.ingest("ann", "Docs", sources_from_paths([files]))
        else:
            library.versions.promote("ann", version.id)
except AgentkitError as error:
    said = f"{type(error).__name__}: {error}"
answer = library.retrieve("ann", "Docs", "number7 cats")[0].document
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
later = []
if do == "build":
    library.versions.promote("ann", version.id)
if do == "ingest":
    taken_in = library.ingest("ann", "Docs", sources_from_paths([files]))
    later = sorted({one.status for one in taken_in})
after = [problem.what for problem in library.check()]
library.close()
database.close()
sys.stdout.write(json.dumps([said, answer, acknowledged, later, after]))
"""


def on_a_full_disk(
    shelf: Shelf, do: str, limit: int
) -> tuple[str, str, list[str], list[str], list[str]]:
    """What is said, which document answers, what was acknowledged; and with space again how an
    ingest ends, and problems.

    No file grows beyond `limit` bytes meanwhile.
    """
    command = [
        sys.executable,
        "-c",
        CHILD,
        str(shelf.settings.data),
        str(shelf.files),
        do,
        str(limit),
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, check=False, env=environment
    )
    assert ended.returncode == 0, ended.stderr
    said, answer, acknowledged, later, after = json.loads(ended.stdout)
    return said, answer, acknowledged, later, after


@pytest.mark.parametrize("limit", [10, 4_000, 30_000, 100_000, 300_000, 600_000])
def test_a_full_disk_during_an_ingest(filled: Shelf, limit: int) -> None:
    filled.close()
    padding = " ".join(f"z{n}" for n in range(400))
    for number in range(50, 90):
        filled.source(f"{number}.md", f"{text(number)}\n\n{number} {padding}")
    said, answer, acknowledged, later, after = on_a_full_disk(filled, "ingest", limit)
    assert not said or ("StoreError" in said and "check free space" in said), said
    assert bool(said) == (len(acknowledged) < len(list(filled.files.iterdir()))), acknowledged
    assert (answer, after) == ("7.md", [])
    assert set(later) <= {"indexed", "unchanged"}
    library = filled.open()
    texts = {
        document.name: library.text(OWNER, document.id)
        for document in library.documents(OWNER, "Docs")
    }
    assert set(acknowledged) <= set(texts)
    assert all(
        texts[f"{n}.md"] == (filled.files / f"{n}.md").read_text().strip()
        for n in [*range(DOCUMENTS), *range(50, 90)]
    )
    assert filled.texts("number77 cats")[0].startswith("# About\n\nnumber77")
    assert library.check() == []


@pytest.mark.parametrize("limit", [10, 4_000, 20_000, 60_000])
def test_a_full_disk_during_the_build_of_a_version(filled: Shelf, limit: int) -> None:
    filled.close()
    said, answer, _, _, after = on_a_full_disk(filled, "build", limit)
    assert not said or ("StoreError" in said and "check free space" in said), said
    assert (answer, after) == ("7.md", [])
    library = filled.open()
    assert library.store.version(library.collection(OWNER, "Docs").id).max_tokens == 20
    assert {
        hit.document for hit in library.retrieve(OWNER, "Docs", "number31", mode="lexical")
    } == {"31.md"}
    assert library.check() == []


def test_a_full_disk_while_the_index_is_saved(
    filled: Shelf, caplog: pytest.LogCaptureFixture
) -> None:
    filled.library.ingest(OWNER, "Docs", [filled.source("new.md", "number99 dogs")])
    before = answers(filled.library)
    (description,) = filled.settings.data.glob("indexes/*/vectors.json")
    saved = description.read_bytes()
    with at_most(2_000), caplog.at_level(logging.WARNING):
        filled.library.close()
    assert "could not be saved" in caplog.text
    assert description.read_bytes() == saved
    filled.database.close()
    filled.open()
    assert answers(filled.library) == before
    assert filled.texts("number99 dogs")[0] == "number99 dogs"
    assert filled.library.check() == []


def test_opening_on_a_full_disk_is_told_and_later_works(filled: Shelf) -> None:
    before = answers(filled.library)
    filled.close()
    shutil.rmtree(filled.settings.data / "indexes")
    filled.open()
    with (
        at_most(10),
        pytest.raises(StoreError, match=r"can be neither opened nor made .* check free space"),
    ):
        filled.library.retrieve(OWNER, "Docs", "cats")
    assert answers(filled.library) == before
    assert filled.library.check() == []


# Others that write

INTRUDER = """
import sys
from pathlib import Path
from agentkit.database import Database
from agentkit.errors import DatabaseInUse
from agentkit.retrieval import FakeEmbedder, Library
from agentkit.settings import Settings

settings = Settings(data=Path(sys.argv[1]))
try:
    library = Library(Database(settings.data / "agentkit.duckdb"), settings, FakeEmbedder())
    library.ingest("ann", "Docs", [])
except DatabaseInUse as error:
    sys.stdout.write(str(error))
"""


def test_another_process_on_the_same_folder_is_sent_away(filled: Shelf) -> None:
    before = answers(filled.library)
    command = [sys.executable, "-c", INTRUDER, str(filled.settings.data)]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    assert f"in use by process {os.getpid()}" in ended.stdout
    assert "set AGENTKIT_DATA to another folder" in ended.stdout
    assert answers(filled.library) == before
    filled.library.ingest(OWNER, "Docs", [filled.source("new.md", "number99 dogs")])
    assert filled.reopen().check() == []


def test_two_threads_take_documents_into_one_new_collection(
    shelf: Shelf, early_graph: None
) -> None:
    sources = [
        [shelf.source(f"{n}.md", text(n)) for n in range(start, 60, 3)] for start in range(3)
    ]
    ended: list[DocumentDone] = []
    together = threading.Barrier(len(sources))

    def take_in(some: list[Source]) -> None:
        together.wait()
        ended.extend(shelf.library.ingest(OWNER, "Docs", some))

    threads = [threading.Thread(target=take_in, args=(some,)) for some in sources]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one.status for one in ended] == ["indexed"] * 60
    assert [collection.documents for collection in shelf.library.collections(OWNER)] == [60]
    assert shelf.library.check() == []
    assert "number59 " in shelf.texts("number59")[0]
    assert shelf.reopen().check() == []
