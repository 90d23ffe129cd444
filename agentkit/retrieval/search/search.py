"""From a query to passages: candidates, reranking, near-duplicates, variety, neighbours, in one or
several collections.

The stages in their order: candidates by meaning, by words, fused (`candidates.py`, `fusion.py`);
the best of them read by a reranker; those below the threshold left out; near-duplicates collapsed,
variety, neighbours merged (`passages.py`).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from agentkit.core import bus, stopping
from agentkit.database import Database
from agentkit.errors import ModelError, ModelUnreachable, RateLimited
from agentkit.events import Fallback, Retrieved
from agentkit.retrieval.embedding.rerank import Rerankers
from agentkit.retrieval.embedding.servers import hurried
from agentkit.retrieval.embedding.version_embedders import VersionEmbedders
from agentkit.retrieval.index.indexes import Indexes
from agentkit.retrieval.options import SearchOptions
from agentkit.retrieval.search.candidates import Candidate, Candidates, Part, Timings, vectors_of
from agentkit.retrieval.search.passages import Passage, collapse, diversify, merge, trim
from agentkit.retrieval.store.chunk_table import ChunkTable, IndexRow
from agentkit.retrieval.types import Hit, IndexVersion, Mode, Scope

if TYPE_CHECKING:
    import numpy as np

_SPARE = 8
"""So many candidates more than passages are looked for at first in dense mode, since some merge or
collapse.
"""
_DEEPER, _DEEPEST = (4, 16), 5_000
"""So many times more candidates are looked for when there are too few passages in the first ones,
and the most of them.
"""
_CHOICE = 5
"""Candidates for each passage that variety chooses from."""


class _OutOfReach(Exception):
    """An embedder cannot be asked just now."""

    def __init__(self, embedder: str, why: ModelError) -> None:
        super().__init__(embedder, why)
        self.embedder, self.why = embedder, why


class Search:
    """One query over versions of indexes; `run` gives the hits and emits what was done.

    When an embedder is out of reach, `falls_back` says whether words alone are searched for then.
    """

    def __init__(
        self,
        chunks: ChunkTable,
        indexes: Indexes,
        embedders: VersionEmbedders,
        rerankers: Rerankers,
        index_versions: Sequence[IndexVersion],
        scope: Scope,
        falls_back: bool = True,
    ) -> None:
        self._falls_back = falls_back
        self._chunks, self._indexes, self._embedders, self._rerankers = (
            chunks,
            indexes,
            embedders,
            rerankers,
        )
        self._searched, self._scope = index_versions, scope
        self._rows: dict[int, IndexRow | None] = {}
        self._timings = Timings()
        self._left_out = {"weak": 0, "duplicate": 0}

    def run(self, query: str, options: SearchOptions, label: str) -> list[Hit]:
        """The passages that fit best; `label` names the collections in the event.

        Raises ConfigError when an embedder or the reranker is not there, and ModelError when one of
        them fails.
        """
        started = time.perf_counter()
        sources, options, fallback = self._reached(query, options)
        for depth in _depths(options):
            ranked, more = self._candidates(sources, options.mode, depth)
            if options.reranker and ranked:
                ranked = self._reranked(query, ranked, options)
            strong = [
                one for one in ranked if not options.min_score or one.score >= options.min_score
            ]
            passages = self._passages(strong, options)
            if len(passages) >= options.top_k or len(strong) < len(ranked) or not more:
                break
        hits = [passage.to_hit(rank) for rank, passage in enumerate(passages, start=1)]
        self._left_out["weak"] = min(len(ranked) - len(strong), options.top_k - len(hits))
        left_out = {reason: count for reason, count in self._left_out.items() if count}
        seconds = time.perf_counter() - started
        shown = [hit.to_json() for hit in hits]
        timings, how = dict(self._timings), options.to_dict()
        bus.emit(
            Retrieved(query, label, options.mode, shown, seconds, timings, left_out, how, fallback)
        )
        return hits

    def _reached(
        self, query: str, options: SearchOptions
    ) -> tuple[list[Candidates], SearchOptions, Fallback | None]:
        """Where candidates come from, and how they are looked for after all."""
        if not self._falls_back:
            try:
                return self._sources(query, options), options, None
            except _OutOfReach as error:
                raise error.why from None
        try:
            with hurried():
                return self._sources(query, options), options, None
        except _OutOfReach as error:
            # The threshold was chosen for other scores; only a reranker's stay what they were.
            weak = options.min_score if options.reranker else 0.0
            lexical = replace(options, mode="lexical", min_score=weak)
            fallback = Fallback(
                options.mode, error.embedder, str(error.why), type(error.why).__name__
            )
            return self._sources(query, lexical), lexical, fallback

    def _sources(self, query: str, options: SearchOptions) -> list[Candidates]:
        """Where candidates come from: the indexes of each embedder together, since only vectors of
        one can be compared.
        """
        with self._timings.of("scope"):
            allowed = [self._indexes.allowed(version, self._scope) for version in self._searched]
            parts = [
                Part(version, self._indexes.of(version), ids)
                for version, ids in zip(self._searched, allowed, strict=True)
                if ids is None or len(ids)
            ]
        found: list[Candidates] = []
        for name in dict.fromkeys(part.version.embedder for part in parts):
            same = [part for part in parts if part.version.embedder == name]
            try:
                embedders = [
                    self._embedders.of(part.version) for part in same if options.mode != "lexical"
                ]
                found.append(
                    Candidates(same, self._timings, query, embedders[0] if embedders else None)
                )
            except (
                ModelUnreachable,
                RateLimited,
            ) as error:  # what may pass, not what is set up wrongly
                raise _OutOfReach(name, error) from error
        return found

    def _candidates(
        self, sources: Sequence[Candidates], mode: Mode, depth: int
    ) -> tuple[list[Candidate], bool]:
        """Those of all sources by score, and whether there might be more."""
        found = [source.find(mode, depth) for source in sources]
        ranked = found[0] if len(found) == 1 else sorted(itertools.chain(*found), key=_best_first)
        return ranked, any(len(some) >= depth for some in found)

    def _reranked(
        self, query: str, ranked: list[Candidate], options: SearchOptions
    ) -> list[Candidate]:
        """The best candidates as the reranker sees them; the others drop out, since their scores
        mean something else.
        """
        reranker = self._rerankers.of(options.reranker)
        read = self._present(ranked[: max(options.rerank_depth, options.top_k)])
        with self._timings.of("rerank"):
            scores = reranker.scores(query, [_with_heading(row) for _, row in read])
        stopping.check()
        for (one, _), score in zip(read, scores, strict=True):
            one.score = one.scores["rerank"] = float(score)
        return sorted((one for one, _ in read), key=_best_first)

    def _passages(self, ranked: list[Candidate], options: SearchOptions) -> list[Passage]:
        """At most `top_k`; the more candidates collapse or merge, the more of them are looked
        at.
        """
        # What is shown of a chunk is looked up only for those that are given, and for variety some
        # to choose from.
        reach = options.top_k * (_CHOICE if options.diversity > 0 else 1)
        while True:
            passages = self._made(
                [Passage.of(one, row) for one, row in self._present(ranked[:reach])], options
            )
            if len(passages) >= options.top_k or reach >= len(ranked):
                self._left_out["duplicate"] = sum(passage.twins for passage in passages)
                return passages
            reach *= 2

    def _made(self, found: list[Passage], options: SearchOptions) -> list[Passage]:
        if found and (options.collapse < 1 or options.diversity > 0):
            found, alike = self._compared(found)
            if options.collapse < 1:
                with self._timings.of("collapse"):
                    stay = collapse(found, alike, options.collapse)
                    found, alike = [found[number] for number in stay], alike[stay][:, stay]
            if options.diversity > 0:
                with self._timings.of("diversity"):
                    found = _diverse(found, alike, options.diversity)
        if not options.merge:
            return found[: options.top_k]
        with self._timings.of("merge"):
            return self._merged(found, options.top_k)

    def _compared(self, found: list[Passage]) -> tuple[list[Passage], np.ndarray]:
        """Those that are still there and their cosines (n, n); 0 between vectors of different
        embedders.
        """
        import numpy as np

        with self._timings.of("compare"):
            kinds = {one.best.part.version.embedder for one in found}
            ids, vectors = (
                vectors_of([one.best for one in found])
                if len(kinds) == 1
                else ([], np.empty((0, 0)))
            )
            if ids == [one.best.id for one in found]:
                return found, vectors @ vectors.T
            numbers = {one.best.id: number for number, one in enumerate(found)}
            alike = np.zeros((len(found), len(found)), dtype=np.float32)
            there: list[int] = []
            for name in dict.fromkeys(one.best.part.version.embedder for one in found):
                ids, vectors = vectors_of(
                    [one.best for one in found if one.best.part.version.embedder == name]
                )
                same = [numbers[number] for number in ids]
                alike[np.ix_(same, same)] = vectors @ vectors.T
                there += same
            there.sort()
            return [found[number] for number in there], alike[there][:, there]

    def _merged(self, found: list[Passage], top_k: int) -> list[Passage]:
        """With the texts of passages that were merged; one whose document has just been deleted
        drops out.
        """
        passages = merge(found, top_k)
        joined = [passage for passage in passages if len(passage.ids) > 1]
        for passage, text in zip(joined, _stretches(self._chunks.database, joined), strict=True):
            passage.text = text
        kept = [
            passage
            for passage in passages
            if (row := self._rows[passage.best.id]) and row["text"] in passage.text
        ]
        trim(kept)
        return kept

    def _present(self, candidates: Sequence[Candidate]) -> list[tuple[Candidate, IndexRow]]:
        """What hits show of the candidates that are still there."""
        with self._timings.of("passages"):
            for part in {id(one.part): one.part for one in candidates}.values():
                unknown = [
                    one.id for one in candidates if one.part is part and one.id not in self._rows
                ]
                known = part.index.passages(unknown)
                self._rows |= {number: known.get(number) for number in unknown}
            return [(one, row) for one in candidates if (row := self._rows[one.id]) is not None]


def _depths(options: SearchOptions) -> Sequence[int]:
    """How many candidates are looked for: by meaning alone a few more than passages; more when most
    were near-duplicates.
    """
    depth = max(options.depth, 2 * options.top_k)
    if options.reranker:
        return (depth,)  # it reads the best of them only, however many there are
    few = (
        [min(depth, options.top_k + _SPARE)]
        if options.mode == "dense" and not options.diversity
        else []
    )
    return (*few, depth, *(more * depth for more in _DEEPER if more * depth <= _DEEPEST))


def _diverse(found: list[Passage], alike: np.ndarray, diversity: float) -> list[Passage]:
    order, values = diversify([one.best.score for one in found], alike, diversity)
    for number, value in zip(order, values, strict=True):
        found[number].best.scores["mmr"] = value
    return [found[number] for number in order]


def _stretches(database: Database, passages: Sequence[Passage]) -> list[str]:
    """The documents' texts from start to end of each passage; empty where the document is gone."""
    if not passages:
        return []
    spans = ", ".join(
        f"({number}, ?, {one.start}, {one.end})" for number, one in enumerate(passages)
    )
    rows = database.rows(
        f"""with spans(number, document_id, low, high) as (values {spans})
            select s.number, substring(t.text, s.low + 1, s.high - s.low) as text
            from spans s join texts t on t.document_id = s.document_id""",
        [one.document_id for one in passages],
    )
    found = {row["number"]: row["text"] for row in rows}
    return [found.get(number, "") for number in range(len(passages))]


def _with_heading(row: IndexRow) -> str:
    """The chunk as a reranker reads it: a heading often says what it is about."""
    heading = str(row["heading"]).rpartition(" > ")[2]
    return (
        row["text"]
        if not heading or heading in row["text"][: 2 * len(heading)]
        else f"{heading}\n{row['text']}"
    )


def _best_first(one: Candidate) -> tuple[float, int]:
    return -one.score, one.id
