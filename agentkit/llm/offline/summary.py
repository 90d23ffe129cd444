"""A summary by extraction: the units that share most with all others, in the order of the
documents.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from agentkit.llm.offline.units import Unit

MOST_UNITS = 160
_ROUNDS = 25
_DAMPING = 0.85


def central(units: Sequence[Unit], count: int, topic: Sequence[str] = ()) -> list[Unit]:
    """At most `count` units that together say most, in their own order; those about `topic` are
    favoured.
    """
    candidates = _candidates(units)
    if not candidates:
        return []
    likeness = _likeness(candidates)
    scores = _walk(
        likeness, [1.0 + 3.0 * len(set(topic) & (unit.stems | unit.around)) for unit in candidates]
    )
    weighted = [
        score * (1.15 if unit.previous is None else 1.0)
        for score, unit in zip(scores, candidates, strict=True)
    ]
    chosen: list[int] = []
    for place in sorted(range(len(candidates)), key=lambda place: (-weighted[place], place)):
        if len(chosen) < count and all(likeness[place][other] < 0.5 for other in chosen):
            chosen.append(place)
    return [candidates[place] for place in sorted(chosen)]


def _candidates(units: Sequence[Unit]) -> list[Unit]:
    """The units that may be taken: those that speak for themselves, else all but headings."""
    speaking = [unit for unit in units if unit.shape in ("sentence", "item") and _speaks(unit)]
    chosen = speaking or [unit for unit in units if unit.shape != "heading"]
    return chosen[:MOST_UNITS]


def _speaks(unit: Unit) -> bool:
    """Whether it is a whole statement that stands for itself."""
    return (
        len(unit.stems) >= 4
        and not unit.leans
        and unit.text[-1] in ".!;)"
        and len(unit.text) <= 500
    )


def _likeness(units: Sequence[Unit]) -> list[list[float]]:
    """Cosine of the units' words, rare words counting more."""
    counts = Counter(one for unit in units for one in unit.stems)
    weights = {one: math.log(1 + len(units) / count) ** 2 for one, count in counts.items()}
    norms = [math.sqrt(sum(weights[one] for one in unit.stems)) for unit in units]
    table = [[0.0] * len(units) for _ in units]
    for row, unit in enumerate(units):
        for column in range(row):
            shared = sum(weights[one] for one in unit.stems & units[column].stems)
            table[row][column] = table[column][row] = shared / (norms[row] * norms[column])
    return table


def _walk(likeness: list[list[float]], start: list[float]) -> list[float]:
    """PageRank over the likeness, with `start` as where the walker begins anew."""
    size = len(likeness)
    total = sum(start)
    begin = [value / total for value in start]
    sums = [sum(row) or 1.0 for row in likeness]
    scores = begin
    for _ in range(_ROUNDS):
        flow = [score / weight for score, weight in zip(scores, sums, strict=True)]
        scores = [
            (1 - _DAMPING) * begin[row]
            + _DAMPING * sum(map(lambda a, b: a * b, likeness[row], flow))
            for row in range(size)
        ]
    return scores
