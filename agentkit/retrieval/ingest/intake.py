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
_EACH = 8_000
"""What a document takes beside its text, as characters: so at most 500 small ones wait."""


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
_Kept = tuple[Source, str, int]
"""With the sha256 and the bytes of its original."""
_Failed = tuple[Source, DocumentError]


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
        self._claimed, self._before = set[str](), set[str]()
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
                yield from self._take_items()
            finally:
                self._room.close()
                if thread.is_alive():
                    jail.stop()
                thread.join()
                jail.close()
                self.ended = self._take_ended()

    def forget(self, document_id: str) -> None:
        """The document is stored or given up: forget it."""
        document = self.under_way.pop(document_id)
        self._claimed -= {document.source, document.sha256}

    def free(self, ready: Ready) -> None:
        """Its text is not needed any more: let the next one be read."""
        self._room.free(len(ready.text) + _EACH)

    def _take_items(self) -> Iterator[Item | None]:
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

    def _take_ended(self) -> list[DocumentDone]:
        """What ended and nobody takes any more; the reading thread is over."""
        left: list[DocumentDone] = []
        while not self._items.empty():
            item = self._items.get()
            if isinstance(item, DocumentDone):
                left.append(item)
        return left

    def _work(self, jail: Jail, sources: Iterator[Source]) -> None:
        try:
            for admitted in self._admit(sources):
                self._read_one(jail, admitted)
        except BaseException as error:  # noqa: BLE001
            # Handed to the thread that takes the items, which raises it.
            self._items.put(error)
        else:
            self._items.put(None)

    def _read_one(self, jail: Jail, admitted: _Admitted) -> None:
        stopping.check()
        began = time.perf_counter()
        document = admitted.document
        try:
            read = self._read_text(jail, admitted)
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
        self._room.take(len(read.text) + _EACH)
        twin, updates = admitted.twin, admitted.updates
        self._items.put(Ready(known, read.text, pieces, seconds, packed, twin, updates))

    def _read_text(self, jail: Jail, admitted: _Admitted) -> DocumentText:
        """What the twin's text was, or what is read from the file; raises DocumentError."""
        document = admitted.document
        if admitted.twin is not None:
            read = self._read_of_twin(document, admitted.twin)
            if read is not None:
                return read
        self._items.put(DocumentProgress(document.id, document.name, "parse"))
        return jail.read(self._originals.path(document.sha256), document.name)

    def _read_of_twin(self, document: StoredDocument, twin: StoredDocument) -> DocumentText | None:
        """What was read of the same content before; None when the name says that it is to be read
        in another way.
        """
        if PurePath(document.name).suffix.lower() != PurePath(twin.name).suffix.lower():
            return None
        text, packed = self._store.read_text(twin.id, twin.sha256) or ("", "")
        if not packed:
            return None
        title = twin.title
        if title == title_from(twin.name):
            title = title_from(document.name)
        return DocumentText(text, sections.unpack(packed, text), twin.media_type, title, twin.pages)

    def _admit(self, sources: Iterator[Source]) -> Iterator[_Admitted]:
        """Those of the sources that are to be read; each batch is kept and registered when the one
        before has been read.
        """
        while True:
            kept, failed = self._keep_next(sources)
            if not kept and not failed:
                return
            yield from self._register_next(kept, failed)

    def _keep_next(self, sources: Iterator[Source]) -> tuple[list[_Kept], list[_Failed]]:
        """Keep the originals of the next sources; both are empty at the end."""
        kept: list[_Kept] = []
        failed: list[_Failed] = []
        for source in islice(sources, _BATCH):
            stopping.check()
            try:
                if source.error:
                    raise DocumentError(source.error)
                kept.append((source, *self._originals.keep(source)))
            except DocumentError as error:
                failed.append((source, error))
            if sum(size for _, _, size in kept) > _BATCH_BYTES:
                break
        return kept, failed

    def _register_next(
        self, kept: Sequence[_Kept], failed: Sequence[_Failed]
    ) -> Sequence[_Admitted]:
        """Register all, in one transaction; gives those that are to be read."""
        try:
            with self._store.database.transaction():
                admitted = self._identify(kept)
                rejected = self._identify([(source, "", 0) for source, _ in failed])
        except BaseException:
            self._originals.remove_unused(self._store, {sha256 for _, sha256, _ in kept})
            raise

        self._originals.remove_unused(self._store, self._before)
        self._before.clear()
        reasons = {id(source): error for source, error in failed}
        for one in rejected:
            self._fail(one.document, reasons[id(one.source)], 0.0)
        return [one for one in admitted if self._is_kept(one)]

    def _is_kept(self, admitted: _Admitted) -> bool:
        """Whether its original is there; the last document that had the same may have been deleted
        before this one was registered, and then it is kept once more.
        """
        try:
            if not self._originals.path(admitted.document.sha256).is_file():
                self._originals.keep(admitted.source)
        except DocumentError as error:
            self._fail(admitted.document, error, 0.0)
            return False
        return True

    def _identify(self, kept: Sequence[_Kept]) -> list[_Admitted]:
        """Of these (source, sha256, bytes), register those that are new or changed; sha256 is empty
        for unreadable ones.
        """
        origins = [source.origin for source, _, _ in kept]
        contents = [sha256 for _, sha256, _ in kept if sha256]
        came, same = self._store.find_known(self._version, origins, contents)
        new: list[_Admitted] = []
        again: list[_Admitted] = []
        for source, sha256, size in kept:
            known, twins = came.get(source.origin), same.get(sha256, [])
            claims = {source.origin}
            if sha256 and not twins:
                claims.add(sha256)
            unchanged = _same_one(known, twins)
            # The twins may themselves be replaced later in this ingest.
            waits = self._first and twins and not unchanged
            if waits or self._claimed & claims:
                self.deferred.append(source)
                continue
            if unchanged:
                self._skip(source, unchanged)
                continue

            self._claimed |= claims
            document = _new_row(self._version, source, sha256, size)
            if known is None:
                new.append(_admit(document, source, twins, updates=False))
                continue
            document = replace(document, id=known.id, created_at=known.created_at)
            again.append(_admit(document, source, twins, updates=known.chunks > 0))
        return self._register(new, again)

    def _register(self, new: list[_Admitted], again: list[_Admitted]) -> list[_Admitted]:
        added = [one.document for one in new]
        replaced = [one.document for one in again]
        for document in (*added, *replaced):
            self.under_way[document.id] = document
        self._before |= self._store.register(self._version, added, replaced)
        return new + again

    def _skip(self, source: Source, known: StoredDocument) -> None:
        note = "Not changed since it was taken in."
        self._items.put(
            DocumentDone(known.id, source.name, "unchanged", known.chunks, known.tokens, note=note)
        )

    def _fail(self, document: StoredDocument, error: DocumentError, seconds: float) -> None:
        self._store.close_document(document.id, "failed", str(error), seconds)
        self.forget(document.id)
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


def _same_one(
    document: StoredDocument | None, others: Sequence[StoredDocument]
) -> StoredDocument | None:
    """The document if it is among the others, else None."""
    if document is None:
        return None
    if any(document.id == other.id for other in others):
        return document
    return None


def _admit(
    document: StoredDocument, source: Source, twins: Sequence[StoredDocument], *, updates: bool
) -> _Admitted:
    return _Admitted(document, source, twins[0] if twins else None, updates)


def _new_row(version: IndexVersion, source: Source, sha256: str, size: int) -> StoredDocument:
    title = PurePath(source.name).stem.replace("_", " ")
    return StoredDocument(
        new_id(), version.collection_id, source.name, source.origin, sha256, size, title=title
    )
