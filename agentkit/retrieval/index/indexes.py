"""The indexes of one collection and what hits show, kept up with the database; and the set of those
that are open.
"""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agentkit.core.given import list_missing
from agentkit.errors import AgentkitError, NotFound, StoreError
from agentkit.retrieval.index.lexical import LexicalIndex
from agentkit.retrieval.index.shown_rows import ShownRows
from agentkit.retrieval.index.vector_index import EXACT_BELOW, IndexFigures, VectorIndex
from agentkit.retrieval.store.chunk_table import CHANGES, ChunkTable, IndexRow
from agentkit.retrieval.store.scoping import find_allowed_chunks
from agentkit.retrieval.store.version_table import VersionTable
from agentkit.retrieval.types import IndexVersion, Problem, Scope

if TYPE_CHECKING:
    import numpy as np

__all__ = ["EXACT_BELOW", "CollectionIndex", "IndexFigures", "Indexes"]

log = logging.getLogger(__name__)

_SLICE = 2_000
_MOST_WASTE = 0.3
"""With a greater share of removed chunks the words are indexed again, as the scores still count
those.
"""
MOST_OPEN = 128
"""So many indexes stay open."""
_KEPT = 8
"""Scopes whose chunks are remembered."""


@dataclass(frozen=True, slots=True)
class VersionChanges:
    """The changes to the chunks of one version, as the vector index follows them."""

    chunks: ChunkTable
    version: IndexVersion

    def last_change(self) -> int:
        """The number of the last change."""
        return self.chunks.last_change(self.version)

    def read_removed(self, after: int, until: int) -> list[int]:
        """Ids removed after one change and until another."""
        return self.chunks.read_removed(self.version, after, until)

    def read_added(self, after: int, until: int, limit: int) -> tuple[np.ndarray, np.ndarray]:
        """Ids (n), rising, and vectors (n, dimension) of the first `limit` added after one change
        and until another.
        """
        return self.chunks.read_added_vectors(self.version, after, until, limit)

    def read_stored(self, ids: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """Ids (n) and vectors (n, dimension) of those of the ids that are there."""
        return self.chunks.vectors(self.version, ids)


class CollectionIndex:
    """The indexes of one index version; safe to share between threads."""

    def __init__(
        self, chunks: ChunkTable, version: IndexVersion, folder: Path, exact_below: int
    ) -> None:
        self.version = version
        self._chunks = chunks
        self._folder = folder
        self._lock, self._following = threading.RLock(), threading.Lock()
        self._abandoned = threading.Event()
        self._words, self._words_problem = LexicalIndex(folder / "lexical"), ""
        self._passages = ShownRows(chunks, version, folder)
        self._revision = -1
        """The database's revision that the indexes have caught up with; -1 when they have to look
        anew.
        """
        self._without_removed = -1
        """The last revision up to which nothing was removed that the indexes may still have."""
        changes = VersionChanges(chunks, version)
        self._vectors = VectorIndex(changes, version.dimension, "cosine", folder, exact_below)
        if self._words.change > chunks.last_change(version):
            self._words.clear()  # the database is an older copy: the files are of another history

    def refresh(self, *, wait: bool = True) -> None:
        """Take in what changed in the database since the last time; raises StoreError for vectors
        that cannot be.

        While another thread does, it is waited for; without `wait` only when something was removed,
        so that nobody finds that any more. Within a transaction nothing is taken in, as what it
        shows may yet be taken back.
        """
        database = self._chunks.database
        revision = database.revision(CHANGES)
        is_busy = database.in_transaction or self._abandoned.is_set()
        if revision == self._revision or is_busy:
            return
        waits = wait or self._has_removed(revision)
        if not self._following.acquire(blocking=waits):
            return
        try:
            self._follow(revision)
        finally:
            self._following.release()

    def _has_removed(self, revision: int) -> bool:
        """Whether the database has removed what the indexes may still have, or they were never
        brought up to date.
        """
        if self._revision < 0:
            return True
        if revision == self._without_removed:
            return False  # as many searches ask while much is added
        seen = min(self._vectors.change, self._passages.change, self._words.change)
        last = self._chunks.last_change(self.version)
        if self._chunks.read_removed(self.version, seen, last):
            return True
        self._without_removed = revision
        return False

    def _follow(self, revision: int) -> None:
        self._vectors.refresh()
        with self._lock:
            if self._abandoned.is_set():
                return
            until = self._chunks.last_change(self.version)
            if until > self._passages.change:
                self._passages.refresh(until)
            if until > self._words.change:
                self._follow_words(until)
            if min(self._vectors.change, self._words.change) >= until:
                self._revision = revision

    @property
    def is_open(self) -> bool:
        """Whether it follows changes."""
        return not self._abandoned.is_set()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to be found; words are taken in only after their vectors."""
        return not len(self._vectors)

    def nearest(
        self, query: np.ndarray, k: int, allowed: np.ndarray | None = None
    ) -> tuple[list[int], list[float]]:
        """Ids and cosines of the at most `k` chunks, of those in `allowed` (rising ids), nearest to
        the vector, best first.
        """
        ids, distances = self._vectors.search(query, k, allowed)
        return ids.tolist(), (1 - distances).tolist()

    def find_matching(
        self, query: str, k: int, allowed: Sequence[int] | None = None
    ) -> tuple[list[int], list[float]]:
        """Ids and BM25 scores of the at most `k` chunks, of those that are allowed, that share
        words with the query.
        """
        return self._words.search(query, k, allowed)

    def passages(self, ids: Sequence[int]) -> dict[int, IndexRow]:
        """What hits show of the chunks, of those that are there."""
        found = {}
        if not self._abandoned.is_set():
            found = self._passages.get(ids)
        missing = list_missing(ids, found)  # they were just removed, or added
        if missing:
            return found | self._chunks.passages(self.version, missing)
        return found

    def ceiling(self, query: str) -> float:
        """The BM25 score that no chunk can exceed for the query."""
        return self._words.ceiling(query)

    def vectors(self, ids: list[int]) -> tuple[list[int], np.ndarray]:
        """Those of the chunks that are there and their vectors (n, dimension)."""
        return self._vectors.vectors(ids)

    def figures(self) -> IndexFigures:
        """How the vectors are searched, and what that was measured to find."""
        return self._vectors.figures()

    def settle(self) -> None:
        """After an ingest: free what only writing needs, and save if much would have to be caught
        up with.
        """
        with self._lock:
            if self._abandoned.is_set():
                return
            self._words.settle()
            if self._vectors.is_far:
                self._vectors.save()
                self._passages.save()

    def close(self) -> None:
        """Write what is not yet in the files, and let go of them."""
        self.refresh()
        with self._lock:
            # which makes it durable: only then may what it contains be forgotten elsewhere
            self.put_away()
            try:
                seen = min(self._vectors.saved, self._words.change, self._passages.saved)
                self._chunks.forget_removed(self.version, seen)
            except StoreError as error:  # they are only in the way; the next time will do
                log.warning(
                    "Notes of removed chunks of version %s stay in the database: %s",
                    self.version.id,
                    error,
                )

    def put_away(self) -> None:
        """Write what it contains, and let go of the files."""
        with self._lock:
            self._words.settle()
            self._vectors.save()
            self._passages.save()
            self.abandon()

    def abandon(self) -> None:
        """Follow changes no more; searches that are under way end well."""
        with self._lock:
            self._abandoned.set()

    def check(self) -> list[Problem]:
        """Whether the indexes have exactly what the database has, and could be saved."""
        self._passages.mend()
        self._revision = -1
        self.refresh()
        with self._lock:
            for cache in (self._vectors, self._passages):
                if cache.problem:
                    cache.save()  # there may be space again
            wrong = self._compare_ids()
        wrong += self._compare_vectors()
        anew = (
            f"Stop the program, remove the folder {self._folder} and start again: the index is"
            " built anew."
        )
        unwritten = (self._vectors.problem, self._passages.problem, self._words_problem)
        space = "Free some space on the disk; the documents are safe."
        problems = [Problem(what, anew) for what in wrong]
        return problems + [Problem(what, space) for what in unwritten if what]

    def _compare_ids(self) -> list[str]:
        """What is told of each index that has other chunks than the database."""
        stored = set(self._chunks.chunk_ids(self.version))
        found = {"vector": set(self._vectors.ids.tolist()), "passage": self._passages.ids()}
        counts = {"vector": len(self._vectors), "passage": len(found["passage"])}
        if not self._words_problem:  # which explains why they are behind
            found["lexical"], counts["lexical"] = self._words.ids(), len(self._words)
        return [
            f"The {kind} index of version {self.version.id} has {counts[kind]} chunks, the"
            f" database {len(stored)}."
            for kind in found
            if found[kind] != stored or counts[kind] != len(stored)
        ]

    def _compare_vectors(self) -> list[str]:
        """What is told of vectors that are others than those in the database."""
        wrong = self._vectors.find_wrong()
        if not wrong:
            return []
        return [
            f"The vector index of version {self.version.id} has other vectors than the database"
            f" for {len(wrong):,} of its {len(self._vectors):,} chunks."
        ]

    def _follow_words(self, until: int) -> None:
        """Where writing fails, what was there before answers on, and the next time tries again."""
        words = self._words
        try:
            if words.change:
                words.remove(self._chunks.read_removed(self.version, words.change, until))
            self._write_words(words.change, until)
            if words.waste > _MOST_WASTE:
                words.empty()
                self._write_words(0, until)
            self._words_problem = ""
        except Exception as error:
            self._words = LexicalIndex(self._folder / "lexical")
            # tantivy says ValueError when the disk is full
            if not isinstance(error, (OSError, ValueError, RuntimeError)):
                raise
            self._words_problem = (
                f"The index of words in {self._folder} could not be written ({error})."
            )
            log.warning(
                "%s Words of the newest documents are not found until it can be.",
                self._words_problem,
            )

    def _write_words(self, known: int, until: int) -> None:
        more = True
        while more and (rows := self._chunks.read_added_rows(self.version, known, until, _SLICE)):
            self._words.add(rows)
            known, more = rows[-1]["id"], len(rows) == _SLICE
        self._words.commit(until)


class Indexes:
    """The open indexes of all collections; each is opened when it is used, and those used last stay
    open.
    """

    def __init__(self, chunks: ChunkTable, folder: Path) -> None:
        self._chunks = chunks
        self._folder = folder
        self._lock = threading.Lock()
        self._open: dict[str, CollectionIndex] = {}
        """By version, the one that was used last at the end."""
        self._turns: dict[str, threading.Lock] = {}
        self._allowed: dict[tuple[int, str, str], np.ndarray | None] = {}

    def of(self, version: IndexVersion, *, wait: bool = True) -> CollectionIndex:
        """The indexes of that version, up to date; without `wait`, they may lack what another
        thread adds at the moment.

        Raises NotFound when the version was removed meanwhile, and StoreError when their files can
        be neither opened nor made.
        """
        while True:  # once more when it was put away meanwhile
            index = self._use(version) or self._open_again(version)
            index.refresh(wait=wait)
            if index.is_open:
                return index

    def find_allowed(self, version: IndexVersion, scope: Scope) -> np.ndarray | None:
        """See `allowed_chunks`. The last ones are kept: whoever narrows a search asks for the same
        again and again.
        """
        database = self._chunks.database
        if database.in_transaction:
            return find_allowed_chunks(self._chunks, version, scope)
        asked, kept = (database.revision(CHANGES), version.id, repr(scope)), self._allowed
        if asked in kept:
            return kept[asked]
        found = find_allowed_chunks(self._chunks, version, scope)
        self._allowed = dict(
            [*kept.items(), (asked, found)][-_KEPT:]
        )  # never changed in place, so no lock is needed
        return found

    def drop(self, version: IndexVersion) -> None:
        """Remove the indexes of a version that was removed."""
        with self._turn(version):
            if index := self._take_out(version):
                index.abandon()
            shutil.rmtree(self._folder / version.id, ignore_errors=True)

    def sweep(self, versions: Sequence[IndexVersion]) -> None:
        """Remove what is left of versions other than these, all that there are; call once after
        opening.
        """
        known = {version.id for version in versions}
        for folder in self._folder.glob("*"):
            if folder.name not in known:
                shutil.rmtree(folder, ignore_errors=True)
            for file in folder.glob("shown.sqlite*"):  # what hits show, of older versions
                file.unlink(missing_ok=True)

    def close(self) -> None:
        """Save all; what cannot be saved is brought up to date from the database at the next
        start.
        """
        while self._open:
            version_id, index = self._open.popitem()
            try:
                index.close()
            except (
                AgentkitError,
                OSError,
                ValueError,
            ) as error:  # the others are to be saved all the same
                log.warning("The indexes of version %s could not be saved: %s", version_id, error)

    def _open_again(self, version: IndexVersion) -> CollectionIndex:
        with self._turn(version):
            index = self._use(version) or self._open_index(version)
            with self._lock:
                self._open[version.id] = index
        self._make_room()
        return index

    def _take_out(self, version: IndexVersion) -> CollectionIndex | None:
        with self._lock:
            return self._open.pop(version.id, None)

    def _use(self, version: IndexVersion) -> CollectionIndex | None:
        with self._lock:
            index = self._open.pop(version.id, None)
            if index is not None:
                self._open[version.id] = index
            return index

    def _make_room(self) -> None:
        """Put those away that were not used for the longest time: each has some open files and a
        thread.
        """
        with self._lock:
            unused = [index.version for index in self._open.values()][:-MOST_OPEN]
        for version in unused:
            with self._turn(version):
                if index := self._take_out(version):
                    index.put_away()

    def _turn(self, version: IndexVersion) -> threading.Lock:
        """Of one version alone: to open a large index takes seconds, in which others are to be
        searched.
        """
        return self._turns.setdefault(version.id, threading.Lock())

    def _open_index(self, version: IndexVersion) -> CollectionIndex:
        if not VersionTable(self._chunks.database).has_version(version):
            raise NotFound("The collection, or this version of its index, was deleted meanwhile.")
        folder = self._folder / version.id
        try:
            return CollectionIndex(self._chunks, version, folder, EXACT_BELOW)
        except (OSError, ValueError, RuntimeError) as error:  # ValueError is tantivy's
            raise StoreError(
                f"The indexes in {folder} can be neither opened nor made ({error}); check free"
                " space and permissions. The documents are safe."
            ) from error
