"""Two sequences put beside each other: what stands in both, in the order of both; texts by word.

It only computes, in about n log n of what it is given.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import chain, groupby, pairwise, takewhile
from operator import attrgetter, eq
from typing import Literal

Pair = tuple[int, int]
"""Places of the one thing in both sequences, from 0."""
Row = tuple[int | None, int | None]
"""The same; None where only the other sequence has it."""
How = Literal["same", "removed", "added"]
_WORD = re.compile(r"\s+|\w+|[^\w\s]")
_MOST_CHARACTERS = 20_000
"""Of a changed part of a text; longer ones are told as a whole, and not by word."""
_MOST_LINES = 100_000
"""Of two texts together; those with more differ as a whole."""
_MOST_WORDS = 1_000_000
"""Words of one times words of the other: as many are looked at by word."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of two texts: in both, or in one of them."""

    how: How
    text: str


def align(first: Sequence[Hashable], second: Sequence[Hashable]) -> list[Pair]:
    """Places of equal things, in the order of both; what stands there several times is paired by
    its number.
    """
    places = {key: place for place, key in enumerate(_number(second))}
    keys = enumerate(_number(first))
    return _keep_order([(place, places[key]) for place, key in keys if key in places])


def align_twice(
    first: Sequence[tuple[Hashable, Hashable]], second: Sequence[tuple[Hashable, Hashable]]
) -> list[Row]:
    """Each thing is what it is like and what it is: equal ones are paired, and between these those
    that are alike. Every thing of both is in one row.
    """
    like_first, whole_first = _unzip(first)
    like_second, whole_second = _unzip(second)
    equal = align(whole_first, whole_second)
    pairs = list(equal)
    for (left, right), (to_left, to_right) in pairwise(_with_ends(equal, first, second)):
        found = align(like_first[left + 1 : to_left], like_second[right + 1 : to_right])
        pairs += [(left + 1 + one, right + 1 + other) for one, other in found]
    return list(_fill(sorted(pairs), len(first), len(second)))


def compare_texts(first: str, second: str) -> list[Piece]:
    """Both texts as one: equal lines once, and of the others each word that differs."""
    lines, others = first.splitlines(keepends=True), second.splitlines(keepends=True)
    if first != second and len(lines) + len(others) > _MOST_LINES:
        return _join([Piece("removed", first), Piece("added", second)])
    pieces: list[Piece] = []
    for (left, right), (to_left, to_right) in pairwise(
        _with_ends(align(lines, others), lines, others)
    ):
        gone, come = "".join(lines[left + 1 : to_left]), "".join(others[right + 1 : to_right])
        pieces += _compare_words(gone, come)
        pieces += [Piece("same", line) for line in lines[to_left : to_left + 1]]
    return _join(pieces)


def count_same(first: str, second: str) -> int:
    """How many characters at their beginning are the same."""
    return len(list(takewhile(bool, map(eq, first, second))))


def _number(things: Sequence[Hashable]) -> list[tuple[Hashable, int]]:
    """Each with how often it was there before: so it is there once."""
    seen: Counter[Hashable] = Counter()
    numbered = []
    for thing in things:
        numbered.append((thing, seen[thing]))
        seen[thing] += 1
    return numbered


def _keep_order(pairs: Sequence[Pair]) -> list[Pair]:
    """As many of the pairs as rise in both, which rise in the first."""
    lowest, ends, before = [-1], [-1], list[int]()
    for number, (_, place) in enumerate(pairs):
        length = bisect_left(lowest, place)
        before.append(ends[length - 1])
        lowest[length : length + 1] = [place]
        ends[length : length + 1] = [number]
    kept, number = [], ends[-1]
    while number >= 0:
        kept.append(pairs[number])
        number = before[number]
    return kept[::-1]


def _unzip(
    things: Sequence[tuple[Hashable, Hashable]],
) -> tuple[list[Hashable], list[Hashable]]:
    return [like for like, _ in things], [whole for _, whole in things]


def _with_ends(
    pairs: Sequence[Pair], first: Sequence[object], second: Sequence[object]
) -> list[Pair]:
    return [(-1, -1), *pairs, (len(first), len(second))]


def _fill(pairs: Sequence[Pair], first: int, second: int) -> Iterator[Row]:
    """The pairs with what stands between them in each."""
    left = right = 0
    for one, other in [*pairs, (first, second)]:
        yield from ((place, None) for place in range(left, one))
        yield from ((None, place) for place in range(right, other))
        yield from [(one, other)][: first - one]
        left, right = one + 1, other + 1


def _compare_words(first: str, second: str) -> Iterator[Piece]:
    if max(len(first), len(second)) > _MOST_CHARACTERS:
        return iter((Piece("removed", first), Piece("added", second)))
    words, others = _WORD.findall(first), _WORD.findall(second)
    if len(words) * len(others) > _MOST_WORDS:
        return iter((Piece("removed", first), Piece("added", second)))
    found = SequenceMatcher(None, words, others, autojunk=False).get_opcodes()
    return chain.from_iterable(
        _tell(how == "equal", "".join(words[a:b]), "".join(others[c:d]))
        for how, a, b, c, d in found
    )


def _tell(is_same: bool, first: str, second: str) -> tuple[Piece, ...]:
    if is_same:
        return (Piece("same", first),)
    return Piece("removed", first), Piece("added", second)


def _join(pieces: Sequence[Piece]) -> list[Piece]:
    """Those that stand beside their like as one, without empty ones."""
    there = filter(attrgetter("text"), pieces)
    runs = groupby(there, key=attrgetter("how"))
    return [Piece(how, "".join(piece.text for piece in run)) for how, run in runs]
