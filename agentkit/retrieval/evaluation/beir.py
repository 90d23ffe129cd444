"""Data sets in BEIR's layout, a folder or a .zip: documents, questions, and which document answers
which question how well.

`corpus.jsonl` has `_id`, `title` and `text`, `queries.jsonl` has `_id` and `text`, `qrels.tsv` (or
`qrels/test.tsv`) has query-id, corpus-id and score. See https://github.com/beir-cellar/beir for
data sets.
"""

from __future__ import annotations

import json
import lzma
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, cast

from agentkit.core import bus
from agentkit.documents import DocumentText, Section, split
from agentkit.errors import ConfigError
from agentkit.events import DocumentDone
from agentkit.messages import new_id
from agentkit.retrieval.embedding.embed import Embedder
from agentkit.retrieval.ingest.ingest import GroupWriter
from agentkit.retrieval.ingest.intake import Ready
from agentkit.retrieval.library import Library
from agentkit.retrieval.store import sections
from agentkit.retrieval.store.questions import HIGHEST_GRADE, Question, QuestionSet
from agentkit.retrieval.types import IndexVersion, StoredDocument

Judgements = dict[str, dict[str, int]]
_GROUP = 64
_SOURCE = "memory:"
_CORPUS, _QUERIES = "corpus.jsonl", "queries.jsonl"
_JUDGEMENTS = ("qrels.tsv", "qrels/test.tsv")
_UNREADABLE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, RuntimeError, EOFError, ValueError)
"""What a damaged, encrypted or oddly packed archive raises, and text that is no UTF-8."""
_LONGEST_LINE = 32 * 2**20
_MOST_ENTRIES, _MOST_BYTES, _HIGHEST_RATIO = 10_000, 8 * 2**30, 200


class Dataset:
    """A data set at a path, read line by line; raises ConfigError when there is no folder and no
    .zip that may be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path).expanduser()
        if not self.path.is_dir() and self.path.suffix.lower() != ".zip":
            raise ConfigError(f"{self.path} cannot be read: it is no folder and no .zip; {_NEEDED}")
        self._members = _members(self.path) if not self.path.is_dir() else {}

    def size(self) -> int:
        """How many documents with text the corpus has; raises ConfigError."""
        return sum(1 for _ in self.corpus())

    def corpus(self) -> Iterator[dict[str, Any]]:
        """The documents that have text: objects with `_id`, `text` and perhaps `title`; raises
        ConfigError.
        """
        return (line for line in self._objects(_CORPUS) if line["text"].strip())

    def queries(self) -> dict[str, str]:
        """The questions by id; raises ConfigError."""
        return {line["_id"]: line["text"] for line in self._objects(_QUERIES)}

    def judgements(self) -> Judgements:
        """By id of a question: the grade of each document that people judged; raises
        ConfigError.
        """
        file = next((file for file in _JUDGEMENTS if self._has(file)), _JUDGEMENTS[0])
        found: Judgements = {}
        for number, line in self._text(file):
            fields = line.split("\t")
            if number == 1 and not fields[-1].lstrip("-").isdigit():
                continue
            if len(fields) != 3 or not fields[2].lstrip("-").isdigit():
                where = f"{self.path / file} line {number:,}"
                raise ConfigError(
                    f"{where} is {line[:200]!r}; it must be query-id, corpus-id and score between"
                    " tabs."
                )
            found.setdefault(fields[0], {})[fields[1]] = int(fields[2])
        return found

    def questions(self) -> list[Question]:
        """The questions that a document answers, with those documents by id; raises ConfigError
        when there are none.
        """
        queries = self.queries()
        judged = {
            query: {name: min(grade, HIGHEST_GRADE) for name, grade in judged.items() if grade > 0}
            for query, judged in self.judgements().items()
            if queries.get(query, "").strip()
        }
        found = [
            Question(queries[query], relevant) for query, relevant in judged.items() if relevant
        ]
        if not found:
            raise ConfigError(
                f"{self.path} has no query with a relevant document; qrels.tsv must name ids of"
                " queries.jsonl."
            )
        wanted = {name for question in found for name in question.expected}
        if not any(line["_id"] in wanted for line in self.corpus()):
            some = ", ".join(sorted(wanted)[:3])
            raise ConfigError(
                f"{self.path} has none of the documents that qrels.tsv names ({some}); it must name"
                f" ids of {_CORPUS}."
            )
        return found

    def _objects(self, file: str) -> Iterator[dict[str, Any]]:
        for number, line in self._text(file):
            try:
                value = json.loads(line)
                texts = [value["_id"], value["text"], value.get("title") or ""]
                if not all(isinstance(one, str) for one in texts) or not texts[0].strip():
                    raise TypeError("_id, text and title must be texts")
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                raise ConfigError(
                    f"{self.path / file} line {number:,} is not a JSON object with _id and text"
                    f" ({error})."
                ) from error
            yield value

    def _text(self, file: str) -> Iterator[tuple[int, str]]:
        """The lines that are not empty, with their numbers from 1."""
        number = 0
        try:
            with self._opened(file) as opened:
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
                f"{self.path / file} cannot be read ({error.strerror or error}); {_NEEDED}"
            ) from error
        except _UNREADABLE as error:
            raise ConfigError(
                f"{self.path / file} cannot be read after line {number:,} ({error}); {_NEEDED}"
            ) from error

    def _has(self, file: str) -> bool:
        return file in self._members if self._members else (self.path / file).is_file()

    @contextmanager
    def _opened(self, file: str) -> Iterator[BinaryIO]:
        if self.path.is_dir():
            with (self.path / file).open("rb") as opened:
                yield opened
            return
        if file not in self._members:
            raise FileNotFoundError(2, "it is not there")
        with zipfile.ZipFile(self.path) as archive, archive.open(self._members[file]) as entry:
            yield cast("BinaryIO", entry)


_NEEDED = f"it must have {_CORPUS}, {_QUERIES} and {_JUDGEMENTS[0]} (or {_JUDGEMENTS[1]})."


def load(library: Library, owner: str, path: Path, name: str) -> QuestionSet:
    """Make a collection and a question set, both of this name, of the data set at the path.

    A load that was stopped goes on where it ended when it is asked for again. Emits DocumentDone
    for each document and DocumentProgress; raises Stopped, and ConfigError when the data set cannot
    be read or the name is taken.
    """
    dataset = Dataset(path)
    questions = dataset.questions()
    name = name.strip()
    if any(one.name == name for one in library.questions.sets(owner)):
        raise ConfigError(f"There is a question set {name!r} already; choose another name.")
    there = next((one for one in library.collections(owner) if one.name == name), None)
    documents = library.documents(owner, name) if there else []
    if any(not one.source.startswith(_SOURCE) for one in documents) or (there and not documents):
        raise ConfigError(f"There is a collection {name!r} already; choose another name.")
    if not there:
        library.create_collection(owner, name)
    known = {one.name for one in documents if one.status == "indexed"}
    take_in(library, owner, name, (line for line in dataset.corpus() if line["_id"] not in known))
    return library.questions.create(owner, name, name, questions)


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
                group = [_ready(writer.embedder, writer.version, line) for line in lines]
                with library.store.database.transaction():
                    library.store.register(writer.version, [ready.document for ready in group], [])
                for done in _written(library, owner, writer, group):
                    bus.emit(done)
                count += len(group)
        finally:
            writer.settle()
    return count


def _written(
    library: Library, owner: str, writer: GroupWriter, group: list[Ready]
) -> list[DocumentDone]:
    try:
        return writer.write(group)
    except BaseException:  # else they would look for ever as if they were under way
        library.store.delete_documents(owner, [ready.document.id for ready in group])
        raise


def _ready(embedder: Embedder, version: IndexVersion, line: Mapping[str, Any]) -> Ready:
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


def _members(path: Path) -> dict[str, str]:
    """By the name of a file of a data set: its name in the archive, at the top or in one folder."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
    except (OSError, zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read as a .zip ({error}); {_NEEDED}") from error
    found: dict[str, zipfile.ZipInfo] = {}
    for entry in entries:
        for file in (_CORPUS, _QUERIES, *_JUDGEMENTS):
            if entry.filename == file or (
                entry.filename.endswith(f"/{file}")
                and entry.filename.count("/") == file.count("/") + 1
            ):
                found.setdefault(file, entry)
    size, packed = (
        sum(one.file_size for one in found.values()),
        sum(one.compress_size for one in found.values()),
    )
    if (
        len(entries) > _MOST_ENTRIES
        or size > _MOST_BYTES
        or size > _HIGHEST_RATIO * max(packed, 1) + 2**20
    ):
        raise ConfigError(
            f"{path} would unpack {len(entries):,} entries and {size:,} bytes from {packed:,}; at"
            f" most {_MOST_ENTRIES:,} entries and {_MOST_BYTES:,} bytes, {_HIGHEST_RATIO} times the"
            " packed ones, are read. Unpack it and give the folder."
        )
    return {file: entry.filename for file, entry in found.items()}
