"""Taking documents in: what Intake has read is embedded in groups, stored in one transaction each,
then indexed.

A document is reported as indexed only after the transaction that stores it whole.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections import Counter
from collections.abc import Container, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from agentkit.core import bus, stopping
from agentkit.documents import Limits
from agentkit.errors import AgentkitError, ConfigError, ModelError, NotFound, Stopped, StoreError
from agentkit.events import DocumentDone, DocumentProgress, Stage
from agentkit.retrieval.embedding.embed import Embedder, checked, emit_embedding
from agentkit.retrieval.index.indexes import Indexes
from agentkit.retrieval.ingest.intake import Intake, Ready
from agentkit.retrieval.store.originals import Originals
from agentkit.retrieval.store.store import Finished, Store
from agentkit.retrieval.types import IndexVersion, Source, StoredDocument, utc_now

if TYPE_CHECKING:
    import numpy as np

PREFIX_TOKENS = 48
"""Tokens of title and heading, at most, that are embedded before the text of a chunk."""
_SPECIAL_TOKENS = 2
GROUP_PIECES = 256
GROUP_DOCUMENTS = 64
_GROUP_S = 0.5
"""A group is stored at the latest so long after its first document was ready, apart from the
embedding itself.
"""
_FIRST_PIECES = 32
"""The size of the first group, and the least of one: the first documents are there soon."""
_GROUP_TAKES_S = 2.0
"""What embedding and storing a group should take, so that progress comes in small steps."""
_SLICE = 64
"""Texts that are embedded at once; after each the progress is told and a stop is heard."""


def chunk_tokens(embedder: Embedder) -> int:
    """Tokens in a chunk, at most, so that it fits the embedder together with title and heading."""
    return embedder.max_tokens - _SPECIAL_TOKENS - PREFIX_TOKENS


class GroupWriter:
    """Embeds, stores and indexes groups of documents of one collection, one group at a time among
    all threads.
    """

    def __init__(
        self,
        store: Store,
        indexes: Indexes,
        embedder: Embedder,
        version: IndexVersion,
        turn: threading.Lock,
    ) -> None:
        self._store, self._indexes, self._turn = store, indexes, turn
        self.embedder, self.version = embedder, version
        if version.embedder != embedder.name or version.dimension != embedder.dimension:
            raise ConfigError(
                f"The collection was made with the embedder {version.embedder!r}"
                f" ({version.dimension} numbers), but {embedder.name!r} ({embedder.dimension}) is"
                " in use; switch back, or make a new collection and take the documents in there."
            )
        indexes.of(version)  # before anything is stored that could not be indexed

    def write(self, group: Sequence[Ready]) -> list[DocumentDone]:
        """Finish these documents. Raises Stopped between two slices of work, and nothing of the
        group is stored then.
        """
        with _taking_turns(self._turn):
            started = time.perf_counter()
            shared = self._shared(group)
            vectors = self._embed([ready for ready in group if ready.document.id not in shared])
            self._progress(group, "commit")
            spent = shares(group, time.perf_counter() - started, shared)
            finished, place = [], 0
            for ready in group:
                rows = shared.get(ready.document.id)
                if rows is None:
                    rows = vectors[place : place + len(ready.pieces)]
                    place += len(ready.pieces)
                document = _completed(ready, spent[ready.document.id])
                finished.append(Finished(document, ready.text, ready.pieces, rows, ready.sections))
            store = self._store.replace if self.version.active else self._store.extend
            stored = store(self.version, finished)
            self._progress(group, "index")
            self._indexes.of(self.version)
        _return_freed_memory()
        return [
            _done(one, ready, one.document.id in stored)
            for one, ready in zip(finished, group, strict=True)
        ]

    def settle(self) -> None:
        """After the last group."""
        with suppress(NotFound):  # when the collection was deleted meanwhile
            self._indexes.of(self.version).settle()

    def _shared(self, group: Sequence[Ready]) -> dict[str, np.ndarray]:
        """The vectors of those documents, by id, for which a twin has embedded just the same."""
        shared: dict[str, np.ndarray] = {}
        for ready in group:
            if ready.twin and ready.twin.title == ready.document.title:
                pieces, vectors = self._store.chunk_table.embedded(self.version, ready.twin.id)
                if pieces == [(piece.heading, piece.text) for piece in ready.pieces]:
                    shared[ready.document.id] = vectors
        return shared

    def _embed(self, group: Sequence[Ready]) -> np.ndarray:
        """The vectors of all pieces in order; long texts go together, so that little is padded."""
        import numpy as np

        started = time.perf_counter()
        texts, tokens, owners = self._texts(group)
        vectors = np.empty((len(texts), self.embedder.dimension), dtype=np.float32)
        done: Counter[str] = Counter()
        self._embedding(group, done)
        order = sorted(range(len(texts)), key=lambda place: -len(texts[place]))
        for start in range(0, len(texts), _SLICE):
            stopping.check()
            places = order[start : start + _SLICE]
            vectors[places] = self._embedded([texts[place] for place in places], tokens)
            done.update(owners[place].document.id for place in places)
            self._embedding(_each_once(owners[place] for place in places), done)
        if texts:
            emit_embedding(self.embedder, tokens, time.perf_counter() - started)
        return vectors

    def _embedded(self, texts: Sequence[str], tokens: int) -> np.ndarray:
        started = time.perf_counter()
        try:
            return checked(
                self.embedder.embed(texts), len(texts), self.version.dimension, self.embedder.name
            )
        except ModelError as error:
            emit_embedding(self.embedder, tokens, time.perf_counter() - started, error)
            raise

    def _embedding(self, group: Iterable[Ready], done: Mapping[str, int]) -> None:
        for ready in group:
            document, total = ready.document, len(ready.pieces)
            there = done.get(document.id, 0)
            bus.emit(DocumentProgress(document.id, document.name, "embed", there, total))

    def _texts(self, group: Sequence[Ready]) -> tuple[list[str], int, list[Ready]]:
        """What is embedded for each piece, how many tokens that is, and for each its document."""
        texts: list[str] = []
        owners: list[Ready] = []
        tokens = 0
        for ready in group:
            prefixes: dict[str, tuple[str, int]] = {}
            for piece in ready.pieces:
                if piece.heading not in prefixes:
                    prefixes[piece.heading] = _prefix(
                        self.embedder, ready.document.title, piece.heading
                    )
                prefix, length = prefixes[piece.heading]
                repeated = piece.text.startswith(prefix.strip())
                texts.append(piece.text if repeated else prefix + piece.text)
                tokens += piece.tokens + _SPECIAL_TOKENS + (0 if repeated else length)
                owners.append(ready)
        return texts, tokens, owners

    def _progress(self, group: Sequence[Ready], stage: Stage) -> None:
        for ready in group:
            bus.emit(DocumentProgress(ready.document.id, ready.document.name, stage))


class Ingest:
    """One ingest of many sources into one collection."""

    def __init__(
        self, writer: GroupWriter, store: Store, originals: Originals, limits: Limits
    ) -> None:
        self._writer, self._store, self._originals, self._limits = writer, store, originals, limits
        self._pace = _Pace()

    def run(self, sources: Iterable[Source]) -> list[DocumentDone]:
        """Take all in; raises Stopped, after which what was reported as indexed is there and the
        rest is marked.
        """
        done: list[DocumentDone] = []
        waiting: Iterable[Source] = sources
        first = True
        try:
            while True:
                intake = Intake(
                    self._store,
                    self._originals,
                    self._writer.version,
                    self._writer.embedder,
                    self._limits,
                    first,
                )
                self._one_pass(intake, waiting, done)
                if not intake.deferred:
                    return done
                waiting, first = intake.deferred, False
        finally:
            self._writer.settle()

    def _one_pass(
        self, intake: Intake, sources: Iterable[Source], done: list[DocumentDone]
    ) -> None:
        try:
            # Closed before what is under way gets marked: the reading thread is over then, and its
            # child gone.
            with closing(_groups(intake, sources, self._pace)) as groups:
                for group, ended in groups:
                    for one in ended:
                        done.append(one)
                        bus.emit(one)
                    if group:
                        self._finish(intake, group, done)
        except BaseException as error:
            self._give_up(intake, error, done)
            raise

    def _finish(self, intake: Intake, group: Sequence[Ready], done: list[DocumentDone]) -> None:
        started = time.perf_counter()
        written = self._writer.write(group)
        self._pace.took(sum(len(ready.pieces) for ready in group), time.perf_counter() - started)
        for one, ready in zip(written, group, strict=True):
            intake.finished(one.document_id)
            intake.free(ready)
            done.append(one)
            bus.emit(one)

    def _give_up(self, intake: Intake, error: BaseException, done: list[DocumentDone]) -> None:
        """Mark what was under way, so that nothing looks busy for ever."""
        for one in intake.ended:
            done.append(one)
            bus.emit(one)
        status, reason = (
            ("stopped", "") if isinstance(error, Stopped) else ("failed", _reason(error))
        )
        for document in list(intake.under_way.values()):
            with suppress(StoreError):  # on a full disk; the reason is told below
                self._store.close_document(document.id, status, reason, 0.0)
            one = DocumentDone(
                document.id,
                document.name,
                "stopped" if status == "stopped" else "failed",
                error=reason,
            )
            done.append(one)
            bus.emit(one)


class _Pace:
    """How many pieces make a group: few at first, then as many as the machine is quick enough
    for.
    """

    def __init__(self) -> None:
        self.pieces = _FIRST_PIECES

    def took(self, pieces: int, seconds: float) -> None:
        """A group of so many pieces took so long."""
        fitting = int(pieces * _GROUP_TAKES_S / max(seconds, 1e-3))
        self.pieces = min(GROUP_PIECES, max(_FIRST_PIECES, fitting))


def _groups(
    intake: Intake, sources: Iterable[Source], pace: _Pace
) -> Generator[tuple[list[Ready], list[DocumentDone]]]:
    """Documents that are worth to be embedded together, and those that have ended; progress is
    passed on at once.
    """
    group: list[Ready] = []
    first = 0.0
    with closing(intake.read(sources)) as items:
        for item in items:
            if isinstance(item, DocumentProgress):
                bus.emit(item)
            elif isinstance(item, DocumentDone):
                yield [], [item]
            elif isinstance(item, Ready):
                first = first if group else time.perf_counter()
                group.append(item)
            pieces = sum(len(ready.pieces) for ready in group)
            late = group and time.perf_counter() - first > _GROUP_S
            if (
                pieces >= pace.pieces
                or len(group) >= GROUP_DOCUMENTS
                or late
                or (group and item is None)
            ):
                yield group, []
                group = []
    if group:
        yield group, []


@contextmanager
def _taking_turns(turn: threading.Lock) -> Iterator[None]:
    while not turn.acquire(timeout=0.1):
        stopping.check()
    try:
        yield
    finally:
        turn.release()


def _prefix(embedder: Embedder, title: str, heading: str) -> tuple[str, int]:
    """Title and heading as they are embedded before a chunk, and their tokens."""
    parts = (
        [title]
        if not heading
        else [heading]
        if title and heading.startswith(title)
        else [title, heading]
    )
    text = "\n".join(part for part in parts if part)
    offsets = embedder.offsets(text)[:PREFIX_TOKENS]
    return (text[: offsets[-1][1]] + "\n", len(offsets)) if offsets else ("", 0)


def _each_once(owners: Iterable[Ready]) -> Iterable[Ready]:
    return {ready.document.id: ready for ready in owners}.values()


def shares(group: Sequence[Ready], seconds: float, unembedded: Container[str]) -> dict[str, float]:
    """Of the seconds that embedding a group took, those of each document, by its pieces."""
    pieces = {
        ready.document.id: 0 if ready.document.id in unembedded else len(ready.pieces)
        for ready in group
    }
    each = seconds / max(1, sum(pieces.values()))
    return {document_id: each * number for document_id, number in pieces.items()}


def _completed(ready: Ready, embedding_s: float) -> StoredDocument:
    return replace(
        ready.document,
        status="indexed",
        chunks=len(ready.pieces),
        tokens=sum(piece.tokens for piece in ready.pieces),
        seconds=ready.seconds + embedding_s,
        updated_at=utc_now(),
    )


def _done(finished: Finished, ready: Ready, stored: bool) -> DocumentDone:
    document, twin = finished.document, ready.twin
    if not stored:
        return DocumentDone(
            document.id, document.name, "stopped", note="It was deleted or replaced meanwhile."
        )
    return DocumentDone(
        document.id,
        document.name,
        "indexed",
        document.chunks,
        document.tokens,
        document.seconds,
        same_as=twin.name if twin else "",
        updated=ready.updates,
    )


def _reason(error: BaseException) -> str:
    return (
        str(error)
        if isinstance(error, AgentkitError)
        else f"Taking it in broke off ({type(error).__name__}: {error}); press retry."
    )


def _return_freed_memory() -> None:
    """Give memory that is free in any heap back to the system, where the C library is glibc.

    It gives threads heaps of their own and hardly returns what was freed in them: over the threads
    of the readers, DuckDB and tantivy some 200 MB in a process that takes in 10,000 documents.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)
