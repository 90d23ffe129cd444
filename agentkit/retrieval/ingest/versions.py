"""Index versions: how a collection is cut and embedded. A new one is built beside the one that
answers, then takes its place.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from agentkit.documents import Jail, Limits, Piece, split
from agentkit.errors import ConfigError, NotFound
from agentkit.retrieval.embedding.embed import Embedder
from agentkit.retrieval.embedding.embedders import Embedders
from agentkit.retrieval.embedding.version_embedders import VersionEmbedders
from agentkit.retrieval.index.indexes import Indexes
from agentkit.retrieval.index.vector_index import IndexFigures
from agentkit.retrieval.ingest.collection_lock import CollectionLock
from agentkit.retrieval.ingest.ingest import GroupWriter, chunk_tokens
from agentkit.retrieval.ingest.rebuild import Readings, Rebuild
from agentkit.retrieval.store.originals import Originals
from agentkit.retrieval.store.store import Store
from agentkit.retrieval.types import Collection, IndexVersion

_LEAST = 8
"""Tokens of the smallest chunk that the splitter makes."""
_NAMED = 5


@dataclass(frozen=True, slots=True)
class VersionStatus:
    """A version and how far it is built."""

    version: IndexVersion
    documents: int
    """Documents of the collection that are in it."""
    missing: int
    """Documents of the collection that are not yet in it; 0 for the one that answers."""
    chunks: int


class Versions:
    """The versions of all collections; share it between threads."""

    def __init__(
        self,
        store: Store,
        indexes: Indexes,
        embedders: Embedders,
        originals: Originals,
        limits: Limits,
        turn: threading.Lock,
        lock: CollectionLock,
    ) -> None:
        self._store, self._indexes, self._embedders, self._originals = (
            store,
            indexes,
            embedders,
            originals,
        )
        self._limits, self._turn, self._lock = limits, turn, lock
        self.embedders = VersionEmbedders(store.version_table, embedders)
        """The embedder of each version, as searches ask for it."""

    def with_limits(self, embedders: Embedders, originals: Originals, limits: Limits) -> Versions:
        """These versions under other limits and with other models."""
        other = copy.copy(self)
        other._embedders, other._originals, other._limits = embedders, originals, limits
        other.embedders = self.embedders.among(embedders)
        return other

    def listed(self, owner: str, collection: str) -> list[VersionStatus]:
        """The collection's versions: the one that answers first, then the newest; raises
        NotFound.
        """
        table = self._store.version_table
        found = []
        for version in table.of(self._collection(owner, collection).id):
            documents, missing, chunks = table.counts(version)
            found.append(VersionStatus(version, documents, missing, chunks))
        return found

    def one(self, owner: str, version_id: str) -> IndexVersion:
        """The version; raises NotFound."""
        found = self._store.version_table.one(owner, version_id)
        if found is None:
            raise NotFound(f"There is no index version {version_id!r}; it may have been discarded.")
        return found

    def figures(self, owner: str, version_id: str) -> IndexFigures:
        """How many vectors its index has, and how exact it is; raises NotFound."""
        return self._indexes.of(self.one(owner, version_id)).figures()

    def add(
        self, owner: str, collection: str, *, embedder: str, max_tokens: int, overlap: int = 0
    ) -> IndexVersion:
        """A new version with nothing in it, beside the one that answers.

        Raises NotFound, and ConfigError when the embedder is not there, the sizes do not fit it, or
        there is such a version that can still be used: one whose model has changed under its name
        does not count.
        """
        found = self._collection(owner, collection)
        chosen = self._find_embedder(embedder, max_tokens, overlap)
        made = IndexVersion(
            "", found.id, chosen.name, chosen.dimension, max_tokens, overlap, active=False
        )
        # Looked at before the transaction, in which nobody can write: a server may take its time.
        like = self._find_alike(made)
        changed = {version.id for version in like if self.embedders.has_changed(version, chosen)}
        with self._store.database.transaction():
            if any(version.id not in changed for version in self._find_alike(made)):
                raise ConfigError(
                    f"{collection} has a version with {embedder}, {max_tokens} tokens and an"
                    f" overlap of {overlap} already; use that one, or choose other values."
                )
            version_id = self._store.version_table.add(made)
        return self.one(owner, version_id)

    def build(self, owner: str, version_id: str) -> int:
        """Cut and embed the documents that are not yet in the version, in this thread; gives how
        many were added.

        Nothing needs to be given again. What answers goes on answering. Emits DocumentProgress and
        DocumentDone; raises Stopped and NotFound; a later call goes on from there.
        """
        version = self.one(owner, version_id)
        if version.active:
            return 0
        return self._rebuild(version).run()

    def promote(self, owner: str, version_id: str) -> None:
        """Let the version answer from now on, after building what it lacks. The one that answered
        stays, to go back to.

        Raises NotFound, Stopped, and ConfigError when documents could not be built.
        """
        version = self.one(owner, version_id)
        if version.active:
            return
        self._complete(version)
        with self._lock.alone(version.collection_id):
            self._complete(version)  # what was taken in since
            with self._store.database.transaction():
                self.one(owner, version_id)
                self._store.version_table.promote(version)

    def discard(self, owner: str, version_id: str) -> None:
        """Remove a version that does not answer; raises NotFound, and ConfigError for the one that
        answers.
        """
        with self._turn, self._store.database.transaction():
            version = self.one(owner, version_id)
            if version.active:
                raise ConfigError(
                    "This index version answers; let another one answer before you discard it."
                )
            self._store.version_table.remove(version)
        self._indexes.drop(version)

    def preview(
        self, owner: str, document_id: str, *, embedder: str, max_tokens: int, overlap: int = 0
    ) -> Sequence[Piece]:
        """How the document would be cut; nothing is stored. Raises NotFound, ConfigError, and
        DocumentError without a text.
        """
        document = self._store.document(owner, document_id)
        if document is None:
            raise NotFound(f"There is no document {document_id!r}; it may have been deleted.")
        chosen = self._find_embedder(embedder, max_tokens, overlap)
        with Jail(self._limits) as jail:
            return split(
                Readings(self._store, self._originals, jail).of(document),
                chosen,
                max_tokens,
                overlap,
            )

    def check_model(self, version: IndexVersion) -> None:
        """Raise ConfigError when the version's embedder is not there or answers differently than
        when the version was made.
        """
        self.embedders.of(version)

    def _collection(self, owner: str, name: str) -> Collection:
        found = self._store.collection(owner, name)
        if found is None:
            raise NotFound(f"There is no collection {name!r}; it may have been deleted or renamed.")
        return found

    def _find_embedder(self, name: str, max_tokens: int, overlap: int) -> Embedder:
        """The embedder of that name; raises ConfigError when chunks of this size do not fit it."""
        embedder = self._embedders.of(name)
        most = chunk_tokens(embedder)
        if not _LEAST <= max_tokens <= most or not 0 <= overlap <= max_tokens // 2:
            raise ConfigError(
                f"Chunks of {max_tokens} tokens with an overlap of {overlap} do not fit {name}; "
                f"choose {_LEAST} to {most:,} tokens and an overlap of at most half of them."
            )
        return embedder

    def _rebuild(self, version: IndexVersion) -> Rebuild:
        embedder = self.embedders.of(version)
        parts = (self._store, self._originals, self._indexes)
        writer = GroupWriter(*parts, embedder, version, self._turn)
        return Rebuild(self._store, self._originals, version, embedder, self._limits, writer)

    def _complete(self, version: IndexVersion) -> None:
        """Build what is missing; raises ConfigError when something cannot be."""
        work = self._rebuild(version)
        work.run()
        failed = [
            document for document in self._store.find_missing(version) if document.id in work.failed
        ]
        if failed:
            names = ", ".join(document.name for document in failed[:_NAMED]) + (
                ", ..." if len(failed) > _NAMED else ""
            )
            raise ConfigError(
                f"The version cannot answer: {len(failed):,} of the documents could not be built"
                f" ({names}). {work.failed[failed[0].id]} Delete these documents or take them in"
                " again, then try once more."
            )

    def _find_alike(self, made: IndexVersion) -> list[IndexVersion]:
        """The collection's versions with the same embedder and sizes."""
        known = self._store.version_table.of(made.collection_id)
        return [version for version in known if _cut_of(version) == _cut_of(made)]


def _cut_of(version: IndexVersion) -> tuple[object, ...]:
    return version.embedder, version.dimension, version.max_tokens, version.overlap
