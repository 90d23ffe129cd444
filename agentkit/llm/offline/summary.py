"""A summary by extraction: the units that share most with all others, in the order of the
documents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, repeat
from operator import attrgetter
from typing import TYPE_CHECKING

from agentkit.llm.offline.units import Unit

if TYPE_CHECKING:
    import numpy as np

MOST_UNITS = 160
_ROUNDS = 25
_DAMPING = 0.85
_ALIKE = 0.5
"""Likeness from which on two units say the same."""
_OPENING = 1.15
"""Factor for units that begin a paragraph."""
_LEAST_STEMS, _MOST_CHARACTERS = 4, 500
_STATEMENT_ENDS = (".", "!", ";", ")")


def find_central(units: Sequence[Unit], count: int, topic: Sequence[str] = ()) -> list[Unit]:
    """At most `count` units that together say most, in their own order; those about `topic` are
    favoured.
    """
    candidates = _find_candidates(units)
    if not candidates:
        return []

    import numpy as np

    likeness = _measure_likeness(candidates)
    shared = list(map(_count_stems, candidates, repeat(topic)))
    scores = _walk(likeness, 1 + 3 * np.array(shared, float))
    weighted = scores * list(map(_weigh_place, candidates))
    best_first = np.argsort(-weighted.round(12), kind="stable").tolist()
    chosen = sorted(islice(_skip_repetitions(best_first, likeness), count))
    return [candidates[each] for each in chosen]


def _find_candidates(units: Sequence[Unit]) -> list[Unit]:
    """The units that stand for themselves; without any, all units but headings."""
    speaking = list(filter(_speaks, units))
    if not speaking:
        speaking = [one for one in units if one.shape != "heading"]
    return speaking[:MOST_UNITS]


def _speaks(unit: Unit) -> bool:
    """Whether it is a whole statement that can be understood alone."""
    if unit.shape not in ("sentence", "item") or unit.leans:
        return False
    if len(unit.stems) < _LEAST_STEMS or len(unit.text) > _MOST_CHARACTERS:
        return False
    return unit.text.endswith(_STATEMENT_ENDS)


def _count_stems(unit: Unit, topic: Sequence[str]) -> int:
    """How many words of the topic the unit or its heading has."""
    return len((unit.stems | unit.around).intersection(topic))


def _weigh_place(unit: Unit) -> float:
    if unit.previous is None:
        return _OPENING
    return 1.0


def _skip_repetitions(places: Iterable[int], likeness: np.ndarray) -> Iterator[int]:
    """The places of units that are not too similar to one of the earlier places."""
    kept: list[int] = []
    for place in places:
        if likeness[place, kept].max(initial=0.0) < _ALIKE:
            kept.append(place)
            yield place


def _measure_likeness(units: Sequence[Unit]) -> np.ndarray:
    """Cosine of the units' words, rare words counting more; a unit is not like itself."""
    import numpy as np

    counts = Counter(chain.from_iterable(map(attrgetter("stems"), units)))
    has = np.array([[each in unit.stems for each in counts] for unit in units], float)
    weighted = has * np.log1p(len(units) / has.sum(axis=0))
    lengths = np.linalg.norm(weighted, axis=1, keepdims=True)
    rows = weighted / np.where(lengths > 0, lengths, 1)
    likeness: np.ndarray = rows @ rows.T
    np.fill_diagonal(likeness, 0)
    return likeness


def _walk(likeness: np.ndarray, start: np.ndarray) -> np.ndarray:
    """PageRank over the likeness, with `start` as where the walker begins anew."""
    begin = start / start.sum()
    sums = likeness.sum(axis=1)
    sums[sums == 0] = 1
    scores: np.ndarray = begin
    for _ in range(_ROUNDS):
        scores = (1 - _DAMPING) * begin + _DAMPING * (likeness @ (scores / sums))
    return scores
