"""A summary by extraction: the units that share most with all others, in the order of the
documents.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations, islice

from agentkit.llm.offline.units import Unit

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

    likeness = _measure_likeness(candidates)
    scores = _walk(likeness, [1.0 + 3.0 * _count_stems(unit, topic) for unit in candidates])
    weighted = list(map(operator.mul, scores, map(_weigh_place, candidates)))
    best_first = sorted(range(len(candidates)), key=weighted.__getitem__, reverse=True)
    chosen = sorted(islice(_skip_repetitions(best_first, likeness), count))
    return list(map(candidates.__getitem__, chosen))


def _find_candidates(units: Sequence[Unit]) -> list[Unit]:
    """The units that stand for themselves; without any, all units but headings."""
    speaking = list(filter(_speaks, units)) or [one for one in units if one.shape != "heading"]
    return speaking[:MOST_UNITS]


def _speaks(unit: Unit) -> bool:
    """Whether it is a whole statement that can be understood alone."""
    is_statement = unit.shape in ("sentence", "item") and unit.text.endswith(_STATEMENT_ENDS)
    fits = len(unit.stems) >= _LEAST_STEMS and len(unit.text) <= _MOST_CHARACTERS
    return is_statement and fits and not unit.leans


def _count_stems(unit: Unit, topic: Sequence[str]) -> int:
    """How many words of the topic the unit or its heading has."""
    return len((unit.stems | unit.around).intersection(topic))


def _weigh_place(unit: Unit) -> float:
    return _OPENING if unit.previous is None else 1.0


def _skip_repetitions(places: Iterable[int], likeness: list[list[float]]) -> Iterator[int]:
    """The places of units that are not too similar to one of the earlier places."""
    kept: list[int] = []
    for place in places:
        nearest = max(map(likeness[place].__getitem__, kept), default=0.0)
        if nearest < _ALIKE:
            kept.append(place)
            yield place


def _measure_likeness(units: Sequence[Unit]) -> list[list[float]]:
    """Cosine of the units' words, rare words counting more."""
    counts = Counter(chain.from_iterable(unit.stems for unit in units))
    weights = {one: math.log(1 + len(units) / count) ** 2 for one, count in counts.items()}
    norms = [math.sqrt(sum(map(weights.__getitem__, unit.stems))) or 1.0 for unit in units]
    table = [[0.0] * len(units) for _ in units]
    for column, row in combinations(range(len(units)), 2):
        shared = sum(map(weights.__getitem__, units[row].stems & units[column].stems))
        table[row][column] = table[column][row] = shared / (norms[row] * norms[column])
    return table


def _walk(likeness: list[list[float]], start: list[float]) -> list[float]:
    """PageRank over the likeness, with `start` as where the walker begins anew."""
    total = sum(start)
    begin = [value / total for value in start]
    sums = [sum(row) or 1.0 for row in likeness]
    scores = begin
    for _ in range(_ROUNDS):
        flow = list(map(operator.truediv, scores, sums))
        came = (sum(map(operator.mul, row, flow)) for row in likeness)
        scores = [
            (1 - _DAMPING) * first + _DAMPING * arrived
            for first, arrived in zip(begin, came, strict=True)
        ]
    return scores
