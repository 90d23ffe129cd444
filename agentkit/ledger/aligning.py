"""Two sequences put beside each other: what stands in both, in the order of both; texts by word.

It only computes, in about n log n of what it is given.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import partial
from itertools import chain, count, groupby, pairwise, repeat, starmap, takewhile
from operator import attrgetter, eq, itemgetter
from typing import Literal

Pair = tuple[int, int]
"""Places of the one thing in both sequences, from 0."""
Row = tuple[int | None, int | None]
"""The same; None where only the other sequence has it."""
How = Literal["same", "removed", "added"]
_WORD = re.compile(r"\s+|\w+|[^\w\s]")
_MOST_CHARACTERS = 8_000
"""Of a changed part of a text; longer ones are told as a whole, and not by word."""
_MOST_LINES = 100_000
"""Of two texts together; those with more differ as a whole."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of two texts: in both, or in one of them."""

    how: How
    text: str


def align(first: Iterable[Hashable], second: Iterable[Hashable]) -> list[Pair]:
    """Places of equal things, in the order of both; what stands there several times is paired by
    its number.
    """
    here, there = _find_places(first), _find_places(second)
    pairs = [(place, there[each]) for each, place in here.items() if each in there]
    return _keep_order(pairs)


def align_twice(
    first: Sequence[tuple[Hashable, Hashable]], second: Sequence[tuple[Hashable, Hashable]]
) -> list[Row]:
    """Each thing is what it is like and what it is: equal ones are paired, and between these those
    that are alike. Every thing of both is in one row.
    """
    like, whole = itemgetter(0), itemgetter(1)
    equal = align(map(whole, first), map(whole, second))
    pairs = list(equal)
    for (left, right), (to_left, to_right) in _pair_ends(equal, first, second):
        found = align(
            map(like, first[left + 1 : to_left]),
            map(like, second[right + 1 : to_right]),
        )
        pairs += starmap(partial(_move, left + 1, right + 1), found)
    pairs.sort()
    return list(_fill(pairs, len(first), len(second)))


def compare_texts(first: str, second: str) -> list[Piece]:
    """Both texts as one: equal lines once, and of the others each word that differs."""
    lines = first.splitlines(keepends=True)
    others = second.splitlines(keepends=True)
    if first != second and len(lines) + len(others) > _MOST_LINES:
        return _join([Piece("removed", first), Piece("added", second)])
    pieces: list[Piece] = []
    for (left, right), (to_left, to_right) in _pair_ends(align(lines, others), lines, others):
        gone = "".join(lines[left + 1 : to_left])
        come = "".join(others[right + 1 : to_right])
        pieces += _compare_words(gone, come)
        same = "".join(lines[to_left : to_left + 1])
        pieces.append(Piece("same", same))
    return _join(pieces)


def count_same(first: str, second: str) -> int:
    """How many characters at their beginning are the same."""
    return len(list(takewhile(bool, map(eq, first, second))))


def _find_places(things: Iterable[Hashable]) -> dict[tuple[Hashable, int], int]:
    """The place of each thing, with how often it was there before: so each is there once."""
    seen: defaultdict[Hashable, count[int]] = defaultdict(count)

    def number(thing: Hashable) -> tuple[Hashable, int]:
        return thing, next(seen[thing])

    return dict(zip(map(number, things), count(), strict=False))


def _keep_order(pairs: Sequence[Pair]) -> list[Pair]:
    """As many of the pairs as rise in both, which rise in the first."""
    lowest, ends, before = [-1], [-1], list[int]()
    for number, (_, place) in enumerate(pairs):
        length = bisect_left(lowest, place)
        before.append(ends[length - 1])
        lowest[length : length + 1] = [place]
        ends[length : length + 1] = [number]
    kept = []
    number = ends[-1]
    while number >= 0:
        kept.append(pairs[number])
        number = before[number]
    kept.reverse()
    return kept


def _pair_ends(
    pairs: Sequence[Pair], first: Sequence[object], second: Sequence[object]
) -> Iterator[tuple[Pair, Pair]]:
    """Each pair with the next one; before the first and after the last one stand the ends."""
    before, after = (-1, -1), (len(first), len(second))
    return pairwise([before, *pairs, after])


def _move(left: int, right: int, one: int, other: int) -> Pair:
    return left + one, right + other


def _fill(pairs: Sequence[Pair], first: int, second: int) -> Iterator[Row]:
    """The pairs with what stands between them in each."""
    left = right = 0
    for one, other in pairs:
        yield from zip(range(left, one), repeat(None))
        yield from zip(repeat(None), range(right, other))
        yield one, other
        left = one + 1
        right = other + 1
    yield from zip(range(left, first), repeat(None))
    yield from zip(repeat(None), range(right, second))


def _compare_words(first: str, second: str) -> Iterable[Piece]:
    if max(len(first), len(second)) > _MOST_CHARACTERS:
        return Piece("removed", first), Piece("added", second)
    words, others = _WORD.findall(first), _WORD.findall(second)
    found = SequenceMatcher(None, words, others, autojunk=False)
    told = starmap(partial(_tell, words, others), found.get_opcodes())
    return chain.from_iterable(told)


def _tell(
    words: Sequence[str], others: Sequence[str], how: str, a: int, b: int, c: int, d: int
) -> tuple[Piece, ...]:
    first = "".join(words[a:b])
    second = "".join(others[c:d])
    if how == "equal":
        return (Piece("same", first),)
    return Piece("removed", first), Piece("added", second)


def _join(pieces: Iterable[Piece]) -> list[Piece]:
    """Those that stand beside their like as one, without empty ones."""
    there = filter(attrgetter("text"), pieces)
    return list(starmap(_put_together, groupby(there, key=attrgetter("how"))))


def _put_together(how: How, pieces: Iterable[Piece]) -> Piece:
    return Piece(how, "".join(map(attrgetter("text"), pieces)))
