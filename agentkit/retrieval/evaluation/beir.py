"""Data sets in BEIR's layout, a folder or a .zip: documents, questions, and which document answers
which question how well.

`corpus.jsonl` has `_id`, `title` and `text`, `queries.jsonl` has `_id` and `text`, `qrels.tsv` (or
`qrels/test.tsv`) has query-id, corpus-id and score. See https://github.com/beir-cellar/beir for
data sets.
"""

from __future__ import annotations

import json
import lzma
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

from agentkit.core import bus
from agentkit.documents import DocumentText, Section, split
from agentkit.errors import ConfigError, explain_os
from agentkit.events import DocumentDone
from agentkit.messages import new_id
from agentkit.retrieval.embedding.embed import Embedder
from agentkit.retrieval.ingest.ingest import GroupWriter
from agentkit.retrieval.ingest.intake import Ready
from agentkit.retrieval.library import Library
from agentkit.retrieval.names import utf8
from agentkit.retrieval.store import sections
from agentkit.retrieval.store.questions import HIGHEST_GRADE, Question, QuestionSet
from agentkit.retrieval.types import IndexVersion, StoredDocument

Judgements = dict[str, dict[str, int]]
_GROUP = 64
_SOURCE = "memory:"
_CORPUS, _QUERIES = "corpus.jsonl", "queries.jsonl"
_JUDGEMENTS = ("qrels.tsv", "qrels/test.tsv")
_GRADE = re.compile(r"-?\d{1,9}")
_FILES = frozenset((_CORPUS, _QUERIES, *_JUDGEMENTS))
_UNREADABLE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, RuntimeError, EOFError, ValueError)
"""What a damaged, encrypted or oddly packed archive raises, and text in another encoding than
UTF-8.
"""
_LONGEST_LINE = 32 * 2**20
_MOST_ENTRIES, _MOST_BYTES, _HIGHEST_RATIO = 10_000, 8 * 2**30, 200


class Dataset:
    """A data set at a path, read line by line; raises ConfigError unless it is a folder or a
    .zip that may be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path).expanduser()
        self._files: _Files
        if self.path.is_dir():
            self._files = _Folder(self.path)
        elif self.path.suffix.lower() == ".zip":
            self._files = _Archive(self.path)
        else:
            raise ConfigError(
                f"{self.path} cannot be read: it is neither a folder nor a .zip; {_NEEDED}"
            )

    def size(self) -> int:
        """How many documents with text the corpus has; raises ConfigError."""
        return sum(1 for _ in self.corpus())

    def corpus(self) -> Iterator[dict[str, str]]:
        """`_id`, `text` and `title` of the documents that have text; raises ConfigError."""
        return (line for line in self._read_objects(_CORPUS) if line["text"].strip())

    def queries(self) -> dict[str, str]:
        """The questions by id; raises ConfigError."""
        return {line["_id"]: line["text"] for line in self._read_objects(_QUERIES)}

    def judgements(self) -> Judgements:
        """By id of a question: the grade of each document that people judged; raises
        ConfigError.
        """
        file = next(filter(self._files.has, _JUDGEMENTS), _JUDGEMENTS[0])
        found: Judgements = {}
        for number, line in self._read_lines(file):
            fields = line.split("\t")
            has_grade = _GRADE.fullmatch(fields[-1]) is not None
            if number == 1 and not has_grade:  # the names of the columns
                continue
            if len(fields) != 3 or not has_grade:
                where = f"{self.path / file} line {number:,}"
                raise ConfigError(
                    f"{where} is {line[:200]!r}; it must be query-id, corpus-id and score between"
                    " tabs."
                )
            query, document, grade = fields
            found.setdefault(query, {})[document] = int(grade)
        return found

    def questions(self) -> list[Question]:
        """The questions that a document answers, with those documents by id; raises ConfigError
        when there are none.
        """
        found = list(self._find_answered())
        if not found:
            raise ConfigError(
                f"{self.path} has no query with a relevant document; qrels.tsv must name ids of"
                " queries.jsonl."
            )
        self._check_corpus(found)
        return found

    def _find_answered(self) -> Iterator[Question]:
        queries = self.queries()
        for query, judged in self.judgements().items():
            text = queries.get(query, "")
            relevant = {
                name: min(grade, HIGHEST_GRADE) for name, grade in judged.items() if grade > 0
            }
            if relevant and text.strip():
                yield Question(text, relevant)

    def _check_corpus(self, questions: Sequence[Question]) -> None:
        """Raise ConfigError when none of the documents that answer is in the corpus."""
        wanted = set(chain.from_iterable(question.expected for question in questions))
        if not any(line["_id"] in wanted for line in self.corpus()):
            some = ", ".join(sorted(wanted)[:3])
            raise ConfigError(
                f"{self.path} has none of the documents that qrels.tsv names ({some}); it must name"
                f" ids of {_CORPUS}."
            )

    def _read_objects(self, file: str) -> Iterator[dict[str, str]]:
        for number, line in self._read_lines(file):
            try:
                value = _read_entry(line)
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                raise ConfigError(
                    f"{self.path / file} line {number:,} is not a JSON object with _id and text"
                    f" ({error})."
                ) from error
            yield value

    def _read_lines(self, file: str) -> Iterator[tuple[int, str]]:
        """The lines that are not empty, with their numbers from 1."""
        number = 0
        try:
            with self._files.open(file) as opened:
                while data := opened.readline(_LONGEST_LINE + 1):
                    number += 1
                    if len(data) > _LONGEST_LINE:
                        raise ConfigError(
                            f"{self.path / file} line {number:,} is longer than {_LONGEST_LINE:,}"
                            " bytes."
                        )
                    line = data.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                    if line.strip():
                        yield number, line
        except OSError as error:
            raise ConfigError(
                f"{self.path / file} cannot be read ({explain_os(error)}); {_NEEDED}"
            ) from error
        except _UNREADABLE as error:
            raise ConfigError(
                f"{self.path / file} cannot be read after line {number:,} ({error}); {_NEEDED}"
            ) from error


class _Files(Protocol):
    """Where the files of a data set lie."""

    def has(self, file: str) -> bool: ...

    def open(self, file: str) -> AbstractContextManager[BinaryIO]:
        """Open to read; raises OSError, and what is `_UNREADABLE`."""


class _Folder:
    """A folder with the files of a data set."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def has(self, file: str) -> bool:
        return (self._path / file).is_file()

    def open(self, file: str) -> AbstractContextManager[BinaryIO]:
        return (self._path / file).open("rb")


class _Archive:
    """A .zip with the files of a data set, at the top or in one folder."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            with zipfile.ZipFile(path) as archive:
                entries = archive.infolist()
        except (OSError, zipfile.BadZipFile, NotImplementedError, ValueError) as error:
            raise ConfigError(f"{path} cannot be read as a .zip ({error}); {_NEEDED}") from error

        self._entries: dict[str, zipfile.ZipInfo] = {}
        for entry in entries:
            inner = entry.filename.partition("/")[2]
            for file in _FILES.intersection((entry.filename, inner)):
                self._entries.setdefault(file, entry)
        self._check_size(len(entries))

    def has(self, file: str) -> bool:
        return file in self._entries

    @contextmanager
    def open(self, file: str) -> Iterator[BinaryIO]:
        if file not in self._entries:
            raise FileNotFoundError(2, "it is not there")
        with (
            zipfile.ZipFile(self._path) as archive,
            archive.open(self._entries[file].filename) as entry,
        ):
            yield cast("BinaryIO", entry)

    def _check_size(self, entries: int) -> None:
        """Raise ConfigError when so much would be unpacked that it was made to do harm."""
        size = sum(one.file_size for one in self._entries.values())
        packed = sum(one.compress_size for one in self._entries.values())
        most_bytes = min(_MOST_BYTES, _HIGHEST_RATIO * max(packed, 1) + 2**20)
        if entries > _MOST_ENTRIES or size > most_bytes:
            raise ConfigError(
                f"{self._path} would unpack {entries:,} entries and {size:,} bytes from"
                f" {packed:,}; at most {_MOST_ENTRIES:,} entries and {_MOST_BYTES:,} bytes,"
                f" {_HIGHEST_RATIO} times the packed ones, are read. Unpack it and give the folder."
            )


_NEEDED = f"it must have {_CORPUS}, {_QUERIES} and {_JUDGEMENTS[0]} (or {_JUDGEMENTS[1]})."


def load(library: Library, owner: str, path: Path, name: str) -> QuestionSet:
    """Make a collection and a question set, both of this name, of the data set at the path.

    A load that was stopped or killed goes on where it ended when it is asked for again. Emits
    DocumentDone for each document and DocumentProgress; raises Stopped, and ConfigError when the
    data set cannot be read or the name is taken.
    """
    dataset, name = Dataset(path), name.strip()
    questions = dataset.questions()
    if name in {one.name for one in library.questions.sets(owner)}:
        raise ConfigError(f"There is a question set {name!r} already; choose another name.")

    known: set[str] = set()
    if name in {one.name for one in library.collections(owner)}:
        known = _find_loaded(library, owner, name)
    else:
        library.create_collection(owner, name)
    missing = (line for line in dataset.corpus() if line["_id"] not in known)
    take_in(library, owner, name, missing)
    return library.questions.create(owner, name, name, questions)


def _find_loaded(library: Library, owner: str, name: str) -> set[str]:
    """Names of the documents that a load which ended early has taken in; what it left unfinished is
    removed.

    Raises ConfigError for a collection that no load has made.
    """
    documents = library.documents(owner, name)
    ours = [one for one in documents if one.source.startswith(_SOURCE)]
    is_ours = len(ours) == len(documents) > 0
    if not is_ours:
        raise ConfigError(f"There is a collection {name!r} already; choose another name.")
    library.delete_documents(owner, [one.id for one in ours if one.status != "indexed"])
    return {one.name for one in ours if one.status == "indexed"}


def take_in(
    library: Library, owner: str, collection: str, corpus: Iterator[Mapping[str, object]]
) -> int:
    """Split, embed, store and index entries of a corpus as an ingest does, each a document of its
    id's name.

    Gives how many there were; emits and raises as `load` does.
    """
    count = 0
    with library.writing(library.collection(owner, collection)) as writer:
        try:
            while lines := list(islice(corpus, _GROUP)):
                group = [_prepare(writer.embedder, writer.version, line) for line in lines]
                documents = [ready.document for ready in group]
                with library.store.database.transaction():
                    library.store.register(writer.version, documents, [])
                for done in _write(library, owner, writer, group):
                    bus.emit(done)
                count += len(group)
        finally:
            writer.settle()
    return count


def _write(
    library: Library, owner: str, writer: GroupWriter, group: list[Ready]
) -> list[DocumentDone]:
    try:
        return writer.write(group)
    except BaseException:  # else they would look for ever as if they were under way
        library.store.delete_documents(owner, [ready.document.id for ready in group])
        raise


def _prepare(embedder: Embedder, version: IndexVersion, line: Mapping[str, Any]) -> Ready:
    text, title = line["text"], line.get("title") or ""
    read = DocumentText(text, (Section(text, 0, len(text)),), "text/plain", title, None)
    document = StoredDocument(
        new_id(),
        version.collection_id,
        line["_id"],
        f"{_SOURCE}{line['_id']}",
        "",
        len(text.encode("utf-8", "replace")),
        read.media_type,
        title=title,
    )
    pieces = split(read, embedder, version.max_tokens, version.overlap)
    return Ready(document, text, pieces, 0.0, sections.pack(read.sections))


def _read_entry(line: str) -> dict[str, str]:
    """`_id`, `text` and `title` of a line; whatever is wrong with it raises an error."""
    entry: dict[str, Any] = json.loads(line)
    texts = {"_id": entry["_id"], "text": entry["text"], "title": entry.get("title") or ""}
    if set(map(type, texts.values())) != {str} or not entry["_id"].strip():
        raise TypeError("_id, text and title must be texts")
    return {name: utf8(text) for name, text in texts.items()}
