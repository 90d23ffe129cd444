"""Several collections searched at once, each by its own index and settings, and what they give made
one list by rank.

Scores of different embedding models, modes and rerankers do not compare; ranks do. Each passage
counts by reciprocal rank fusion (Cormack, Clarke and Büttcher 2009, "Reciprocal rank fusion
outperforms Condorcet and individual rank learning methods").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agentkit.core import bus
from agentkit.errors import NotFound
from agentkit.events import Retrieved
from agentkit.retrieval.library import Library
from agentkit.retrieval.names import utf8
from agentkit.retrieval.options import SearchOptions
from agentkit.retrieval.search.search import Search
from agentkit.retrieval.types import Hit, Scope

RANK_CONSTANT = 60
"""Of the paper: how little the first ranks stand out."""


@dataclass(frozen=True, slots=True)
class Place:
    """A collection to be searched, with what is searched along with it under its settings."""

    collection: str
    label: str
    search: Search
    options: SearchOptions


def retrieve_each(
    library: Library,
    owner: str,
    groups: Sequence[Sequence[str]],
    query: str,
    scope: Scope | None = None,
) -> list[Hit]:
    """The passages that fit best in several groups of collections, each searched with the options
    of its first one, best first: as many as the group gives that gives most.

    One group is searched as `Library.retrieve` does it. Of more, each hit says the first collection
    of its group. Emits one Retrieved; raises as `Library.retrieve` does.
    """
    if len(groups) == 1:
        return library.retrieve(owner, groups[0], query, scope=scope)
    places = [_open_place(library, owner, names, scope or Scope()) for names in groups]
    lists: list[list[Hit]] = []
    looks = []
    for place in places:
        hits, told = place.search.look(utf8(query), place.options, place.label)
        lists.append([replace(hit, collection=place.collection) for hit in hits])
        looks.append(told)
    fused = fuse_by_rank(lists, max(place.options.top_k for place in places))
    bus.emit(_join(looks, fused))
    return fused


def _open_place(library: Library, owner: str, names: Sequence[str], scope: Scope) -> Place:
    searched = []
    for name in names:
        found = library.store.find_searched(owner, name)
        if found is None:
            raise NotFound(f"There is no collection {name!r} any more; choose another one.")
        searched.append(found)
    parts = (library.store.chunk_table, library.indexes, library.versions.embedders)
    versions = [version for version, _ in searched]
    search = Search(*parts, library.rerankers, versions, scope)
    return Place(names[0], ", ".join(names), search, searched[0][1])


def fuse_by_rank(lists: Sequence[Sequence[Hit]], top_k: int) -> list[Hit]:
    """The first `top_k` hits of several lists, ranked anew; of equal ranks, the earlier list goes
    first.

    `scores` has the fused score under `by_rank`; `score` stays what it was in its own list.
    """
    every = [
        replace(hit, scores={**hit.scores, "by_rank": 1 / (RANK_CONSTANT + rank)})
        for hits in lists
        for rank, hit in enumerate(hits, start=1)
    ]
    best = sorted(every, key=lambda hit: -hit.scores["by_rank"])[:top_k]
    return [replace(hit, rank=rank) for rank, hit in enumerate(best, start=1)]


def _join(told: Sequence[Retrieved], hits: Sequence[Hit]) -> Retrieved:
    """What several searches told, as one that gave these hits."""
    first = told[0]
    timings, left_out = Counter[str](), Counter[str]()
    for one in told:
        timings.update(one.timings)
        left_out.update(one.left_out)
    return replace(
        first,
        collection=", ".join(one.collection for one in told),
        hits=[hit.to_json() for hit in hits],
        seconds=sum(one.seconds for one in told),
        timings=dict(timings),
        left_out=dict(left_out),
        fallback=next((one.fallback for one in told if one.fallback), None),
    )
