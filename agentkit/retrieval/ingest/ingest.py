"""Taking documents in: what Intake has read is embedded in groups, stored in one transaction each,
then indexed, while the next group is embedded.

A document is reported as indexed only after the transaction that stores it whole.
"""

from __future__ import annotations

import contextvars
import ctypes
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Container, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Literal

from agentkit.core import bus, stopping
from agentkit.documents import Limits
from agentkit.errors import AgentkitError, ConfigError, NotFound, Stopped, StoreError
from agentkit.events import DocumentDone, DocumentProgress, Stage
from agentkit.retrieval.embedding.embed import Embedder, embed_and_check, emit_embedding
from agentkit.retrieval.index import languages
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
_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1
"""`M_MMAP_THRESHOLD` and `M_TRIM_THRESHOLD` of glibc's malloc.h."""
_SLICE = 64
"""Texts that are embedded at once; after each the progress is told and a stop is heard."""


def chunk_tokens(embedder: Embedder) -> int:
    """Tokens in a chunk, at most, so that it fits the embedder together with title and heading."""
    return embedder.max_tokens - _SPECIAL_TOKENS - PREFIX_TOKENS


@dataclass(frozen=True, slots=True)
class Embedded:
    """A group of documents with their vectors, in the same order, that waits to be stored."""

    group: Sequence[Ready]
    finished: Sequence[Finished]


class GroupWriter:
    """Embeds, stores and indexes groups of documents of one collection; among all threads one group
    at a time is embedded.
    """

    def __init__(
        self,
        store: Store,
        originals: Originals,
        indexes: Indexes,
        embedder: Embedder,
        version: IndexVersion,
        turn: threading.Lock,
        check_model: Callable[[], object] = lambda: None,
    ) -> None:
        """`check_model` is called before each group is embedded; it raises ConfigError when the
        embedder answers otherwise than for the chunks that are there.
        """
        self._store, self._originals = store, originals
        self._indexes, self._turn = indexes, turn
        self._check_model = check_model
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
        return self.store(self.embed(group))

    def embed(self, group: Sequence[Ready]) -> Embedded:
        """The first half of `write`: nothing is stored yet. Raises Stopped between two slices."""
        with _take_turn(self._turn):
            started = time.perf_counter()
            shared = self._find_shared(group)
            new = [ready for ready in group if ready.document.id not in shared]
            vectors = shared | self._embed(new)

        spent = share_seconds(group, time.perf_counter() - started, shared)
        finished: list[Finished] = []
        for ready in group:
            known = ready.document.id
            document = _complete(ready, spent[known])
            rows = vectors[known]
            finished.append(Finished(document, ready.text, ready.pieces, rows, ready.sections))
        return Embedded(group, finished)

    def store(self, embedded: Embedded) -> list[DocumentDone]:
        """The second half of `write`; another thread may embed the next group meanwhile."""
        self._report_stage(embedded.group, "commit")
        stored = self._store_group(embedded.finished)

        self._report_stage(embedded.group, "index")
        self._indexes.of(self.version)
        _return_freed_memory()
        return [
            _make_done(one, ready, one.document.id in stored)
            for one, ready in zip(embedded.finished, embedded.group, strict=True)
        ]

    def settle(self) -> None:
        """After the last group."""
        with suppress(NotFound):  # when the collection was deleted meanwhile
            self._indexes.of(self.version).settle()

    def _store_group(self, finished: Sequence[Finished]) -> Container[str]:
        """Store the documents; gives the ids of those that were still wanted."""
        if not self.version.active:
            return self._store.extend(self.version, finished)
        stored, before = self._store.replace(self.version, finished)
        self._originals.remove_unused(self._store, before)
        return stored

    def _find_shared(self, group: Sequence[Ready]) -> dict[str, np.ndarray]:
        """The vectors of those documents, by id, for which a twin has embedded just the same."""
        shared: dict[str, np.ndarray] = {}
        for ready in group:
            twin = ready.twin
            if twin is None or twin.title != ready.document.title:
                continue
            pieces, vectors = self._store.chunk_table.read_vectors(self.version, twin.id)
            if pieces == [(piece.heading, piece.text) for piece in ready.pieces]:
                shared[ready.document.id] = vectors
        return shared

    def _embed(self, group: Sequence[Ready]) -> dict[str, np.ndarray]:
        """The vectors of each document's pieces, in order, by its id; long texts go together, so
        that little is padded.
        """
        import numpy as np

        if not self.embedder.is_ready:
            self._report_stage(group, "prepare")
        self._check_model()
        started = time.perf_counter()
        texts, tokens, owners = self._prepare_texts(group)
        vectors = np.empty((len(texts), self.embedder.dimension), dtype=np.float32)
        done: Counter[str] = Counter()
        self._report_embedding(group, done)

        order = sorted(range(len(texts)), key=lambda place: -len(texts[place]))
        for start in range(0, len(texts), _SLICE):
            stopping.check()
            places = order[start : start + _SLICE]
            some = [texts[place] for place in places]
            vectors[places] = embed_and_check(self.embedder, some, self.version.dimension, tokens)
            of_some = [owners[place] for place in places]
            done.update(ready.document.id for ready in of_some)
            self._report_embedding(_unique_by_id(of_some), done)
        if texts:
            emit_embedding(self.embedder, tokens, time.perf_counter() - started)

        ends = np.cumsum([len(ready.pieces) for ready in group], dtype=np.int64)
        rows = np.split(vectors, ends)[: len(group)]
        ids = [ready.document.id for ready in group]
        return dict(zip(ids, rows, strict=True))

    def _report_embedding(self, group: Iterable[Ready], done: Mapping[str, int]) -> None:
        for ready in group:
            document, total = ready.document, len(ready.pieces)
            there = done.get(document.id, 0)
            bus.emit(DocumentProgress(document.id, document.name, "embed", there, total))

    def _prepare_texts(self, group: Sequence[Ready]) -> tuple[list[str], int, list[Ready]]:
        """What is embedded for each piece, how many tokens that is, and for each its document.

        What tells the language of the texts is loaded meanwhile.
        """
        texts: list[str] = []
        owners: list[Ready] = []
        tokens = 0
        for ready in group:
            languages.prepare([piece.text for piece in ready.pieces])
            prefix_of = cache(partial(_make_prefix, self.embedder, ready.document.title))
            for piece in ready.pieces:
                prefix, length = prefix_of(piece.heading)
                if piece.text.startswith(prefix.strip()):  # it stands there already
                    prefix, length = "", 0
                texts.append(prefix + piece.text)
                tokens += piece.tokens + _SPECIAL_TOKENS + length
                owners.append(ready)
        return texts, tokens, owners

    def _report_stage(self, group: Sequence[Ready], stage: Stage) -> None:
        for ready in group:
            bus.emit(DocumentProgress(ready.document.id, ready.document.name, stage))


class Ingest:
    """One ingest of many sources into one collection."""

    def __init__(
        self, writer: GroupWriter, store: Store, originals: Originals, limits: Limits
    ) -> None:
        self._writer, self._store, self._originals, self._limits = writer, store, originals, limits
        self._pace = _Pace()
        self._done: list[DocumentDone] = []
        self._storing: Future[None] | None = None
        """The group that is stored while the next one is embedded."""

    def run(self, sources: Iterable[Source]) -> list[DocumentDone]:
        """Take all in; raises Stopped, after which what was reported as indexed is there and the
        rest is marked.
        """
        _return_large_blocks()
        try:
            with ThreadPoolExecutor(1, "agentkit-storing") as storer:
                intake = self._take_in(storer, sources, first=True)
                while intake.deferred:
                    intake = self._take_in(storer, intake.deferred, first=False)
            return self._done
        finally:
            self._writer.settle()

    def _take_in(
        self, storer: ThreadPoolExecutor, sources: Iterable[Source], *, first: bool
    ) -> Intake:
        """Take in what needs not wait for others of these sources."""
        version, embedder = self._writer.version, self._writer.embedder
        intake = Intake(self._store, self._originals, version, embedder, self._limits, first)
        try:
            # Closed before what is under way gets marked: the reading thread is over then, and its
            # child gone.
            with closing(_groups(intake, sources, self._pace)) as groups:
                for group, ended in groups:
                    self._report(ended)
                    if group:
                        self._finish(storer, intake, group)
                self._finish_storing()
        except BaseException as error:
            if self._storing:
                wait([self._storing])  # what it stores is reported as indexed
                self._storing = None
            self._give_up(intake, error)
            raise
        return intake

    def _report(self, ended: Iterable[DocumentDone]) -> None:
        for one in ended:
            self._done.append(one)
            bus.emit(one)

    def _finish(self, storer: ThreadPoolExecutor, intake: Intake, group: Sequence[Ready]) -> None:
        """Embed the group, and let it be stored when the one before it is."""
        started = time.perf_counter()
        embedded = self._writer.embed(group)
        self._finish_storing()
        context = contextvars.copy_context()
        self._storing = storer.submit(context.run, self._store_embedded, intake, embedded)
        pieces = sum(len(ready.pieces) for ready in group)
        self._pace.note(pieces, time.perf_counter() - started)

    def _finish_storing(self) -> None:
        """Wait until the group before is stored; raises what went wrong with it."""
        if self._storing is None:
            return
        wait([self._storing])
        storing, self._storing = self._storing, None
        storing.result()

    def _store_embedded(self, intake: Intake, embedded: Embedded) -> None:
        written = self._writer.store(embedded)
        for one, ready in zip(written, embedded.group, strict=True):
            intake.forget(one.document_id)
            intake.free(ready)
            self._report([one])

    def _give_up(self, intake: Intake, error: BaseException) -> None:
        """Mark what was under way, so that nothing looks busy for ever."""
        self._report(intake.ended)
        status, reason = _end_after(error)
        for document in list(intake.under_way.values()):
            with suppress(StoreError):  # on a full disk; the reason is told below
                self._store.close_document(document.id, status, reason, 0.0)
            self._report([DocumentDone(document.id, document.name, status, error=reason)])


class _Pace:
    """How many pieces make a group: few at first, then as many as the machine is quick enough
    for.
    """

    def __init__(self) -> None:
        self.pieces = _FIRST_PIECES

    def note(self, pieces: int, seconds: float) -> None:
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
    pieces, started = 0, 0.0
    with closing(intake.read(sources)) as items:
        for item in items:
            match item:
                case DocumentProgress():
                    bus.emit(item)
                case DocumentDone():
                    yield [], [item]
                case Ready():
                    if not group:
                        pieces, started = 0, time.perf_counter()
                    group.append(item)
                    pieces += len(item.pieces)
            nothing_waits = item is None
            if group and (nothing_waits or _is_full(group, pieces, pace, started)):
                yield group, []
                group = []
    if group:
        yield group, []


def _is_full(group: Sequence[Ready], pieces: int, pace: _Pace, started: float) -> bool:
    """Whether a group of so many pieces is to be stored now; `started` is when its first document
    was ready.
    """
    waited_s = time.perf_counter() - started
    return pieces >= pace.pieces or len(group) >= GROUP_DOCUMENTS or waited_s > _GROUP_S


@contextmanager
def _take_turn(turn: threading.Lock) -> Iterator[None]:
    while not turn.acquire(timeout=0.1):
        stopping.check()
    try:
        yield
    finally:
        turn.release()


def _make_prefix(embedder: Embedder, title: str, heading: str) -> tuple[str, int]:
    """Title and heading as they are embedded before a chunk, and their tokens."""
    if not heading:
        text = title
    elif heading.startswith(title):
        text = heading
    else:
        text = f"{title}\n{heading}"
    offsets = embedder.offsets(text)[:PREFIX_TOKENS]
    if not offsets:
        return "", 0
    return text[: offsets[-1][1]] + "\n", len(offsets)


def _unique_by_id(owners: Iterable[Ready]) -> Iterable[Ready]:
    return {ready.document.id: ready for ready in owners}.values()


def share_seconds(
    group: Sequence[Ready], seconds: float, unembedded: Iterable[str]
) -> dict[str, float]:
    """Of the seconds that embedding a group took, those of each document, by its pieces."""
    pieces = {ready.document.id: len(ready.pieces) for ready in group}
    pieces |= dict.fromkeys(unembedded, 0)
    each = seconds / max(1, sum(pieces.values()))
    return {document_id: each * number for document_id, number in pieces.items()}


def _complete(ready: Ready, embedding_s: float) -> StoredDocument:
    return replace(
        ready.document,
        status="indexed",
        chunks=len(ready.pieces),
        tokens=sum(piece.tokens for piece in ready.pieces),
        seconds=ready.seconds + embedding_s,
        updated_at=utc_now(),
    )


def _make_done(finished: Finished, ready: Ready, stored: bool) -> DocumentDone:
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


def _end_after(error: BaseException) -> tuple[Literal["stopped", "failed"], str]:
    """How what was under way ended with this error, and why."""
    if isinstance(error, Stopped):
        return "stopped", ""
    if isinstance(error, AgentkitError):
        return "failed", str(error)
    return "failed", f"Taking it in broke off ({type(error).__name__}: {error}); press retry."


def _return_freed_memory() -> None:
    """Give memory that is free in any heap back to the system, where the C library is glibc.

    It gives threads heaps of their own and hardly returns what was freed in them: over the threads
    of the readers, DuckDB and tantivy some 200 MB in a process that takes in 10,000 documents.
    """
    if sys.platform == "linux":
        with suppress(AttributeError):  # of another C library
            ctypes.CDLL(None).malloc_trim(0)


@cache
def _return_large_blocks() -> None:
    """Let memory of 1 MB and more go back to the system as soon as it is freed, in glibc.

    It would take such blocks from its heaps once some were freed, up to 32 MB, and between what
    stays there the heaps get holes: 40 MB of them for 8,000 small documents.
    """
    if sys.platform == "linux":
        with suppress(AttributeError):  # of another C library
            malloc = ctypes.CDLL(None)
            malloc.mallopt(_MMAP_THRESHOLD, 1 << 20)
            # The heaps themselves keep so much at hand, as they would by then: to get it anew for
            # each search takes longer than the search.
            malloc.mallopt(_TRIM_THRESHOLD, 1 << 24)
