"""From a query to hits: nearest vectors, matching words, or both fused, over one or several collections."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from agentkit.core import bus
from agentkit.errors import ConfigError
from agentkit.events import Retrieved
from agentkit.retrieval.chunk_table import ChunkTable
from agentkit.retrieval.embed import Embedder
from agentkit.retrieval.fusion import fuse
from agentkit.retrieval.index import nearest
from agentkit.retrieval.indexes import CollectionIndex, Indexes
from agentkit.retrieval.ingest import emit_embedding
from agentkit.retrieval.types import Hit, IndexVersion, Mode

if TYPE_CHECKING:
    import numpy as np

DEPTH = 100
"""Candidates of each stage, at least, that are fused."""
MODES = ("hybrid", "dense", "lexical")


@dataclass(slots=True)
class Candidate:
    """A chunk that a stage found, with the index that knows it."""

    version: IndexVersion
    index: CollectionIndex
    scores: dict[str, float] = field(default_factory=dict)


class Search:
    """One query over collections of one embedder; `run` gives the hits and emits what was done."""

    def __init__(self, chunks: ChunkTable, indexes: Indexes, embedder: Embedder, versions: Sequence[IndexVersion],
                 document_ids: Sequence[str] | None) -> None:  # fmt: skip
        self._chunks, self._embedder = chunks, embedder
        self._indexes = [(version, indexes.of(version)) for version in versions]
        self._allowed = (
            {version.id: chunks.chunks_of(version, document_ids) for version in versions} if document_ids is not None else None
        )
        self._found: dict[int, Candidate] = {}
        self._timings: dict[str, float] = {}

    def run(self, query: str, top_k: int, mode: Mode, collection: str) -> list[Hit]:
        """The best `top_k` chunks; raises ConfigError for a mode, a `top_k` or an embedder that cannot be."""
        self._check(top_k, mode)
        started = time.perf_counter()
        depth = max(DEPTH, 2 * top_k)
        if mode != "lexical" and query.strip():
            self._dense(query, depth)
        if mode != "dense":
            with self._timed("lexical"):
                self._lexical(query, depth)
        if mode == "hybrid":
            with self._timed("fusion"):
                self._fuse()
        with self._timed("passages"):
            hits = self._hits(top_k, {"hybrid": "fused"}.get(mode, mode))
        seconds = time.perf_counter() - started
        bus.emit(Retrieved(query, collection, mode, [asdict(hit) for hit in hits], seconds, dict(self._timings)))
        return hits

    def _check(self, top_k: int, mode: str) -> None:
        if mode not in MODES:
            raise ConfigError(f"The mode is {mode!r}; choose one of {', '.join(MODES)}.")
        if top_k < 1:
            raise ConfigError(f"top_k is {top_k}; ask for at least 1 hit.")
        for version, _ in self._indexes:
            if mode != "lexical" and version.embedder != self._embedder.name:
                raise ConfigError(
                    f"The collection was made with the embedder {version.embedder!r}, but {self._embedder.name!r} is in use; "
                    "switch back, search it in lexical mode, or take its documents in anew."
                )

    def _dense(self, query: str, depth: int) -> None:
        with self._timed("embed"):
            vector = self._embedder.embed([query])[0]
        emit_embedding(self._embedder, len(self._embedder.offsets(query)) + 2, self._timings["embed"])
        with self._timed("dense"):
            ranking: list[tuple[float, int, Candidate]] = []
            for version, index in self._indexes:
                ids, scores = self._nearest(version, index, vector, depth)
                ranking += [(score, number, Candidate(version, index)) for number, score in zip(ids, scores, strict=True)]
            self._note("dense", ranking, depth)
        self._query = vector

    def _nearest(
        self, version: IndexVersion, index: CollectionIndex, vector: np.ndarray, depth: int
    ) -> tuple[list[int], list[float]]:
        if self._allowed is None:
            return index.nearest(vector, depth)
        ids, scores = nearest(*self._chunks.vectors(version, self._allowed[version.id]), vector, depth)
        return ids.tolist(), scores.tolist()

    def _lexical(self, query: str, depth: int) -> None:
        ranking: list[tuple[float, int, Candidate]] = []
        for version, index in self._indexes:
            ids, scores = index.matching(query, depth, self._allowed[version.id] if self._allowed is not None else None)
            ranking += [(score, number, Candidate(version, index)) for number, score in zip(ids, scores, strict=True)]
        self._note("lexical", ranking, depth)

    def _note(self, stage: str, ranking: list[tuple[float, int, Candidate]], depth: int) -> None:
        ranking.sort(key=lambda entry: (-entry[0], entry[1]))
        for rank, (score, number, candidate) in enumerate(ranking[:depth], start=1):
            scores = self._found.setdefault(number, candidate).scores
            scores[stage], scores[f"{stage}_rank"] = float(score), float(rank)

    def _fuse(self) -> None:
        """Give every candidate its cosine and its fused score; one that has just been deleted drops out."""
        import numpy as np

        ids: list[int] = []
        parts: list[np.ndarray] = []
        for _, index in self._indexes:
            found, vectors = index.vectors([number for number, candidate in self._found.items() if candidate.index is index])
            ids += found
            parts.append(vectors)
        self._found = {number: self._found[number] for number in ids}
        if not ids:
            return
        vectors = np.concatenate(parts)
        dense = vectors @ self._query
        lexical = np.array([self._found[number].scores.get("lexical", 0.0) for number in ids], dtype=np.float32)
        for number, cosine, score in zip(ids, dense.tolist(), fuse(dense, lexical, vectors).tolist(), strict=True):
            self._found[number].scores.update(dense=cosine, fused=score)

    def _hits(self, top_k: int, stage: str) -> list[Hit]:
        order = sorted(self._found, key=lambda number: (-self._found[number].scores[stage], number))
        hits: list[Hit] = []
        for start in range(0, len(order), top_k):
            passages = self._passages(order[start : start + top_k])
            for number in order[start : start + top_k]:
                row = passages.get(number)
                if row is not None and len(hits) < top_k:
                    scores = self._found[number].scores
                    hits.append(_hit(len(hits) + 1, scores[stage], row, scores))
            if len(hits) == top_k:
                break
        return hits

    def _passages(self, ids: Sequence[int]) -> dict[int, dict[str, object]]:
        found: dict[int, dict[str, object]] = {}
        for version, _ in self._indexes:
            found |= self._chunks.passages(version, [number for number in ids if self._found[number].version is version])
        return found

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self._timings[stage] = time.perf_counter() - started


def _hit(rank: int, score: float, row: dict[str, object], scores: dict[str, float]) -> Hit:
    values = {name: row[name] for name in ("document_id", "document", "page", "heading", "place", "start", "end", "text")}
    return Hit(rank=rank, score=score, chunk_id=row["id"], scores=scores, **values)  # type: ignore[arg-type]  # columns of our own query
