"""The reading side of an ingest, on a thread of its own: keep the original, see whether it is new,
read it, split it.

While one group of documents is embedded, the next ones are read here; how far ahead is bounded by
their text.
"""

from __future__ import annotations

import contextvars
import queue
import threading
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import PurePath

from agentkit.core import stopping
from agentkit.documents import DocumentText, Jail, Limits, Piece, Tokenizer, split, title_from
from agentkit.errors import DocumentError
from agentkit.events import DocumentDone, DocumentProgress
from agentkit.messages import new_id
from agentkit.retrieval.store import sections
from agentkit.retrieval.store.originals import Originals
from agentkit.retrieval.store.store import Store
from agentkit.retrieval.types import IndexVersion, Source, StoredDocument

_BATCH = 64
_BATCH_BYTES = 16 * 2**20
ROOM = 4_000_000
"""Characters of text that may wait for the embedder; a document that is larger waits alone."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A document that is read and split, and waits to be embedded."""

    document: StoredDocument
    text: str
    pieces: Sequence[Piece]
    seconds: float
    """What reading and splitting it took."""
    sections: str = ""
    """The sections of the text as `sections.pack` writes them."""
    twin: StoredDocument | None = None
    """A document that has the same content and is stored already."""
    updates: bool = False
    """Whether it takes the place of what the document had before."""


@dataclass(frozen=True, slots=True)
class _Admitted:
    document: StoredDocument
    source: Source
    twin: StoredDocument | None
    updates: bool


Item = Ready | DocumentDone | DocumentProgress


class Intake:
    """Iterate over it for progress, for what is ready, and for what ends without getting that far.

    Afterwards `deferred` has the sources to give to another Intake, with `first` False, when all of
    this one's are stored:
    they have the origin or the content of another document. After an error `ended` has what ended
    and was not taken.
    """

    def __init__(
        self,
        store: Store,
        originals: Originals,
        version: IndexVersion,
        tokenizer: Tokenizer,
        limits: Limits,
        first: bool = True,
    ) -> None:
        self._first = first
        self._store, self._originals, self._version = store, originals, version
        self._tokenizer, self._limits = tokenizer, limits
        self._items: queue.SimpleQueue[Item | BaseException | None] = queue.SimpleQueue()
        self._room = _Room(ROOM)
        self._claimed: set[str] = set()
        self.under_way: dict[str, StoredDocument] = {}
        """Documents that are registered and not finished, by id."""
        self.deferred: list[Source] = []
        self.ended: list[DocumentDone] = []

    def read(self, sources: Iterable[Source]) -> Generator[Item | None]:
        """Read all sources; None now and then means that nothing is ready yet. Raises Stopped when
        told to stop.
        """
        jail = Jail(self._limits)
        context = contextvars.copy_context()
        thread = threading.Thread(
            target=context.run,
            args=(self._work, jail, iter(sources)),
            name="agentkit-intake",
            daemon=True,
        )
        with stopping.current().on_stop(jail.stop), stopping.current().on_stop(self._room.close):
            thread.start()
            try:
                yield from self._taken()
            finally:
                self._room.close()
                if thread.is_alive():
                    jail.stop()
                thread.join()
                jail.close()
                self.ended = self._left()

    def finished(self, document_id: str) -> None:
        """The document is stored or given up: forget it."""
        document = self.under_way.pop(document_id)
        self._claimed -= {document.source, document.sha256}

    def free(self, ready: Ready) -> None:
        """Its text is not needed any more: let the next one be read."""
        self._room.free(len(ready.text))

    def _taken(self) -> Iterator[Item | None]:
        while True:
            try:
                item = self._items.get(timeout=0.05)
            except queue.Empty:
                stopping.check()
                yield None
                continue
            if item is None:
                return
            if isinstance(item, BaseException):
                raise item
            yield item

    def _left(self) -> list[DocumentDone]:
        """What ended and nobody takes any more; the reading thread is over."""
        left: list[DocumentDone] = []
        while not self._items.empty():
            item = self._items.get()
            if isinstance(item, DocumentDone):
                left.append(item)
        return left

    def _work(self, jail: Jail, sources: Iterator[Source]) -> None:
        try:
            pending: deque[_Admitted] = deque()
            while pending or (pending := deque(self._admit(sources))) or self._more:
                if pending:
                    self._read_one(jail, pending.popleft())
        except BaseException as error:  # noqa: BLE001
            # Handed to the thread that takes the items, which raises it.
            self._items.put(error)
        else:
            self._items.put(None)

    def _read_one(self, jail: Jail, admitted: _Admitted) -> None:
        stopping.check()
        began = time.perf_counter()
        document, twin = admitted.document, admitted.twin
        read = self._read_of(document, twin) if twin else None
        if read is None:
            self._items.put(DocumentProgress(document.id, document.name, "parse"))
            try:
                read = jail.read(self._originals.path(document.sha256), document.name)
            except DocumentError as error:
                self._fail(document, error, time.perf_counter() - began)
                return
        self._items.put(DocumentProgress(document.id, document.name, "split"))
        pieces = split(read, self._tokenizer, self._version.max_tokens, self._version.overlap)
        known = replace(
            document,
            media_type=read.media_type,
            title=read.title or document.title,
            pages=read.pages,
        )
        packed = sections.pack(read.sections)
        seconds = time.perf_counter() - began
        self._items.put(DocumentProgress(document.id, document.name, "waiting"))
        self._room.take(len(read.text))
        self._items.put(Ready(known, read.text, pieces, seconds, packed, twin, admitted.updates))

    def _read_of(self, document: StoredDocument, twin: StoredDocument) -> DocumentText | None:
        """What was read of the same content before; None when the name says that it is to be read
        in another way.
        """
        if PurePath(document.name).suffix.lower() != PurePath(twin.name).suffix.lower():
            return None
        text, packed = self._store.reading(twin.id, twin.sha256) or ("", "")
        if not packed:
            return None
        title = title_from(document.name) if twin.title == title_from(twin.name) else twin.title
        return DocumentText(text, sections.unpack(packed, text), twin.media_type, title, twin.pages)

    def _admit(self, sources: Iterator[Source]) -> list[_Admitted]:
        """Keep the originals of the next sources and register those that are to be read, in one
        transaction.
        """
        kept: list[tuple[Source, str, int]] = []
        failed: list[tuple[Source, DocumentError]] = []
        self._more = False
        for source in islice(sources, _BATCH):
            self._more = True
            stopping.check()
            try:
                if source.error:
                    raise DocumentError(source.error)
                kept.append((source, *self._originals.keep(source)))
            except DocumentError as error:
                failed.append((source, error))
            if sum(size for _, _, size in kept) > _BATCH_BYTES:
                break
        try:
            with self._store.database.transaction():
                admitted = self._identify(kept)
                rejected = self._identify([(source, "", 0) for source, _ in failed])
        except BaseException:
            self._originals.remove(self._store.unused({sha256 for _, sha256, _ in kept}))
            raise
        for one in rejected:
            reason = next(error for source, error in failed if source is one.source)
            self._fail(one.document, reason, 0.0)
        return admitted

    def _identify(self, kept: Sequence[tuple[Source, str, int]]) -> list[_Admitted]:
        """Of these (source, sha256, bytes), register those that are new or changed; sha256 is empty
        for unreadable ones.
        """
        origins = [source.origin for source, _, _ in kept]
        contents = [sha256 for _, sha256, _ in kept if sha256]
        came, same = self._store.known(self._version, origins, contents)
        new: list[_Admitted] = []
        again: list[_Admitted] = []
        for source, sha256, size in kept:
            known, twins = came.get(source.origin), same.get(sha256, [])
            claims = {source.origin} if twins or not sha256 else {source.origin, sha256}
            is_same = known is not None and _is_among(known, twins)
            # The twins may themselves be replaced later in this ingest.
            waits = twins and self._first and not is_same
            if self._claimed & claims or waits:
                self.deferred.append(source)
            elif known is not None and is_same:
                self._skip(source, known)
            else:
                self._claimed |= claims
                document = _row(self._version, source, sha256, size, known)
                admitted = _admitted(document, source, known, twins)
                (new if known is None else again).append(admitted)
        return self._registered(new, again)

    def _registered(self, new: list[_Admitted], again: list[_Admitted]) -> list[_Admitted]:
        added, replaced = ([one.document for one in admitted] for admitted in (new, again))
        self.under_way |= {document.id: document for document in [*added, *replaced]}
        self._store.register(self._version, added, replaced)
        return new + again

    def _skip(self, source: Source, known: StoredDocument) -> None:
        note = "Not changed since it was taken in."
        self._items.put(
            DocumentDone(known.id, source.name, "unchanged", known.chunks, known.tokens, note=note)
        )

    def _fail(self, document: StoredDocument, error: DocumentError, seconds: float) -> None:
        self._store.close_document(document.id, "failed", str(error), seconds)
        self.finished(document.id)
        self._items.put(
            DocumentDone(document.id, document.name, "failed", seconds=seconds, error=str(error))
        )


class _Room:
    """Bounds how much text waits: `take` blocks while there is some and not enough room for
    more.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._used = 0
        self._closed = False
        self._changed = threading.Condition()

    def take(self, amount: int) -> None:
        """Wait for room; returns at once when closed."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._closed or not self._used or self._used + amount <= self._size
            )
            self._used += amount

    def free(self, amount: int) -> None:
        """Give room back."""
        with self._changed:
            self._used -= amount
            self._changed.notify_all()

    def close(self) -> None:
        """Let whoever waits go on."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


def _is_among(document: StoredDocument, others: Sequence[StoredDocument]) -> bool:
    return any(document.id == other.id for other in others)


def _admitted(
    document: StoredDocument,
    source: Source,
    known: StoredDocument | None,
    twins: Sequence[StoredDocument],
) -> _Admitted:
    updates = known is not None and known.chunks > 0
    return _Admitted(document, source, twins[0] if twins else None, updates)


def _row(
    version: IndexVersion, source: Source, sha256: str, size: int, known: StoredDocument | None
) -> StoredDocument:
    title = PurePath(source.name).stem.replace("_", " ")
    row = StoredDocument(
        new_id(), version.collection_id, source.name, source.origin, sha256, size, title=title
    )
    return replace(row, id=known.id, created_at=known.created_at) if known else row
