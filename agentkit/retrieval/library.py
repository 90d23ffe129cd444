"""Everything that is done with collections and documents, for one data folder. Every method takes
the owner first.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from agentkit.core import bus, stopping
from agentkit.core.given import to_list
from agentkit.database import Database
from agentkit.documents import DocumentText, Jail, Limits
from agentkit.errors import ConfigError, NotFound
from agentkit.events import DocumentDone, DocumentProgress, Event
from agentkit.retrieval import checks
from agentkit.retrieval.embedding.embed import Embedder
from agentkit.retrieval.embedding.embedders import Embedders
from agentkit.retrieval.embedding.rerank import Rerankers
from agentkit.retrieval.index.indexes import Indexes
from agentkit.retrieval.ingest.collection_lock import CollectionLock
from agentkit.retrieval.ingest.ingest import GroupWriter, Ingest, chunk_tokens
from agentkit.retrieval.ingest.rebuild import Readings
from agentkit.retrieval.ingest.versions import Versions
from agentkit.retrieval.names import check_name, utf8
from agentkit.retrieval.options import SearchOptions
from agentkit.retrieval.search.search import Search
from agentkit.retrieval.store.exact_search import Match, find, find_passages
from agentkit.retrieval.store.marks import Marks
from agentkit.retrieval.store.originals import Originals
from agentkit.retrieval.store.questions import Questions
from agentkit.retrieval.store.sections import within_pages
from agentkit.retrieval.store.store import Store
from agentkit.retrieval.transfer.transfer import Transfer
from agentkit.retrieval.types import (
    Chunk,
    Collection,
    Hit,
    IndexVersion,
    Mode,
    Problem,
    Scope,
    Source,
    StoredDocument,
)
from agentkit.retrieval.web.fetching import source_at
from agentkit.settings import Settings


class Library:
    """Open one per database and share it between threads; close it at the end."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        embedder: Embedder | Embedders,
        rerankers: Rerankers | None = None,
    ) -> None:
        self.settings = settings
        self.embedders = embedder if isinstance(embedder, Embedders) else Embedders(embedder)
        self.embedder = self.embedders.default
        self.rerankers = rerankers or Rerankers()
        self.store = Store(database)
        self.originals = Originals(settings.data, settings.max_file_mb * 2**20)
        self.indexes = Indexes(self.store.chunk_table, settings.data / "indexes")
        self._turn = threading.Lock()
        self._lock = CollectionLock()
        self._stages: dict[str, str] = {}
        limits = Limits.from_settings(settings)
        self.versions = Versions(
            self.store, self.indexes, self.embedders, self.originals, limits, self._turn, self._lock
        )
        """How collections are cut and embedded, and what it might be instead."""
        self.questions = Questions(database)
        """Questions whose right documents are known, to measure a search with."""
        self.marks = Marks(database, self.questions)
        """What people said of the passages that were found."""
        self.transfer = Transfer(self.store, self.originals, self.indexes, limits)
        """Collections as files."""

    def with_settings(
        self, settings: Settings, embedders: Embedders, rerankers: Rerankers
    ) -> Library:
        """This library under other limits and with other models; only this one is to be closed."""
        other = copy.copy(self)
        other.settings, other.embedders, other.rerankers = settings, embedders, rerankers
        other.originals = Originals(settings.data, settings.max_file_mb * 2**20)
        limits = Limits.from_settings(settings)
        other.versions = self.versions.with_limits(embedders, other.originals, limits)
        other.transfer = Transfer(self.store, other.originals, self.indexes, limits)
        return other

    # Collections

    def collections(self, owner: str, hidden: bool = False) -> list[Collection]:
        """The owner's collections by name; `hidden` gives those that belong to chats instead."""
        return self.store.collections(owner, hidden)

    def collection(self, owner: str, name: str) -> Collection:
        """The collection; raises NotFound."""
        found = self.store.collection(owner, name)
        if found is None:
            raise self._unknown_collection(owner, name)
        return found

    def create_collection(
        self, owner: str, name: str, hidden: bool = False, like: str = ""
    ) -> Collection:
        """A new, empty collection, cut, embedded and searched as the one that it is to be `like`.

        Raises ConfigError when the name cannot be used or is taken, and NotFound.
        """
        with self.store.database.transaction():
            name = self._check_free(owner, name)
            other = self._look_up(owner, like)[0] if like else None
            made = other or IndexVersion(
                "", "", self.embedder.name, self.embedder.dimension, chunk_tokens(self.embedder)
            )
            self.store.add_collection(owner, name, hidden, made)
            if like:
                self.set_options(owner, name, self.options(owner, like))
        return self.collection(owner, name)

    def rename_collection(self, owner: str, name: str, new_name: str) -> Collection:
        """Give it another name; raises NotFound, and ConfigError for a name that is taken."""
        with self.store.database.transaction():
            found = self.collection(owner, name)
            if new_name.strip() != name:
                self.store.rename_collection(found.id, self._check_free(owner, new_name))
        return self.collection(owner, new_name.strip())

    def delete_collection(self, owner: str, name: str) -> None:
        """Remove a collection with its documents; raises NotFound."""
        found = self.collection(owner, name)
        versions = self.store.version_table.of(found.id)
        self.originals.remove_unused(self.store, self.store.delete_collection(found.id))
        for version in versions:
            self.indexes.drop(version)

    def options(self, owner: str, name: str) -> SearchOptions:
        """How the collection is searched; raises NotFound."""
        return self._look_up(owner, name)[1]

    def set_options(self, owner: str, name: str, options: SearchOptions) -> None:
        """Search the collection like this from now on, in chats too; raises NotFound."""
        self.store.set_options(self.collection(owner, name).id, options)

    # Documents

    def documents(self, owner: str, collection: str, search: str = "") -> list[StoredDocument]:
        """The collection's documents, newest first, those whose name, title or source contains
        `search`; raises NotFound.
        """
        return [
            self._add_stage(document)
            for document in self.store.documents(self.collection(owner, collection).id, search)
        ]

    def document(self, owner: str, document_id: str) -> StoredDocument:
        """The document; raises NotFound."""
        found = self.store.document(owner, document_id)
        if found is None:
            raise NotFound(f"There is no document {document_id!r}; it may have been deleted.")
        return self._add_stage(found)

    def copies(self, owner: str, collection: str) -> dict[str, str]:
        """The oldest document's name by the ids of its copies; raises NotFound."""
        return self.store.copies(self.collection(owner, collection).id)

    def chunks(self, owner: str, document_id: str, offset: int = 0, limit: int = 50) -> list[Chunk]:
        """The document's chunks in order; raises NotFound."""
        document = self.document(owner, document_id)
        return self.store.chunk_table.list_chunks(
            self.store.version(document.collection_id), document.id, offset, limit
        )

    def chunk(self, owner: str, chunk_id: int) -> Chunk:
        """The chunk; raises NotFound."""
        found = self.store.chunk_table.one(owner, chunk_id)
        if found is None:
            raise NotFound(
                f"There is no chunk {chunk_id}; its document was deleted or replaced. A citation"
                " keeps its own text."
            )
        return found

    def text(self, owner: str, document_id: str) -> str:
        """The text that was read from the document, to which the spans of chunks and hits refer;
        raises NotFound.
        """
        found = self.store.text(self.document(owner, document_id).id)
        if found is None:
            raise NotFound(
                f"Document {document_id!r} has no text: it was not taken in successfully. Retry it."
            )
        return found

    def documents_within(
        self, owner: str, collections: Sequence[str], scope: Scope
    ) -> list[StoredDocument]:
        """Documents with a text in the scope, by collection, oldest first; raises NotFound."""
        versions = [self._look_up(owner, name)[0] for name in collections]
        found: list[StoredDocument] = []
        for version in versions:
            found += self.store.documents_within(version, scope)
        return found

    def reading(self, owner: str, document_id: str, scope: Scope | None = None) -> DocumentText:
        """The document's text with its sections; characters outside the scope's pages are blanks,
        so that spans stay true.

        Raises NotFound, and DocumentError when there is no text any more.
        """
        document = self.document(owner, document_id)
        with (
            Jail(Limits.from_settings(self.settings)) as jail,
            stopping.current().on_stop(jail.stop),
        ):
            return within_pages(
                Readings(self.store, self.originals, jail).of(document), scope or Scope()
            )

    def original(self, owner: str, document_id: str) -> Path:
        """The file as it was given; raises NotFound."""
        document = self.document(owner, document_id)
        sha256 = document.sha256 or self.store.read_pending(document_id)
        path = self.originals.path(sha256 or "none")
        if not path.is_file():
            raise NotFound(
                f"The original of {document.name} is not in the data folder; give the file once"
                " more."
            )
        return path

    def delete_documents(self, owner: str, ids: Sequence[str]) -> int:
        """Remove documents from every answer; gives how many of the ids were there."""
        count, contents = self.store.delete_documents(owner, ids)
        self.originals.remove_unused(self.store, contents)
        return count

    def tag_documents(
        self, owner: str, ids: Sequence[str], add: Sequence[str] = (), remove: Sequence[str] = ()
    ) -> int:
        """Give documents tags and take tags away; gives how many of the ids were there. Raises
        ConfigError for an odd tag.
        """
        return self.store.tag_table.change(owner, ids, add, remove)

    def tags(self, owner: str, name: str) -> list[str]:
        """The tags of the collection's documents in order; raises NotFound."""
        return self.store.tag_table.tags(self.collection(owner, name).id)

    def media_types(self, owner: str, name: str) -> list[str]:
        """The collection's media types in order, as `application/pdf`; raises NotFound."""
        return self.store.tag_table.media_types(self.collection(owner, name).id)

    # Taking in

    def ingest(self, owner: str, collection: str, sources: Iterable[Source]) -> list[DocumentDone]:
        """Take documents in, in this thread; the collection is made if it is missing.

        Emits DocumentProgress, and DocumentDone when a document is durable or has failed; one bad
        file never stops the others.
        Raises Stopped when told to stop: what was reported as indexed stays.
        """
        with self.store.database.transaction():
            found = self.store.collection(owner, collection.strip())
            found = found or self.create_collection(owner, collection)
        with self.writing(found) as writer, bus.listening(self._watch):
            work = Ingest(writer, self.store, self.originals, Limits.from_settings(self.settings))
            return work.run(sources)

    @contextmanager
    def writing(self, collection: Collection) -> Iterator[GroupWriter]:
        """What stores documents in the collection that are read already; its index version stays
        the same while the block runs.

        Raises ConfigError when the embedding model is not there; its first use does, when it has
        changed.
        """
        with self._lock.shared(collection.id):
            version = self.store.version(collection.id)
            embedder = self.versions.embedders.find_named(version)
            check = partial(self.versions.check_model, version)
            parts = (self.store, self.originals, self.indexes)
            yield GroupWriter(*parts, embedder, version, self._turn, check)

    def retry(self, owner: str, ids: Sequence[str]) -> list[DocumentDone]:
        """Take documents in once more, from where they came or from the kept original; ids that are
        not there are passed over.
        """
        found = [self.store.document(owner, document_id) for document_id in ids]
        by_collection: dict[str, list[StoredDocument]] = {}
        for document in filter(None, found):
            by_collection.setdefault(document.collection_id, []).append(document)
        collections = self.collections(owner) + self.collections(owner, hidden=True)
        names = {collection.id: collection.name for collection in collections}

        done: list[DocumentDone] = []
        for collection_id, documents in by_collection.items():
            sources = [self._make_source(document) for document in documents]
            try:
                done += self.ingest(owner, names[collection_id], sources)
            finally:
                self._remove_fetched(sources)
        return done

    def _remove_fetched(self, sources: Sequence[Source]) -> None:
        """Delete the files that were loaded from the web for these sources."""
        for source in sources:
            if source.path.parent == self.settings.data / "fetched":
                source.path.unlink(missing_ok=True)

    def interrupt_orphans(self) -> int:
        """Mark documents that a dead process left unfinished; call once after opening. Gives how
        many there were.

        Files of index versions that it had just removed go, too.
        """
        self.indexes.sweep(self.store.versions())
        return self.store.interrupt_orphans()

    # Finding

    def retrieve(
        self,
        owner: str,
        collection: str | Sequence[str],
        query: str,
        *,
        options: SearchOptions | None = None,
        scope: Scope | None = None,
        top_k: int | None = None,
        mode: Mode | None = None,
        version_id: str | None = None,
        falls_back: bool = True,
    ) -> list[Hit]:
        """The passages that fit the query best, of one or several collections, or of a part of
        them, best first.

        They are searched with the options of the first one, or with those given; `top_k` and `mode`
        go before either. With `version_id` a version of the (one) collection is searched that does
        not answer otherwise. Emits Retrieved; raises NotFound, and ConfigError for an impossible
        option, a version of another collection or one that is not built, or an embedding model that
        is not there or has changed.

        While a server of embeddings is out of reach, words alone are searched for, which the event
        tells as `fallback`;
        unless it `falls_back`, ModelUnreachable or RateLimited is raised then.
        """
        names = list(dict.fromkeys(to_list(collection, str)))
        searched = [self._look_up(owner, name) for name in names]
        if not searched:
            raise ConfigError("No collection is named to be searched; name at least one.")
        versions = [version for version, _ in searched]
        if version_id:
            versions = [self._check_version(versions, self.versions.one(owner, version_id), names)]
        chosen = options or searched[0][1]
        if top_k is not None:
            chosen = replace(chosen, top_k=top_k)
        if mode is not None:
            chosen = replace(chosen, mode=mode)
        parts = (self.store.chunk_table, self.indexes, self.versions.embedders, self.rerankers)
        search = Search(*parts, versions, scope or Scope(), falls_back)
        return search.run(utf8(query), chosen, ", ".join(names))

    def find(
        self,
        owner: str,
        collection: str,
        pattern: str,
        *,
        regex: bool = False,
        match_case: bool = False,
        scope: Scope | None = None,
        limit: int = 100,
    ) -> list[Match]:
        """Where exactly this text, or what fits this regular expression, stands in the documents,
        in their order.

        Raises NotFound, and ConfigError for an expression that cannot be understood.
        """
        version, _ = self._look_up(owner, collection)
        return find(
            self.store.chunk_table, version, scope or Scope(), pattern, regex, match_case, limit
        )

    def find_passages(
        self,
        owner: str,
        collections: Sequence[str],
        text: str,
        top_k: int = 8,
        *,
        scope: Scope | None = None,
    ) -> list[Hit]:
        """The first chunks in which exactly this text stands, in capitals or not. Emits Retrieved;
        raises as `find` does.
        """
        versions = [self._look_up(owner, name)[0] for name in collections]
        return find_passages(
            self.store.chunk_table, versions, scope or Scope(), text, top_k, ", ".join(collections)
        )

    def similarity(self, question: str, sentences: Sequence[str]) -> list[float]:
        """How near each sentence is to the question in meaning, as a cosine from -1 to 1."""
        if not sentences:
            return []
        vectors = self.embedder.embed([question, *sentences])
        scores: list[float] = (vectors[1:] @ vectors[0]).tolist()
        return scores

    # Upkeep

    def warm(self) -> None:
        """Load the embedding model, so that the first question need not wait for it."""
        self.embedder.embed(["warm up"])

    def check(self) -> list[Problem]:
        """What is wrong: where indexes and database differ, and which originals are missing."""
        return self.check_indexes() + checks.find_missing_originals(self.store, self.originals)

    def check_indexes(self) -> list[Problem]:
        """Whether indexes and database agree."""
        return checks.indexes(self.store, self.indexes)

    def check_originals(self) -> list[Problem]:
        """Which kept originals are missing, cannot be read or are not what was taken in.

        Reads all of them, so this is for the command line and not for a page. Raises Stopped.
        """
        return checks.find_damaged_originals(self.store, self.originals)

    def close(self) -> None:
        """Save the indexes; the database is closed by whoever opened it."""
        self.indexes.close()

    # Parts

    def _look_up(self, owner: str, name: str) -> tuple[IndexVersion, SearchOptions]:
        found = self.store.find_searched(owner, name)
        if found is None:
            raise self._unknown_collection(owner, name)
        return found

    def _check_version(
        self, answering: Sequence[IndexVersion], version: IndexVersion, names: Sequence[str]
    ) -> IndexVersion:
        if [one.collection_id for one in answering] != [version.collection_id]:
            raise ConfigError(
                f"The index version belongs to none of {', '.join(names)}; name the one"
                " collection that it belongs to."
            )
        documents, missing, _ = self.store.version_table.counts(version)
        if missing and not documents:
            raise ConfigError(
                f"The index version {version.id} is not built yet, nothing can be found in it;"
                " build it first."
            )
        return version

    def _unknown_collection(self, owner: str, name: str) -> NotFound:
        names = [collection.name for collection in self.collections(owner)]
        there = "there are none yet. Take documents in first."
        if names:
            there = f"there are: {', '.join(names)}."
        return NotFound(f"There is no collection {name!r}; {there}")

    def _check_free(self, owner: str, name: str) -> str:
        name = check_name(name, "collection")
        if self.store.collection(owner, name) is not None:
            raise ConfigError(f"There is a collection {name!r} already; choose another name.")
        return name

    def _add_stage(self, document: StoredDocument) -> StoredDocument:
        """The document with the stage that it is in just now."""
        stage = self._stages.get(document.id)
        return replace(document, status=stage) if stage else document

    def _watch(self, event: Event) -> None:
        if isinstance(event, DocumentProgress):
            self._stages[event.document_id] = event.stage
        elif isinstance(event, DocumentDone):
            self._stages.pop(event.document_id, None)

    def _make_source(self, document: StoredDocument) -> Source:
        pending = self.store.read_pending(document.id)
        has_original = document.sha256 and pending  # not when a page could not be had the last time
        if not has_original and document.source.lower().startswith(("http://", "https://")):
            return source_at(document.source, self.settings)
        path = Path(document.source)
        if not (path.is_absolute() and path.is_file()):
            path = self.originals.path(pending or document.sha256 or "none")
        return Source(document.name, path, document.source)
