"""The first stage of a search, over indexes of one embedder: chunks near in meaning, chunks with
the same words, or both.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agentkit.errors import ModelError
from agentkit.retrieval.embedding.embed import Embedder, checked, emit_embedding
from agentkit.retrieval.index.indexes import CollectionIndex
from agentkit.retrieval.search.fusion import fuse
from agentkit.retrieval.types import IndexVersion, Mode

if TYPE_CHECKING:
    import numpy as np

_FEW = 2_000
"""So many allowed chunks are given to the lexical index as a set; of more, it is asked for more
hits than needed instead.
"""
_MORE = (4, 16)
"""How many times more hits are asked for then, one after the other."""


@dataclass(frozen=True, slots=True)
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
        self._vector = self._embed(query, embedder) if embedder and query.strip() else None
        self._found: dict[int, Candidate] = {}
        self._shares: dict[int, float] = {}

    def find(self, mode: Mode, depth: int) -> list[Candidate]:
        """The candidates, best first: at most `depth` of each stage. Lexical mode needs no
        embedder.
        """
        self._found, self._shares = {}, {}
        if self._vector is not None:
            self._note_meaning(self._by_meaning(self._vector, depth))
        if mode != "dense":
            self._note_words(self._by_words(depth))
        if mode == "hybrid" and self._vector is not None:
            with self._timings.of("fusion"):
                self._fuse(self._vector)
        return sorted(self._found.values(), key=lambda one: (-one.score, one.id))

    def _embed(self, query: str, embedder: Embedder) -> np.ndarray:
        started = time.perf_counter()
        tokens = len(embedder.offsets(query)) + 2
        try:
            with self._timings.of("embed"):
                vector: np.ndarray = checked(
                    embedder.embed([query]), 1, self._parts[0].version.dimension, embedder.name
                )[0]
        except ModelError as error:
            emit_embedding(embedder, tokens, time.perf_counter() - started, error)
            raise
        emit_embedding(embedder, tokens, time.perf_counter() - started)
        return vector

    def _by_meaning(self, vector: np.ndarray, depth: int) -> Ranking:
        """Candidates with their cosines, best first."""
        with self._timings.of("dense"):
            ranking: Ranking = []
            for part in self._parts:
                ids, scores = part.index.nearest(vector, depth, part.allowed)
                ranking += [
                    (score, Candidate(number, part))
                    for number, score in zip(ids, scores, strict=True)
                ]
            return _best(ranking, self._parts, depth)

    def _by_words(self, depth: int) -> Ranking:
        """Candidates with the share of the highest score that is possible in their index, so that
        several can be compared.
        """
        with self._timings.of("lexical"):
            ranking: Ranking = []
            for part in self._parts:
                ids, scores = _matching(part, self._query, depth)
                ceiling = (part.index.ceiling(self._query) if ids else 0.0) or 1.0
                for number, score in zip(ids, scores, strict=True):
                    ranking.append(
                        (min(1.0, score / ceiling), Candidate(number, part, {"lexical": score}))
                    )
            return _best(ranking, self._parts, depth)

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


def vectors_of(candidates: Sequence[Candidate]) -> tuple[list[int], np.ndarray]:
    """Ids (n) and vectors (n, dimension) of those of one embedder's candidates that are still
    there.
    """
    import numpy as np

    ids: list[int] = []
    parts: list[np.ndarray] = []
    for part in {id(one.part): one.part for one in candidates}.values():
        found, vectors = part.index.vectors([one.id for one in candidates if one.part is part])
        ids += found
        parts.append(vectors)
    return ids, parts[0] if len(parts) == 1 else np.concatenate(
        parts or [np.empty((0, 0), dtype=np.float32)]
    )


def _matching(part: Part, query: str, depth: int) -> tuple[list[int], list[float]]:
    """Ids and BM25 scores of the best chunks that are allowed."""
    if part.allowed is None:
        return part.index.matching(query, depth)
    import numpy as np

    if len(part.allowed) > _FEW:
        for more in _MORE:
            ids, scores = part.index.matching(query, more * depth)
            at = np.minimum(np.searchsorted(part.allowed, ids), len(part.allowed) - 1)
            inside = part.allowed[at] == np.asarray(ids, dtype=np.int64)
            if len(ids) < more * depth or inside.sum() >= depth:
                chosen = np.flatnonzero(inside)[:depth].tolist()
                return [ids[row] for row in chosen], [scores[row] for row in chosen]
    return part.index.matching(query, depth, part.allowed.tolist())


def _best(ranking: Ranking, parts: Sequence[Part], depth: int) -> Ranking:
    """The first `depth`; what comes from one index is in order already."""
    return ranking if len(parts) == 1 else sorted(ranking, key=_best_first)[:depth]


def _best_first(entry: tuple[float, Candidate]) -> tuple[float, int]:
    return -entry[0], entry[1].id
