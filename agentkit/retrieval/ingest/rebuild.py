"""Builds an index version of a collection from what the database has: nothing needs to be taken in
again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from agentkit.core import bus, stopping
from agentkit.documents import DocumentText, Jail, Limits, split
from agentkit.errors import DocumentError
from agentkit.events import DocumentDone, DocumentProgress
from agentkit.retrieval.embedding.embed import Embedder
from agentkit.retrieval.ingest.ingest import GROUP_DOCUMENTS, GROUP_PIECES, GroupWriter
from agentkit.retrieval.ingest.intake import ROOM, Ready
from agentkit.retrieval.store import sections
from agentkit.retrieval.store.originals import Originals
from agentkit.retrieval.store.store import Store
from agentkit.retrieval.types import IndexVersion, StoredDocument


class Readings:
    """Documents as they were read; the kept file is read once more for those whose sections are not
    in the database.
    """

    def __init__(self, store: Store, originals: Originals, jail: Jail) -> None:
        self._store, self._originals, self._jail = store, originals, jail

    def of(self, document: StoredDocument) -> DocumentText:
        """The document's text with its sections; raises DocumentError when they are not to be had,
        and Stopped.
        """
        found = self._store.read_text(document.id)
        if found is None:
            raise DocumentError(
                f"{document.name} has no text any more; it was deleted or replaced meanwhile."
            )
        text, packed = found
        if packed:
            parts = sections.unpack(packed, text)
        else:
            parts = self._read_again(document, text).sections
        return DocumentText(text, parts, document.media_type, document.title, document.pages)

    def _read_again(self, document: StoredDocument, text: str) -> DocumentText:
        path = self._originals.path(document.sha256 or "none")
        if not path.is_file():
            raise DocumentError(
                f"The original of {document.name} is not in the data folder; take the file in once"
                " more."
            )
        read = self._jail.read(path, document.name)
        if read.text != text:
            raise DocumentError(
                f"{document.name} is read in another way now than when it was taken in; take it in"
                " once more."
            )
        self._store.keep_sections(document.id, document.sha256, sections.pack(read.sections))
        return read


class Rebuild:
    """One build; afterwards `failed` says what could not be built."""

    def __init__(
        self,
        store: Store,
        originals: Originals,
        version: IndexVersion,
        embedder: Embedder,
        limits: Limits,
        writer: GroupWriter,
    ) -> None:
        self._store, self._originals, self._version = store, originals, version
        self._embedder, self._limits, self._writer = embedder, limits, writer
        self.failed: dict[str, str] = {}
        """Why, by document id."""

    def run(self) -> int:
        """Build what is missing; gives the number of documents that were added.

        Raises Stopped, NotFound when the version is discarded meanwhile, and what the embedder
        raises; what was added stays.
        """
        added = 0
        try:
            with Jail(self._limits) as jail, stopping.current().on_stop(jail.stop):
                readings = Readings(self._store, self._originals, jail)
                tried: set[tuple[str, str]] = set()
                # More than once: what is taken in or replaced during the build is missing then.
                while left := self._find_missing(tried):
                    for group in self._groups(readings, left):
                        added += self._write(group)
        finally:
            self._writer.settle()
        return added

    def _find_missing(self, tried: set[tuple[str, str]]) -> list[StoredDocument]:
        """What is missing and was not tried before; it is noted as tried."""
        missing = self._store.find_missing(self._version)
        left = [one for one in missing if (one.id, one.sha256) not in tried]
        tried.update((one.id, one.sha256) for one in left)
        return left

    def _write(self, group: Sequence[Ready]) -> int:
        done = self._writer.write(group)
        for one in done:
            bus.emit(one)
        return sum(one.status == "indexed" for one in done)

    def _groups(
        self, readings: Readings, documents: Sequence[StoredDocument]
    ) -> Iterator[list[Ready]]:
        """Documents that are worth to be embedded together."""
        group: list[Ready] = []
        for document in documents:
            stopping.check()
            ready = self._prepare(readings, document)
            if ready is None:
                continue
            group.append(ready)
            if _is_full(group):
                yield group
                group = []
        if group:
            yield group

    def _prepare(self, readings: Readings, document: StoredDocument) -> Ready | None:
        began = time.perf_counter()
        bus.emit(DocumentProgress(document.id, document.name, "split"))
        try:
            read = readings.of(document)
        except DocumentError as error:
            self.failed[document.id] = str(error)
            bus.emit(DocumentDone(document.id, document.name, "failed", error=str(error)))
            return None
        pieces = split(read, self._embedder, self._version.max_tokens, self._version.overlap)
        return Ready(document, read.text, pieces, time.perf_counter() - began)


def _is_full(group: Sequence[Ready]) -> bool:
    if len(group) >= GROUP_DOCUMENTS:
        return True
    pieces = characters = 0
    for one in group:
        pieces += len(one.pieces)
        characters += len(one.text)
    return pieces >= GROUP_PIECES or characters >= ROOM
