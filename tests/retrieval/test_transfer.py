"""Collections as files: what goes out comes in again, elsewhere too; what is no such file, or a
damaged one, changes nothing.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from agentkit.core.stopping import StopSignal, stoppable
from agentkit.errors import AgentkitError, ConfigError, NotFound, Stopped, StoreError
from agentkit.retrieval import Library, StoredDocument
from agentkit.retrieval.options import SearchOptions
from agentkit.retrieval.transfer.bundle import CHUNKS, DOCUMENTS, Bundle, file_name, reading
from agentkit.retrieval.transfer.bundle_tables import groups, schema
from tests.retrieval.bundles import (
    changed,
    documents,
    forged,
    members,
    pack,
    parquet,
    refuse,
    resealed,
    untouched,
)
from tests.retrieval.conftest import OWNER, Shelf

ROOT = Path(__file__).resolve().parents[2]
QUERIES = ("tea at 80 degrees", "the river Danube", "warranty of the pump", "nothing of the sort")
TEXTS = {
    "tea.md": "# Tea\n\nGreen tea is brewed at 80 degrees.\n\nBlack tea at 95 degrees.",
    "rivers.md": "# Rivers\n\nThe Danube is 2,850 kilometres long. 東京の川は短い。",
    "pump.txt": "The warranty of the pump lasts three years.\n\n"
    + "It is checked every year. " * 400,
}


@pytest.fixture
def filled(shelf: Shelf) -> Shelf:
    """A shelf with three documents with tags, one that failed, and options of its own."""
    sources = [shelf.source(name, text) for name, text in TEXTS.items()]
    shelf.library.ingest(OWNER, "Docs", [*sources, shelf.source("empty.txt", "")])
    some = documents(shelf.library)
    shelf.library.tag_documents(
        OWNER, [some["tea.md"].id, some["pump.txt"].id], add=["kitchen", "2026"]
    )
    shelf.library.set_options(OWNER, "Docs", SearchOptions(top_k=3, min_score=0.01))
    return shelf


@pytest.fixture
def exported(filled: Shelf, tmp_path: Path) -> Path:
    return filled.library.transfer.export(OWNER, "Docs", tmp_path / "docs.agentkit.zip")


def found(library: Library, owner: str, collection: str) -> list[Any]:
    """What a search shows of each hit, for some queries in all modes.

    Without the scores of words: removed chunks count in them until the lexical index is tidied, in
    the background.
    """
    kept = ("dense", "dense_rank", "lexical_rank")
    return [
        (
            *(
                hit.rank,
                hit.document,
                hit.page,
                hit.heading,
                hit.place,
                hit.start,
                hit.end,
                hit.text,
            ),
            {name: score for name, score in hit.scores.items() if name in kept},
        )
        for query in QUERIES
        for mode in ("hybrid", "dense", "lexical")
        for hit in library.retrieve(owner, collection, query, mode=mode)
    ]


def facts(library: Library, owner: str, collection: str) -> dict[str, Any]:
    """All that is kept of each document, without ids."""
    told = {}
    for name, one in documents(library, owner, collection).items():
        text = library.text(owner, one.id) if one.chunks else None
        pieces = [
            (
                piece.ordinal,
                piece.text,
                piece.heading,
                piece.page,
                piece.place,
                piece.start,
                piece.end,
                piece.tokens,
            )
            for piece in library.chunks(owner, one.id, limit=1_000)
        ]
        row = (
            one.source,
            one.sha256,
            one.bytes,
            one.media_type,
            one.status,
            one.error,
            one.note,
            one.chunks,
            one.tokens,
        )
        sections = library.store.database.value(
            "select sections from texts where document_id = ?", [one.id]
        )
        more = (one.pages, one.title, one.created_at, one.updated_at, one.tags, sections)
        told[name] = (row, more, text, pieces)
    return told


def test_what_goes_out_comes_in_elsewhere(filled: Shelf, elsewhere: Shelf, exported: Path) -> None:
    before, hits = facts(filled.library, OWNER, "Docs"), found(filled.library, OWNER, "Docs")
    assert hits
    shutil.rmtree(filled.files)
    made = elsewhere.library.transfer.load("bob", exported)
    assert (made.name, made.owner, made.documents, made.chunks) == (
        "Docs",
        "bob",
        4,
        sum(len(one[3]) for one in before.values()),
    )
    assert facts(elsewhere.library, "bob", "Docs") == before
    assert found(elsewhere.library, "bob", "Docs") == hits
    assert elsewhere.library.options("bob", "Docs") == SearchOptions(top_k=3, min_score=0.01)
    assert elsewhere.library.tags("bob", "Docs") == ["2026", "kitchen"]
    for name, one in documents(elsewhere.library, "bob").items():
        if one.sha256:
            assert (
                elsewhere.library.original("bob", one.id).read_text(encoding="utf-8") == TEXTS[name]
            )
    assert elsewhere.library.check() == []
    elsewhere.reopen()
    assert found(elsewhere.library, "bob", "Docs") == hits


def test_beside_the_one_it_came_from_it_lives_a_life_of_its_own(
    filled: Shelf, exported: Path
) -> None:
    hits = found(filled.library, OWNER, "Docs")
    filled.library.transfer.load(OWNER, exported, " Copy ")
    assert not {one.id for one in documents(filled.library).values()} & {
        one.id for one in documents(filled.library, collection="Copy").values()
    }
    filled.library.delete_collection(OWNER, "Docs")
    assert found(filled.library, OWNER, "Copy") == hits
    assert filled.library.check() == [], "the originals that both shared must stay"
    again = filled.library.ingest(
        OWNER, "Copy", [filled.source("tea.md", TEXTS["tea.md"]), filled.source("new.md", "Cocoa.")]
    )
    assert [one.status for one in again] == ["unchanged", "indexed"]


def test_a_failed_document_can_be_retried_from_its_original(
    shelf: Shelf, elsewhere: Shelf, tmp_path: Path
) -> None:
    shelf.library.ingest(OWNER, "Docs", [shelf.source("bad.pdf", "%PDF-1.4 nothing of the sort")])
    path = shelf.library.transfer.export(OWNER, "Docs", tmp_path / "docs.zip")
    elsewhere.library.transfer.load(OWNER, path)
    bad = documents(elsewhere.library)["bad.pdf"]
    assert (bad.status, bad.chunks, bad.error) == (
        "failed",
        0,
        documents(shelf.library)["bad.pdf"].error,
    )
    assert elsewhere.library.original(OWNER, bad.id).read_text() == "%PDF-1.4 nothing of the sort"


def test_what_is_taken_in_just_now_goes_out_as_it_answers(
    shelf: Shelf, elsewhere: Shelf, tmp_path: Path
) -> None:
    shelf.library.ingest(OWNER, "Docs", [shelf.source("tea.md", TEXTS["tea.md"])])
    store = shelf.library.store
    version, tea = (
        store.version(shelf.library.collection(OWNER, "Docs").id),
        documents(shelf.library)["tea.md"],
    )
    new = StoredDocument("new", version.collection_id, "new.md", "upload:new.md", "b" * 64, 5)
    changed = StoredDocument(tea.id, version.collection_id, "tea.md", tea.source, "a" * 64, 5)
    store.register(version, [new], [changed])
    elsewhere.library.transfer.load(
        OWNER, shelf.library.transfer.export(OWNER, "Docs", tmp_path / "docs.zip")
    )
    rows = documents(elsewhere.library)
    assert {name: (one.status, one.sha256) for name, one in rows.items()} == {
        "tea.md": ("indexed", tea.sha256)
    }
    assert elsewhere.library.store.read_pending(rows["tea.md"].id) == tea.sha256


def test_an_empty_collection(shelf: Shelf, tmp_path: Path) -> None:
    shelf.library.create_collection(OWNER, "Empty")
    path = shelf.library.transfer.export(OWNER, "Empty", tmp_path / "new" / "empty.zip")
    shelf.library.delete_collection(OWNER, "Empty")
    made = shelf.library.transfer.load(OWNER, path)
    assert (made.name, made.documents, made.chunks) == ("Empty", 0, 0)
    assert shelf.library.retrieve(OWNER, "Empty", "anything") == []


def test_a_path_of_another_machine_is_not_read_here(
    filled: Shelf, elsewhere: Shelf, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("The password is swordfish.")
    filled.library.ingest(
        OWNER,
        "Docs",
        [filled.source("notes.txt", "My notes.").__class__("notes.txt", secret, str(secret))],
    )
    path = filled.library.transfer.export(OWNER, "Docs", tmp_path / "docs.zip")
    secret.write_text("The password is mackerel.")
    elsewhere.library.transfer.load(OWNER, path)
    notes = documents(elsewhere.library)["notes.txt"]
    assert notes.source == f"imported:{secret}"
    elsewhere.library.retry(OWNER, [notes.id])
    assert elsewhere.library.text(OWNER, notes.id) == "The password is swordfish."


def test_the_embedder_need_not_be_here(filled: Shelf, elsewhere: Shelf, exported: Path) -> None:
    def rename(content: dict[str, Any]) -> None:
        content["version"]["embedder"] = "a model of somebody else"

    made = elsewhere.library.transfer.load(OWNER, changed(exported, rename))
    assert made.embedder == "a model of somebody else"
    assert (
        elsewhere.library.retrieve(OWNER, "Docs", "Danube", mode="lexical")[0].document
        == "rivers.md"
    )
    with pytest.raises(ConfigError, match="a model of somebody else"):
        elsewhere.library.retrieve(OWNER, "Docs", "Danube", mode="dense")


def test_names_that_cannot_be_used(filled: Shelf, exported: Path) -> None:
    load = filled.library.transfer.load
    for name, reason in (
        ("", "a collection 'Docs' already; give another name"),
        ("Docs", "already"),
        ("a\nb", "cannot be"),
    ):
        with pytest.raises(ConfigError, match=reason):
            load(OWNER, exported, name)
    with pytest.raises(NotFound, match="no collection 'Nowhere'"):
        filled.library.transfer.export(OWNER, "Nowhere", exported)
    with pytest.raises(NotFound):
        filled.library.transfer.export("bob", "Docs", exported)
    assert load("bob", exported).name == "Docs"


def test_file_names_can_be_stored_everywhere() -> None:
    assert file_name("Contracts 2026") == "Contracts 2026.agentkit.zip"
    assert file_name("../a/b:c") == "_a_b_c.agentkit.zip"
    assert file_name("..") == "collection.agentkit.zip"
    assert len(file_name("日" * 120).encode()) <= 140


# Files that are not as they should be


def test_the_resealed_file_of_these_tests_is_one_that_loads(
    exported: Path, elsewhere: Shelf
) -> None:
    assert (
        elsewhere.library.transfer.load(OWNER, resealed(exported, members(exported))).documents == 4
    )


def test_bytes_that_changed_anywhere_are_noticed(exported: Path, elsewhere: Shelf) -> None:
    whole = exported.read_bytes()
    damaged = exported.with_name("damaged.zip")
    for place in range(5, len(whole), len(whole) // 40):
        damaged.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            elsewhere.library.transfer.load(OWNER, damaged)
        except ConfigError:
            untouched(elsewhere)
        else:  # a byte that nothing depends on, such as a time in the archive's directory
            assert facts(elsewhere.library, OWNER, "Docs").keys() == {*TEXTS, "empty.txt"}
            elsewhere.library.delete_collection(OWNER, "Docs")


def test_a_file_that_was_cut_short(exported: Path, elsewhere: Shelf) -> None:
    whole = exported.read_bytes()
    for part in (0.0, 0.1, 0.5, 0.9, 0.999):
        exported.write_bytes(whole[: int(len(whole) * part)])
        refuse(elsewhere, exported, "is not an exported collection, or is damaged or cut short")
    refuse(elsewhere, exported.with_name("missing.zip"), "cannot be read")
    refuse(elsewhere, exported.parent, "cannot be read")


def test_files_of_others(exported: Path, elsewhere: Shelf, tmp_path: Path) -> None:
    path, content = tmp_path / "other.zip", members(exported)
    refuse(elsewhere, pack(path, {"readme.txt": b"hello"}), "but not an exported collection")
    refuse(
        elsewhere,
        pack(path, {"manifest.json": b'{"name": "a browser extension"}'}),
        "but not an exported collection",
    )
    refuse(
        elsewhere, pack(path, {"manifest.json": b"[" * 100_000}), "is not an exported collection"
    )
    refuse(elsewhere, pack(path, content, zipfile.ZIP_DEFLATED), "is compressed or encrypted")
    refuse(
        elsewhere,
        pack(path, {**content, "../../evil.py": b"x"}),
        "'../../evil.py', which does not belong",
    )
    refuse(
        elsewhere,
        pack(path, {**content, f"originals/{'a' * 64}": b"x"}),
        "is missing in it, or in its manifest",
    )
    refuse(
        elsewhere,
        pack(path, {name: data for name, data in content.items() if name != CHUNKS}),
        "is missing in it",
    )
    refuse(
        elsewhere,
        resealed(exported, {**content, f"originals/{'a' * 64}": b"x"}),
        "is not the file that its name says",
    )
    refuse(elsewhere, resealed(exported, {**content, "../../evil.py": b"x"}), "does not belong")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_members_of_the_same_name(exported: Path, elsewhere: Shelf) -> None:
    with zipfile.ZipFile(exported, "a") as archive:
        archive.writestr(DOCUMENTS, b"another")
    refuse(elsewhere, exported, "several members of the same name")


def test_a_newer_format_and_an_impossible_manifest(exported: Path, elsewhere: Shelf) -> None:
    def put(*path: str, value: Any) -> Callable[[dict[str, Any]], None]:
        def change(manifest: dict[str, Any]) -> None:
            for part in path[:-1]:
                manifest = manifest[part]
            manifest[path[-1]] = value

        return change

    refuse(
        elsewhere,
        changed(exported, put("number", value=2)),
        r"newer version of agentkit \(format 2, known 1\)",
    )
    refuse(
        elsewhere,
        changed(exported, put("version", value=None)),
        "its manifest is not as it should be",
    )
    refuse(
        elsewhere,
        changed(exported, put("members", value=[])),
        "is missing|is not an exported collection",
    )
    refuse(
        elsewhere,
        changed(exported, put("members", CHUNKS, value=3)),
        "is not an exported collection, or is damaged",
    )
    refuse(
        elsewhere,
        changed(exported, put("members", CHUNKS, "bytes", value=3)),
        "chunks.parquet is damaged",
    )
    refuse(
        elsewhere,
        changed(exported, put("version", "dimension", value=5)),
        "not every vector has the 5 numbers|impossible probe",
    )
    refuse(
        elsewhere, changed(exported, put("version", "dimension", value=True)), "impossible sizes"
    )
    refuse(elsewhere, changed(exported, put("version", "overlap", value=10**6)), "impossible sizes")
    refuse(elsewhere, changed(exported, put("version", "probe", value=[1.0])), "impossible probe")
    refuse(
        elsewhere,
        changed(exported, put("counts", "documents", value=3)),
        "does not have the documents and chunks",
    )
    refuse(
        elsewhere,
        changed(exported, put("collection", "options", value={"colour": 1})),
        "no search options colour",
    )
    refuse(
        elsewhere,
        changed(exported, put("collection", "options", value={"top_k": -1})),
        "top_k is -1",
    )
    refuse(elsewhere, changed(exported, put("collection", "name", value="")), "cannot be the name")


def test_forged_tables(exported: Path, elsewhere: Shelf) -> None:
    dimension = elsewhere.library.embedder.dimension
    nothing = [float("nan"), *[0.0] * (dimension - 1)]
    for name, column, value, reason in (
        (CHUNKS, "embedding", [0.5], f"not every vector has the {dimension} numbers"),
        (CHUNKS, "embedding", nothing, r"infinite or none at all \(NaN\)"),
        (CHUNKS, "end_at", 10**9, "outside of its document's text"),
        (CHUNKS, "start_at", -1, "outside of its document's text"),
        (CHUNKS, "ordinal", -1, "negative"),
        (CHUNKS, "document_id", "nobody", "document 'nobody' that is not in it"),
        (DOCUMENTS, "status", "waiting", "its status is 'waiting'"),
        (DOCUMENTS, "sha256", "../../etc/passwd", "its sha256 is not one"),
        (DOCUMENTS, "name", "", "it has no name"),
        (DOCUMENTS, "bytes", -1, "a count is negative"),
        (DOCUMENTS, "tags", ["a\nb"], "its tags are not possible"),
        (DOCUMENTS, "sections", "[[0, 99999999, 'a', null, '']]", "its sections"),
        (DOCUMENTS, "sections", '[[0, 99999999, "a", null, ""]]', "its sections"),
        (DOCUMENTS, "sections", "{", "its sections"),
    ):
        refuse(elsewhere, forged(exported, name, column, value), reason)
    twice = (
        pyarrow.parquet.read_table(pyarrow.BufferReader(members(exported)[DOCUMENTS]))
        .column("id")[0]
        .as_py()
    )
    refuse(elsewhere, forged(exported, DOCUMENTS, "id", twice, row=1), "it is there twice")
    refuse(
        elsewhere,
        forged(exported, DOCUMENTS, "chunks", 77, row=1),
        "does not have the documents|no text",
    )


def test_tables_that_are_not_ours(exported: Path, elsewhere: Shelf, tmp_path: Path) -> None:
    content, path = members(exported), tmp_path / "table.parquet"
    ours = pyarrow.parquet.read_table(pyarrow.BufferReader(content[DOCUMENTS])).cast(
        schema(DOCUMENTS)
    )
    refuse(
        elsewhere,
        resealed(exported, {**content, DOCUMENTS: b"no parquet"}),
        "documents.parquet cannot be read",
    )
    wrong = parquet(path, ours.drop_columns(["source"]), dictionary=False)
    refuse(elsewhere, resealed(exported, {**content, DOCUMENTS: wrong}), "other columns")
    bomb = parquet(path, ours, dictionary=True)
    refuse(
        elsewhere, resealed(exported, {**content, DOCUMENTS: bomb}), "written by another program"
    )
    cut = content[DOCUMENTS]
    refuse(
        elsewhere,
        resealed(exported, {**content, DOCUMENTS: cut[:4] + bytes(20) + cut[24:]}),
        "another program",
    )
    refuse(elsewhere, resealed(exported, {**content, DOCUMENTS: cut[:-60]}), "cannot be read")


def test_a_table_that_would_fill_the_memory(exported: Path) -> None:
    with exported.open("rb") as opened:
        file = Bundle(exported.name, opened)
        rows = file.manifest["counts"]["chunks"]
        assert (
            sum(group.num_rows for group in groups(file, CHUNKS, rows, largest=10**6)) == rows > 3
        )
        with pytest.raises(ConfigError, match="unpack to more than the 1,000 bytes"):
            list(groups(file, CHUNKS, rows, largest=1_000))


def test_a_window_reads_what_the_archive_holds(exported: Path) -> None:
    with reading(exported) as file:
        window = file.table(CHUNKS)
        assert window.read() == members(exported)[CHUNKS]
        window.seek(-4, 2)
        assert window.read(10) == b"PAR1"
        assert set(file.originals.values()) == {len(text.encode()) for text in TEXTS.values()}


# Ends in the middle


def test_a_stopped_transfer_leaves_nothing(filled: Shelf, elsewhere: Shelf, exported: Path) -> None:
    signal_ = StopSignal()
    signal_.set()
    target = exported.with_name("stopped.zip")
    with stoppable(signal_):
        with pytest.raises(Stopped):
            filled.library.transfer.export(OWNER, "Docs", target)
        with pytest.raises(Stopped):
            elsewhere.library.transfer.load(OWNER, exported)
    untouched(elsewhere)
    assert not target.exists()
    assert not list(target.parent.glob("*.tmp")) + list(target.parent.glob(".*"))


def test_a_failure_while_rows_go_in_leaves_nothing(exported: Path, elsewhere: Shelf) -> None:
    elsewhere.database.execute("alter table chunks rename column tokens to weight")
    with pytest.raises(Exception, match=r"tokens|aborted"):
        elsewhere.library.transfer.load(OWNER, exported)
    untouched(elsewhere)
    elsewhere.database.execute("alter table chunks rename column weight to tokens")
    assert elsewhere.library.transfer.load(OWNER, exported).documents == 4


def test_a_damaged_original_is_said_and_no_file_is_made(filled: Shelf, tmp_path: Path) -> None:
    tea = documents(filled.library)["tea.md"]
    filled.library.original(OWNER, tea.id).write_text("Something else.")
    with pytest.raises(StoreError, match=rf"{tea.sha256} is damaged"):
        filled.library.transfer.export(OWNER, "Docs", tmp_path / "docs.zip")
    assert not (tmp_path / "docs.zip").exists()


def test_an_original_that_is_gone_is_left_out(
    filled: Shelf, elsewhere: Shelf, tmp_path: Path
) -> None:
    tea = documents(filled.library)["tea.md"]
    filled.library.original(OWNER, tea.id).unlink()
    elsewhere.library.transfer.load(
        OWNER, filled.library.transfer.export(OWNER, "Docs", tmp_path / "docs.zip")
    )
    assert facts(elsewhere.library, OWNER, "Docs") == facts(filled.library, OWNER, "Docs")
    assert [problem.what for problem in elsewhere.library.check()] == [
        f"The original of tea.md is missing in {elsewhere.settings.data / 'files'}."
    ]


CHILD = """
import resource, signal, sys
from pathlib import Path
from agentkit.database import Database
from agentkit.errors import StoreError
from agentkit.retrieval import FakeEmbedder, Library
from agentkit.settings import Settings

settings = Settings(data=Path(sys.argv[1]))
library = Library(Database(settings.data / "agentkit.duckdb"), settings, FakeEmbedder())
if sys.argv[2] == "full":
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3_000, resource.RLIM_INFINITY))
    try:
        library.transfer.export("ann", "Docs", Path(sys.argv[3]))
    except StoreError as error:
        sys.stdout.write(str(error))
else:
    from agentkit.retrieval.transfer import transfer
    import os
    count = 0
    def killed(self, *given):
        os.kill(os.getpid(), signal.SIGKILL)
    setattr(transfer.Transfer, sys.argv[2], killed)
    library.transfer.load("ann", Path(sys.argv[3]))
sys.stdout.flush()
import os
os._exit(0)
"""


def child(shelf: Shelf, what: str, path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", CHILD, str(shelf.settings.data), what, str(path)]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def test_a_full_disk_keeps_the_file_that_was_there(filled: Shelf, exported: Path) -> None:
    before = exported.read_bytes()
    filled.close()
    ended = child(filled, "full", exported)
    assert "could not be written (File too large); check free space" in ended.stdout, ended.stderr
    assert exported.read_bytes() == before
    assert not list(exported.parent.glob(".*.tmp"))
    filled.open()


@pytest.mark.parametrize("step", ["_add_documents", "_add_chunks"])
def test_a_killed_import_is_not_there_at_all(exported: Path, elsewhere: Shelf, step: str) -> None:
    elsewhere.close()
    ended = child(elsewhere, step, exported)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    elsewhere.open()
    assert elsewhere.library.collections(OWNER) == []
    assert elsewhere.library.transfer.load(OWNER, exported).documents == 4
    assert elsewhere.library.check() == []


# Any names and texts

LETTERS = st.characters(codec="utf-8")
NAMES = st.text(LETTERS, min_size=1, max_size=40)


@settings(max_examples=8, deadline=None)
@given(st.dictionaries(NAMES, st.text(LETTERS, max_size=300), max_size=5), st.data())
def test_any_names_and_texts_come_back(texts: dict[str, str], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shelf = Shelf(Path(folder))
        try:
            plain = [
                shelf.source(f"{number}.txt", text) for number, text in enumerate(texts.values())
            ]
            sources = [
                type(one)(name, one.path, f"upload:{name}")
                for one, name in zip(plain, texts, strict=True)
            ]
            assume(len({one.name for one in sources}) == len(sources))
            shelf.library.create_collection(OWNER, "Docs")
            shelf.library.ingest(OWNER, "Docs", sources)
            ids = [one.id for one in documents(shelf.library).values()]
            tags = data.draw(
                st.lists(st.sampled_from(["a b", "ü", "=1", "\N{SNOWMAN}"]), max_size=3)
            )
            shelf.library.tag_documents(OWNER, ids, add=tags)
            path = shelf.library.transfer.export(OWNER, "Docs", shelf.files / "docs.zip")
            shelf.library.transfer.load("bob", path)
            assert facts(shelf.library, "bob", "Docs") == facts(shelf.library, OWNER, "Docs")
        except AgentkitError as error:
            pytest.fail(str(error))
        finally:
            shelf.close()
