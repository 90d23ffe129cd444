"""Everything that is done with collections and documents, for one data folder. Every method takes the owner first."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from agentkit.core import bus
from agentkit.database import Database
from agentkit.documents import Limits
from agentkit.errors import ConfigError, NotFound
from agentkit.events import DocumentDone, DocumentProgress, Event
from agentkit.retrieval.embed import Embedder
from agentkit.retrieval.indexes import Indexes
from agentkit.retrieval.ingest import GroupWriter, Ingest, chunk_tokens
from agentkit.retrieval.originals import Originals
from agentkit.retrieval.search import Search
from agentkit.retrieval.store import Store
from agentkit.retrieval.types import Chunk, Collection, Hit, IndexVersion, Mode, Problem, Source, StoredDocument
from agentkit.settings import Settings

_LONGEST_NAME = 120


class Library:
    """Open one per database and share it between threads; close it at the end."""

    def __init__(self, database: Database, settings: Settings, embedder: Embedder) -> None:
        self.settings = settings
        self.embedder = embedder
        self.store = Store(database)
        self.originals = Originals(settings.data / "files", settings.max_file_mb * 2**20)
        self.indexes = Indexes(self.store.chunk_table, settings.data / "indexes")
        self._turn = threading.Lock()
        self._stages: dict[str, str] = {}

    # Collections

    def collections(self, owner: str, hidden: bool = False) -> list[Collection]:
        """The owner's collections by name; `hidden` gives those that belong to chats instead."""
        return self.store.collections(owner, hidden)

    def collection(self, owner: str, name: str) -> Collection:
        """The collection; raises NotFound."""
        found = self.store.collection(owner, name)
        if found is None:
            raise NotFound(f"There is no collection {name!r}; {self._known(owner)}")
        return found

    def create_collection(self, owner: str, name: str, hidden: bool = False) -> Collection:
        """A new, empty collection; raises ConfigError when the name cannot be used or is taken."""
        with self.store.database.transaction():
            name = self._free_name(owner, name)
            self.store.add_collection(
                owner, name, hidden, self.embedder.name, self.embedder.dimension, chunk_tokens(self.embedder)
            )
        return self.collection(owner, name)

    def rename_collection(self, owner: str, name: str, new_name: str) -> Collection:
        """Give it another name; raises NotFound, and ConfigError when the new name cannot be used or is taken."""
        with self.store.database.transaction():
            found = self.collection(owner, name)
            if new_name.strip() != name:
                self.store.rename_collection(found.id, self._free_name(owner, new_name))
        return self.collection(owner, new_name.strip())

    def delete_collection(self, owner: str, name: str) -> None:
        """Remove a collection with its documents; raises NotFound."""
        found = self.collection(owner, name)
        version = self.store.version(found.id)
        self.originals.remove(self.store.delete_collection(found.id))
        self.indexes.drop(version)

    # Documents

    def documents(self, owner: str, collection: str, search: str = "") -> list[StoredDocument]:
        """The collection's documents, newest first, those whose name, title or source contains `search`; raises NotFound."""
        return [self._live(document) for document in self.store.documents(self.collection(owner, collection).id, search)]

    def document(self, owner: str, document_id: str) -> StoredDocument:
        """The document; raises NotFound."""
        found = self.store.document(owner, document_id)
        if found is None:
            raise NotFound(f"There is no document {document_id!r}; it may have been deleted.")
        return self._live(found)

    def chunks(self, owner: str, document_id: str, offset: int = 0, limit: int = 50) -> list[Chunk]:
        """The document's chunks in order; raises NotFound."""
        return self.store.chunk_table.listed(self.document(owner, document_id).id, offset, limit)

    def chunk(self, owner: str, chunk_id: int) -> Chunk:
        """The chunk; raises NotFound."""
        found = self.store.chunk_table.one(owner, chunk_id)
        if found is None:
            raise NotFound(f"There is no chunk {chunk_id}; its document was deleted or replaced. A citation keeps its own text.")
        return found

    def text(self, owner: str, document_id: str) -> str:
        """The text that was read from the document, to which the spans of chunks and hits refer; raises NotFound."""
        found = self.store.text(self.document(owner, document_id).id)
        if found is None:
            raise NotFound(f"Document {document_id!r} has no text: it was not taken in successfully. Retry it.")
        return found

    def original(self, owner: str, document_id: str) -> Path:
        """The file as it was given; raises NotFound."""
        document = self.document(owner, document_id)
        path = self.originals.path(document.sha256 or self.store.pending_content(document_id) or "none")
        if not path.is_file():
            raise NotFound(f"The original of {document.name} is not in the data folder; give the file once more.")
        return path

    def delete_documents(self, owner: str, ids: Sequence[str]) -> int:
        """Remove documents from every answer; gives how many of the ids were there."""
        count, unused = self.store.delete_documents(owner, ids)
        self.originals.remove(unused)
        return count

    # Taking in

    def ingest(self, owner: str, collection: str, sources: Iterable[Source]) -> list[DocumentDone]:
        """Take documents in, in this thread; the collection is made if it is missing.

        Emits DocumentProgress, and DocumentDone when a document is durable or has failed; one bad file never stops the others.
        Raises Stopped when told to stop: what was reported as indexed stays.
        """
        with self.store.database.transaction():
            found = self.store.collection(owner, collection) or self.create_collection(owner, collection)
        version = self.store.version(found.id)
        writer = GroupWriter(self.store, self.indexes, self.embedder, version, self._turn)
        work = Ingest(writer, self.store, self.originals, version, self.embedder, Limits.from_settings(self.settings))
        with bus.listening(self._watch):
            return work.run(sources)

    def retry(self, owner: str, ids: Sequence[str]) -> list[DocumentDone]:
        """Take documents in once more, from where they came or from the kept original; ids that are not there are passed over."""
        documents = [found for document_id in ids if (found := self.store.document(owner, document_id))]
        names = {collection.id: collection.name for hidden in (False, True) for collection in self.collections(owner, hidden)}
        done: list[DocumentDone] = []
        for collection_id in dict.fromkeys(document.collection_id for document in documents):
            sources = [self._source(document) for document in documents if document.collection_id == collection_id]
            done += self.ingest(owner, names[collection_id], sources)
        return done

    def interrupt_orphans(self) -> int:
        """Mark documents that a dead process left unfinished; call once after opening. Gives how many there were."""
        return self.store.interrupt_orphans()

    # Finding

    def retrieve(self, owner: str, collection: str | Sequence[str], query: str, *, top_k: int = 10, mode: Mode = "hybrid",
                 document_ids: Sequence[str] | None = None) -> list[Hit]:  # fmt: skip
        """The `top_k` chunks that fit the query best, of one or several collections, or of some of their documents only.

        `dense` compares meanings, `lexical` words, `hybrid` both. Emits Retrieved; raises NotFound and ConfigError.
        """
        names = [collection] if isinstance(collection, str) else list(collection)
        versions = [self._version(owner, name) for name in dict.fromkeys(names)]
        search = Search(self.store.chunk_table, self.indexes, self.embedder, versions, document_ids)
        return search.run(query, top_k, mode, ", ".join(names))

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
        """What is wrong: whether indexes and database agree, and whether the originals are there."""
        problems: list[Problem] = []
        for version in self.store.versions():
            problems += self.indexes.of(version).check()
        for name, sha256 in self.store.kept_contents():
            if not self.originals.path(sha256).is_file():
                problems.append(
                    Problem(
                        f"The original of {name} is missing in {self.settings.data / 'files'}.", "Take the file in once more."
                    )
                )
        return problems

    def close(self) -> None:
        """Save the indexes; the database is closed by whoever opened it."""
        self.indexes.close()

    # Parts

    def _version(self, owner: str, name: str) -> IndexVersion:
        return self.store.version_named(owner, name) or self.store.version(self.collection(owner, name).id)

    def _known(self, owner: str) -> str:
        names = [collection.name for collection in self.collections(owner)]
        return f"there are: {', '.join(names)}." if names else "there are none yet. Take documents in first."

    def _free_name(self, owner: str, name: str) -> str:
        name = name.strip()
        if not name or len(name) > _LONGEST_NAME or not name.isprintable():
            raise ConfigError(f"{name!r} cannot be the name of a collection; use 1 to {_LONGEST_NAME} printable characters.")
        if self.store.collection(owner, name) is not None:
            raise ConfigError(f"There is a collection {name!r} already; choose another name.")
        return name

    def _live(self, document: StoredDocument) -> StoredDocument:
        """The document with the stage that it is in just now."""
        stage = self._stages.get(document.id)
        return replace(document, status=stage) if stage else document

    def _watch(self, event: Event) -> None:
        if isinstance(event, DocumentProgress):
            self._stages[event.document_id] = event.stage
        elif isinstance(event, DocumentDone):
            self._stages.pop(event.document_id, None)

    def _source(self, document: StoredDocument) -> Source:
        path = Path(document.source)
        if not (path.is_absolute() and path.is_file()):
            path = self.originals.path(self.store.pending_content(document.id) or document.sha256 or "none")
        return Source(document.name, path, document.source)
