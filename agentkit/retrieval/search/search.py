"""From a query to passages: candidates, reranking, near-duplicates, variety, neighbours, in one or
several collections.

The stages in their order: candidates by meaning, by words, fused (`candidates.py`, `fusion.py`);
the best of them read by a reranker; those below the threshold left out; near-duplicates collapsed,
variety, neighbours merged (`passages.py`).
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import starmap
from typing import TYPE_CHECKING

from agentkit.core import bus, stopping
from agentkit.database import Database
from agentkit.errors import ModelError, ModelUnreachable, RateLimited
from agentkit.events import Fallback, Retrieved
from agentkit.retrieval.embedding.embed import Embedder
from agentkit.retrieval.embedding.rerank import Rerankers
from agentkit.retrieval.embedding.servers import hurry_servers
from agentkit.retrieval.embedding.version_embedders import VersionEmbedders
from agentkit.retrieval.index.indexes import Indexes
from agentkit.retrieval.options import SearchOptions
from agentkit.retrieval.search.candidates import (
    Candidate,
    Candidates,
    Part,
    Timings,
    group,
    vectors_of,
)
from agentkit.retrieval.search.fusion import compare_all
from agentkit.retrieval.search.merging import Passage, collapse, diversify, merge, trim
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
        self._rows: dict[int, IndexRow] = {}
        self._timings = Timings()
        self._left_out = Counter(weak=0, duplicate=0)

    def run(self, query: str, options: SearchOptions, label: str) -> list[Hit]:
        """The passages that fit best; `label` names the collections in the event.

        Raises ConfigError when an embedder or the reranker is not there, and ModelError when one of
        them fails.
        """
        hits, told = self.look(query, options, label)
        bus.emit(told)
        return hits

    def look(self, query: str, options: SearchOptions, label: str) -> tuple[list[Hit], Retrieved]:
        """The same, with the event that tells of it, which is not emitted."""
        began, started = time.time(), time.perf_counter()
        sources, options, fallback = self._find_sources(query, options)
        passages, weak = self._find_passages(sources, query, options)
        hits = [passage.to_hit(rank) for rank, passage in enumerate(passages, start=1)]

        self._left_out["weak"] = min(weak, options.top_k - len(hits))
        left_out = dict(+self._left_out)  # without those of which there are none
        seconds = time.perf_counter() - started
        shown = [hit.to_json() for hit in hits]
        timings, how = dict(self._timings), options.to_dict()
        told = Retrieved(
            query, label, options.mode, shown, seconds, timings, left_out, how, fallback, began
        )
        return hits, told

    def _find_sources(
        self, query: str, options: SearchOptions
    ) -> tuple[list[Candidates], SearchOptions, Fallback | None]:
        """Where candidates come from, the options that hold after all, and what was fallen back
        from.
        """
        try:
            with hurry_servers() if self._falls_back else nullcontext():
                return self._open_sources(query, options), options, None
        except _OutOfReach as error:
            if not self._falls_back:
                raise error.why from None
            failed = error

        # The threshold was chosen for other scores; only a reranker's stay what they were.
        min_score = options.min_score if options.reranker else 0.0
        lexical = replace(options, mode="lexical", min_score=min_score)
        why = failed.why
        fallback = Fallback(options.mode, failed.embedder, str(why), type(why).__name__)
        return self._open_sources(query, lexical), lexical, fallback

    def _open_sources(self, query: str, options: SearchOptions) -> list[Candidates]:
        """The indexes of each embedder together, since only vectors of one can be compared."""
        with self._timings.of("scope"):
            parts = self._find_parts()

        sources: list[Candidates] = []
        for name, same in group(parts, lambda part: part.version.embedder).items():
            try:
                embedder = None
                if options.mode != "lexical":
                    embedder = self._find_embedder(same)
                sources.append(Candidates(same, self._timings, query, embedder))
            # These may pass; what is set up wrongly does not.
            except (ModelUnreachable, RateLimited) as error:
                raise _OutOfReach(name, error) from error
        return sources

    def _find_parts(self) -> list[Part]:
        """What is searched of each version; nothing of those without a chunk in the scope, for
        which no model need be loaded either.
        """
        allowed = [self._indexes.find_allowed(version, self._scope) for version in self._searched]
        parts = [
            Part(version, self._indexes.of(version, wait=False), ids)
            for version, ids in zip(self._searched, allowed, strict=True)
            if ids is None or len(ids)
        ]
        return [part for part in parts if not part.index.is_empty]

    def _find_embedder(self, parts: Sequence[Part]) -> Embedder:
        """The one embedder of these parts, after it was compared with each of their versions."""
        embedder, *_ = [self._embedders.of(part.version) for part in parts]
        return embedder

    def _find_passages(
        self, sources: Sequence[Candidates], query: str, options: SearchOptions
    ) -> tuple[list[Passage], int]:
        """The passages, best first, and how many candidates were too weak; looks deeper as long as
        there are too few passages and there might be more.
        """
        passages: list[Passage] = []
        weak = 0
        for depth in _depths(options):
            ranked, more = _rank_candidates(sources, options.mode, depth)
            ranked = self._rerank(query, ranked, options)
            strong = _leave_out_weak(ranked, options.min_score)
            weak = len(ranked) - len(strong)

            passages = self._make_passages(strong, options)
            if len(passages) >= options.top_k or weak or not more:
                break
        return passages, weak

    def _rerank(
        self, query: str, ranked: list[Candidate], options: SearchOptions
    ) -> list[Candidate]:
        """The best candidates as the reranker sees them, if there is one; the others drop out,
        since their scores mean something else.
        """
        if not options.reranker or not ranked:
            return ranked
        reranker = self._rerankers.of(options.reranker)
        read = self._read_rows(ranked[: max(options.rerank_depth, options.top_k)])
        with self._timings.of("rerank"):
            scores = reranker.scores(query, [_add_heading(row) for _, row in read])
        stopping.check()

        for (one, _), score in zip(read, scores, strict=True):
            one.score = one.scores["rerank"] = float(score)
        return sorted((one for one, _ in read), key=_best_first)

    def _make_passages(self, ranked: list[Candidate], options: SearchOptions) -> list[Passage]:
        """At most `top_k`; the more candidates collapse or merge, the more of them are looked
        at.
        """
        # What is shown of a chunk is looked up only for those that are given, and for variety some
        # to choose from.
        reach = options.top_k
        if options.diversity > 0:
            reach *= _CHOICE
        while True:
            rows = self._read_rows(ranked[:reach])
            passages = self._choose(list(starmap(Passage.of, rows)), options)
            has_enough = len(passages) >= options.top_k or reach >= len(ranked)
            if has_enough:
                self._left_out["duplicate"] = sum(passage.twins for passage in passages)
                return passages
            reach *= 2

    def _choose(self, found: list[Passage], options: SearchOptions) -> list[Passage]:
        """At most `top_k` of the passages, after whatever the options ask for."""
        varied = self._vary(found, options)
        if not options.merge:
            return varied[: options.top_k]
        with self._timings.of("merge"):
            return self._merge(varied, options.top_k)

    def _vary(self, found: list[Passage], options: SearchOptions) -> list[Passage]:
        """The passages without near-duplicates and in an order of variety, where the options ask
        for these.
        """
        collapses, diversifies = options.collapse < 1, options.diversity > 0
        is_wanted = collapses or diversifies
        if not found or not is_wanted:
            return found
        found, alike = self._compare(found)
        if collapses:
            with self._timings.of("collapse"):
                stay = collapse(found, alike, options.collapse)
                found = [found[number] for number in stay]
                alike = alike[stay][:, stay]
        if diversifies:
            with self._timings.of("diversity"):
                found = _diversify(found, alike, options.diversity)
        return found

    def _compare(self, found: list[Passage]) -> tuple[list[Passage], np.ndarray]:
        """Those that are still there and their cosines (n, n); 0 between vectors of different
        embedders.
        """
        import numpy as np

        with self._timings.of("compare"):
            chunks = [one.best for one in found]
            numbers = {one.id: number for number, one in enumerate(chunks)}
            alike = np.zeros((len(found), len(found)), dtype=np.float32)
            there: list[int] = []
            for same in group(chunks, lambda one: one.part.version.embedder).values():
                ids, vectors = vectors_of(same)
                places = [numbers[number] for number in ids]
                alike[np.ix_(places, places)] = compare_all(vectors)
                there += places

            there.sort()
            return [found[number] for number in there], alike[there][:, there]

    def _merge(self, found: list[Passage], top_k: int) -> list[Passage]:
        """With the texts of passages that were merged; one whose document has just been deleted
        drops out.
        """
        passages = merge(found, top_k)
        joined = [passage for passage in passages if len(passage.ids) > 1]
        for passage, text in zip(joined, _read_texts(self._chunks.database, joined), strict=True):
            passage.text = text
        kept = list(filter(self._has_its_text, passages))
        trim(kept)
        return kept

    def _has_its_text(self, passage: Passage) -> bool:
        """Whether the passage has the text of its best chunk, which a deleted document takes
        away.
        """
        return self._rows[passage.best.id]["text"] in passage.text

    def _read_rows(self, candidates: Sequence[Candidate]) -> list[tuple[Candidate, IndexRow]]:
        """The candidates that are still there, with what hits show of them."""
        with self._timings.of("passages"):
            unknown = [one for one in candidates if one.id not in self._rows]
            for part, found in group(unknown, lambda one: one.part).items():
                ids = [one.id for one in found]
                self._rows |= part.index.passages(ids)
        read = []
        for one in candidates:
            row = self._rows.get(one.id)
            if row is not None:
                read.append((one, row))
        return read


def _rank_candidates(
    sources: Sequence[Candidates], mode: Mode, depth: int
) -> tuple[list[Candidate], bool]:
    """Those of all sources by score, and whether there might be more."""
    found = [source.find(mode, depth) for source in sources]
    more = any(len(some) >= depth for some in found)
    if len(found) == 1:
        return found[0], more
    return sorted(itertools.chain(*found), key=_best_first), more


def _leave_out_weak(ranked: list[Candidate], min_score: float) -> list[Candidate]:
    """The candidates whose score is at least this; 0 keeps all, with negative scores too."""
    if not min_score:
        return ranked
    return [one for one in ranked if one.score >= min_score]


def _depths(options: SearchOptions) -> Sequence[int]:
    """How many candidates are looked for: by meaning alone a few more than passages; more when most
    were near-duplicates.
    """
    depth = max(options.depth, 2 * options.top_k)
    if options.reranker:
        return (depth,)  # it reads the best of them only, however many there are
    deeper = [more * depth for more in _DEEPER]
    depths = [depth, *(more for more in deeper if more <= _DEEPEST)]
    is_plain = options.mode == "dense" and not options.diversity
    if is_plain:
        depths.insert(0, min(depth, options.top_k + _SPARE))
    return depths


def _diversify(found: list[Passage], alike: np.ndarray, diversity: float) -> list[Passage]:
    order, values = diversify([one.best.score for one in found], alike, diversity)
    for number, value in zip(order, values, strict=True):
        found[number].best.scores["mmr"] = value
    return [found[number] for number in order]


def _read_texts(database: Database, passages: Sequence[Passage]) -> list[str]:
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


def _add_heading(row: IndexRow) -> str:
    """The chunk as a reranker reads it: a heading often says what it is about."""
    text = row["text"]
    heading = str(row["heading"]).rpartition(" > ")[2]
    if not heading or heading in text[: 2 * len(heading)]:
        return text
    return f"{heading}\n{text}"


def _best_first(one: Candidate) -> tuple[float, int]:
    return -one.score, one.id
