"""Data sets in BEIR's layout, as a folder and as a .zip, become a collection and a question set."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from agentkit.core import bus, stopping
from agentkit.core.stopping import StopSignal
from agentkit.errors import ConfigError, Stopped
from agentkit.events import DocumentDone, Event
from agentkit.messages import new_id
from agentkit.retrieval import Library
from agentkit.retrieval.evaluation.beir import Dataset, load
from agentkit.retrieval.store.questions import Question
from agentkit.retrieval.types import Scope, StoredDocument
from tests.retrieval.conftest import OWNER, Shelf

TOPICS = ["volcano lava", "violin strings", "tax return"]


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    folder = tmp_path / "topics"
    (folder / "qrels").mkdir(parents=True)
    corpus = [
        {"_id": f"d{n}", "title": topic.title(), "text": f"All about {topic}."}
        for n, topic in enumerate(TOPICS)
    ]
    corpus += [
        {"_id": "empty", "title": "", "text": " "},
        {"_id": "untitled", "text": "Nothing of interest."},
    ]
    queries = [{"_id": f"q{n}", "text": f"what is {topic}"} for n, topic in enumerate(TOPICS)]
    for name, rows in (("corpus", corpus), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text(
            "\n".join(json.dumps(row) for row in rows), encoding="utf-8"
        )
    lines = [
        "query-id\tcorpus-id\tscore",
        "q0\td0\t2",
        "q0\td1\t0",
        "q0\td2\t-1",
        "q1\td1\t1",
        "q1\tempty\t1",
        "gone\td1\t1",
    ]
    (folder / "qrels" / "test.tsv").write_text("\n".join(lines), encoding="utf-8")
    return folder


def zipped(folder: Path, path: Path, top: str = "topics/") -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*.*")):
            archive.write(file, top + file.relative_to(folder).as_posix())
    return path


@pytest.mark.parametrize("top", [None, "", "topics/"])
def test_a_folder_and_a_zip_are_the_same(dataset: Path, tmp_path: Path, top: str | None) -> None:
    found = Dataset(dataset if top is None else zipped(dataset, tmp_path / "a.ZIP", top))
    assert [line["_id"] for line in found.corpus()] == ["d0", "d1", "d2", "untitled"]
    assert found.size() == 4
    assert found.questions() == [
        Question("what is volcano lava", {"d0": 2}),
        Question("what is violin strings", {"d1": 1, "empty": 1}),
    ]


def test_it_becomes_a_collection_and_a_set(shelf: Shelf, dataset: Path) -> None:
    heard: list[Event] = []
    with bus.listening(heard.append):
        made = load(shelf.library, OWNER, dataset, " Topics ")
    assert (made.name, made.collection, made.questions) == ("Topics", "Topics", 2)
    documents = {one.name: one for one in shelf.library.documents(OWNER, "Topics")}
    assert set(documents) == {"d0", "d1", "d2", "untitled"}
    assert {one.status for one in documents.values()} == {"indexed"}
    assert documents["d0"].title == "Volcano Lava"
    assert [(one.document, one.status) for one in heard if isinstance(one, DocumentDone)] == [
        (name, "indexed") for name in ("d0", "d1", "d2", "untitled")
    ]
    assert shelf.library.text(OWNER, documents["d0"].id) == "All about volcano lava."
    assert shelf.library.retrieve(OWNER, "Topics", "violin strings")[0].document == "d1"
    assert not shelf.library.check(), "documents without an original are nothing to complain about"


@pytest.mark.parametrize(
    "make",
    [
        lambda library: library.create_collection(OWNER, "Topics"),
        lambda library: library.questions.create(OWNER, "Topics"),
    ],
)
def test_a_name_that_is_taken(
    shelf: Shelf, dataset: Path, make: Callable[[Library], object]
) -> None:
    make(shelf.library)
    with pytest.raises(ConfigError, match="'Topics' already"):
        load(shelf.library, OWNER, dataset, "Topics")


def test_a_load_that_was_stopped_goes_on(shelf: Shelf, dataset: Path) -> None:
    many = [{"_id": f"more{n}", "text": f"More of topic number {n}."} for n in range(200)]
    with (dataset / "corpus.jsonl").open("a", encoding="utf-8") as corpus:
        corpus.writelines("\n" + json.dumps(row) for row in many)
    signal = StopSignal()

    def stop_early(event: Event) -> None:
        if isinstance(event, DocumentDone):
            signal.set()

    with pytest.raises(Stopped), stopping.stoppable(signal), bus.listening(stop_early):
        load(shelf.library, OWNER, dataset, "Topics")
    kept = shelf.library.documents(OWNER, "Topics")
    assert 0 < len(kept) < 204
    assert {one.status for one in kept} == {"indexed"}, "nothing looks as if it were under way"
    assert shelf.library.questions.sets(OWNER) == []
    heard: list[Event] = []
    with bus.listening(heard.append):
        load(shelf.library, OWNER, dataset, "Topics")
    names = [one.name for one in shelf.library.documents(OWNER, "Topics")]
    assert len(names) == len(set(names)) == 204
    assert sum(isinstance(one, DocumentDone) for one in heard) == 204 - len(kept)


def test_a_load_that_was_killed_goes_on_and_what_it_left_is_removed(
    shelf: Shelf, elsewhere: Shelf, dataset: Path, tmp_path: Path
) -> None:
    made = shelf.library.create_collection(OWNER, "Topics")
    left = [
        StoredDocument(new_id(), made.id, f"d{n}", f"memory:d{n}", "", 5, "text/plain")
        for n in range(3)
    ]
    with shelf.database.transaction():
        shelf.library.store.register(shelf.library.store.version(made.id), left, [])
    assert shelf.reopen().interrupt_orphans() == 3
    load(shelf.library, OWNER, dataset, "Topics")
    documents = {one.name: one.status for one in shelf.library.documents(OWNER, "Topics")}
    assert documents == dict.fromkeys(("d0", "d1", "d2", "untitled"), "indexed")
    assert len(shelf.library.documents(OWNER, "Topics")) == 4
    exported = shelf.library.transfer.export(OWNER, "Topics", tmp_path / "topics.zip")
    assert elsewhere.library.transfer.load(OWNER, exported).documents == 4


def test_its_documents_have_a_text_to_be_read(shelf: Shelf, dataset: Path) -> None:
    load(shelf.library, OWNER, dataset, "Topics")
    found = shelf.library.documents_within(OWNER, ["Topics"], Scope())
    assert [one.name for one in found] == ["d0", "d1", "d2", "untitled"]


def test_half_a_character_becomes_a_question_mark(shelf: Shelf, dataset: Path) -> None:
    half = {"_id": "half\ud83d", "title": "Half \ud83d", "text": "Half a \ud83d face."}
    with (dataset / "corpus.jsonl").open("a", encoding="utf-8") as corpus:
        corpus.write("\n" + json.dumps(half))
    load(shelf.library, OWNER, dataset, "Topics")
    (found,) = [one for one in shelf.library.documents(OWNER, "Topics") if "half" in one.name]
    assert (found.name, found.title, found.status) == ("half?", "Half ?", "indexed")
    assert shelf.library.text(OWNER, found.id) == "Half a ? face."


def test_what_is_no_data_set_is_refused(dataset: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"is neither a folder nor a \.zip"):
        Dataset(dataset / "corpus.jsonl")
    with pytest.raises(ConfigError, match=r"cannot be read as a \.zip"):
        Dataset(tmp_path / "nowhere.zip")
    (broken := tmp_path / "broken.zip").write_bytes(b"PK\x03\x04 and nothing else")
    with pytest.raises(ConfigError, match=r"cannot be read as a \.zip"):
        Dataset(broken)
    (dataset / "qrels" / "test.tsv").unlink()
    for path in (dataset, zipped(dataset, tmp_path / "half.zip")):
        with pytest.raises(
            ConfigError,
            match=r"qrels.tsv cannot be read .*it must have corpus.jsonl, queries.jsonl",
        ):
            Dataset(path).questions()


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("corpus.jsonl", b" " * 20_000_000)
    with pytest.raises(ConfigError, match=r"would unpack 1 entries and 20,000,000 bytes"):
        Dataset(tmp_path / "bomb.zip")
    with zipfile.ZipFile(tmp_path / "many.zip", "w") as archive:
        for number in range(10_001):
            archive.writestr(f"{number}", b"")
    with pytest.raises(ConfigError, match="would unpack 10,001 entries"):
        Dataset(tmp_path / "many.zip")


def test_a_damaged_entry_is_told(dataset: Path, tmp_path: Path) -> None:
    path = zipped(dataset, tmp_path / "a.zip")
    data = bytearray(path.read_bytes())
    data[80:90] = b"\xff" * 10
    path.write_bytes(data)
    with pytest.raises(ConfigError, match="cannot be read after line"):
        list(Dataset(path).corpus())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"_id": 5, "text": "a"}', "line 1 is not a JSON object with _id and text"),
        (b'{"_id": "a", "text": null}', "line 1 is not"),
        (b'{"_id": " ", "text": "a"}', "line 1 is not"),
        (b"[]", "line 1 is not"),
        (b"\xff\xfe", "cannot be read after line 1"),
    ],
)
def test_lines_that_cannot_be_understood(dataset: Path, line: bytes, message: str) -> None:
    (dataset / "corpus.jsonl").write_bytes(line + b"\n")
    with pytest.raises(ConfigError, match=message):
        list(Dataset(dataset).corpus())


@pytest.mark.parametrize("grade", ["²", "--1", "9" * 5_000, "high"])
def test_grades_that_cannot_be_understood(dataset: Path, grade: str) -> None:
    with (dataset / "qrels" / "test.tsv").open("a", encoding="utf-8") as file:
        file.write(f"\nq1\td1\t{grade}\n")
    with pytest.raises(ConfigError, match=r"test.tsv line \d+ is 'q1.*; it must be query-id"):
        Dataset(dataset).judgements()
