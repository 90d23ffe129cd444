"""The first stage of a search, over indexes of one embedder: chunks near in meaning, chunks with
the same words, or both.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from agentkit.retrieval.embedding.embed import Embedder, embed_and_check, emit_embedding
from agentkit.retrieval.index.indexes import CollectionIndex
from agentkit.retrieval.search.fusion import fuse
from agentkit.retrieval.types import IndexVersion, Mode

if TYPE_CHECKING:
    import numpy as np

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
_FEW = 2_000
"""So many allowed chunks are given to the lexical index as a set; of more, it is asked for more
hits than needed instead.
"""
_MORE = (4, 16)
"""How many times more hits are asked for then, one after the other."""


@dataclass(frozen=True, eq=False, slots=True)
class Part:
    """A part of what is searched: a version of a collection's index, or some chunks of it."""

    version: IndexVersion
    index: CollectionIndex
    allowed: np.ndarray | None
    """Ids of the chunks that may be found, ascending; None for all."""


@dataclass(eq=False, slots=True)
class Candidate:
    """A chunk that a stage found."""

    id: int
    part: Part
    scores: dict[str, float] = field(default_factory=dict)
    """As on a hit."""
    score: float = 0.0
    """By what it is ranked so far."""


Ranking = list[tuple[float, Candidate]]
"""Candidates with their scores of one stage, best first."""


class Timings(dict[str, float]):
    """Seconds by stage; what is done several times adds up."""

    @contextmanager
    def of(self, stage: str) -> Iterator[None]:
        """Time the block as this stage."""
        started = time.perf_counter()
        yield
        self[stage] = self.get(stage, 0.0) + time.perf_counter() - started


class Candidates:
    """One query to parts whose vectors can be compared."""

    def __init__(
        self, parts: Sequence[Part], timings: Timings, query: str, embedder: Embedder | None
    ) -> None:
        self._parts, self._timings, self._query = parts, timings, query
        self._vector: np.ndarray | None = None
        if embedder and query.strip():
            self._vector = self._embed(query, embedder)
        self._found: dict[int, Candidate] = {}
        self._shares: dict[int, float] = {}

    def find(self, mode: Mode, depth: int) -> list[Candidate]:
        """The candidates, best first: at most `depth` of each stage. Lexical mode needs no
        embedder.
        """
        self._found, self._shares = {}, {}
        vector = self._vector
        if vector is not None:
            self._note_meaning(self._rank_by_meaning(vector, depth))
        if mode != "dense":
            self._note_words(self._rank_by_words(depth))
        if mode == "hybrid" and vector is not None:
            with self._timings.of("fusion"):
                self._fuse(vector)
        return sorted(self._found.values(), key=lambda one: (-one.score, one.id))

    def _embed(self, query: str, embedder: Embedder) -> np.ndarray:
        dimension = self._parts[0].version.dimension
        tokens = len(embedder.offsets(query)) + 2
        started = time.perf_counter()
        with self._timings.of("embed"):
            vector: np.ndarray = embed_and_check(embedder, [query], dimension, tokens)[0]
        emit_embedding(embedder, tokens, time.perf_counter() - started)
        return vector

    def _rank_by_meaning(self, vector: np.ndarray, depth: int) -> Ranking:
        """Candidates with their cosines, best first."""
        with self._timings.of("dense"):
            ranking: Ranking = []
            for part in self._parts:
                ids, scores = part.index.nearest(vector, depth, part.allowed)
                for number, score in zip(ids, scores, strict=True):
                    ranking.append((score, Candidate(number, part)))
            return _take_best(ranking, self._parts, depth)

    def _rank_by_words(self, depth: int) -> Ranking:
        """Candidates with the share of the highest score that is possible in their index, so that
        several can be compared.
        """
        with self._timings.of("lexical"):
            ranking: Ranking = []
            for part in self._parts:
                ids, scores = _match_words(part, self._query, depth)
                if not ids:
                    continue
                ceiling = part.index.ceiling(self._query) or 1.0
                for number, score in zip(ids, scores, strict=True):
                    share = min(1.0, score / ceiling)
                    ranking.append((share, Candidate(number, part, {"lexical": score})))
            return _take_best(ranking, self._parts, depth)

    def _note_meaning(self, ranking: Ranking) -> None:
        for rank, (score, one) in enumerate(ranking, start=1):
            one.scores["dense"], one.scores["dense_rank"] = score, float(rank)
            one.score = score
            self._found[one.id] = one

    def _note_words(self, ranking: Ranking) -> None:
        for rank, (share, found) in enumerate(ranking, start=1):
            one = self._found.setdefault(found.id, found)
            one.scores["lexical"], one.scores["lexical_rank"] = found.scores["lexical"], float(rank)
            one.score = self._shares[one.id] = share

    def _fuse(self, vector: np.ndarray) -> None:
        """Give every candidate its cosine and its fused score; one that has just been deleted drops
        out.
        """
        import numpy as np

        ids, vectors = vectors_of(list(self._found.values()))
        self._found = {number: self._found[number] for number in ids}
        if not ids:
            return
        dense = vectors @ vector
        lexical = np.array([self._shares.get(number, 0.0) for number in ids], dtype=np.float32)
        fused = fuse(dense, lexical, vectors).tolist()
        for one, cosine, score in zip(self._found.values(), dense.tolist(), fused, strict=True):
            one.scores["dense"], one.scores["fused"] = cosine, score
            one.score = score


def group(things: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """The things by what they have in common, each group and the groups in their order."""
    groups: dict[K, list[T]] = {}
    for thing in things:
        groups.setdefault(key(thing), []).append(thing)
    return groups


def vectors_of(candidates: Sequence[Candidate]) -> tuple[list[int], np.ndarray]:
    """Ids (n) and vectors (n, dimension) of those of one embedder's candidates that are still
    there.
    """
    import numpy as np

    ids: list[int] = []
    vectors: list[np.ndarray] = []
    for part, found in group(candidates, lambda one: one.part).items():
        there, of_part = part.index.vectors([one.id for one in found])
        ids += there
        vectors.append(of_part)

    if not vectors:
        return ids, np.empty((0, 0), dtype=np.float32)
    if len(vectors) == 1:
        return ids, vectors[0]
    return ids, np.concatenate(vectors)


def _match_words(part: Part, query: str, depth: int) -> tuple[list[int], list[float]]:
    """Ids and BM25 scores of the best chunks that are allowed."""
    if part.allowed is None:
        return part.index.find_matching(query, depth)
    if len(part.allowed) <= _FEW:
        return part.index.find_matching(query, depth, part.allowed.tolist())

    for more in _MORE:
        wanted = more * depth
        ids, scores = part.index.find_matching(query, wanted)
        rows = _rows_among(part.allowed, ids)[:depth]
        found_all = len(ids) < wanted
        if found_all or len(rows) == depth:
            return [ids[row] for row in rows], [scores[row] for row in rows]
    return part.index.find_matching(query, depth, part.allowed.tolist())


def _rows_among(allowed: np.ndarray, ids: Sequence[int]) -> list[int]:
    """The places of the ids that are among the allowed ones, of which there is one at least."""
    import numpy as np

    at = np.minimum(np.searchsorted(allowed, ids), len(allowed) - 1)
    rows: list[int] = np.flatnonzero(allowed[at] == np.asarray(ids, dtype=np.int64)).tolist()
    return rows


def _take_best(ranking: Ranking, parts: Sequence[Part], depth: int) -> Ranking:
    """The first `depth`; what comes from one index is in order already."""
    if len(parts) == 1:
        return ranking
    return sorted(ranking, key=_best_first)[:depth]


def _best_first(entry: tuple[float, Candidate]) -> tuple[float, int]:
    return -entry[0], entry[1].id
