"""Sequences and texts beside each other: order is kept, nothing is lost, equal ones are equal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from agentkit.ledger.aligning import Row, align, align_twice, compare_texts
from tests.timing import processor_time

things = st.lists(st.integers(0, 5), max_size=30)
alike = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4)), max_size=30)
texts = st.text(alphabet="ab .\n\r", max_size=60)


def rises(places: Sequence[int | None]) -> bool:
    there = [place for place in places if place is not None]
    return there == sorted(set(there))


@given(things, things)
def test_pairs_are_equal_and_keep_the_order_of_both(first: list[int], second: list[int]) -> None:
    pairs = align(first, second)
    assert all(first[one] == second[other] for one, other in pairs)
    assert rises([one for one, _ in pairs])
    assert rises([other for _, other in pairs])


@given(things, things)
def test_what_is_added_at_the_end_leaves_the_rest_as_it_is(
    first: list[int], more: list[int]
) -> None:
    whole = [(place, place) for place in range(len(first))]
    assert align(first, first) == whole
    assert align(first, [*first, *more]) == whole


def places(rows: Sequence[Row], side: int) -> list[int]:
    return [place for row in rows if (place := row[side]) is not None]


@given(alike, alike)
def test_every_step_stands_in_one_row(
    first: list[tuple[int, int]], second: list[tuple[int, int]]
) -> None:
    rows = align_twice(first, second)
    assert places(rows, 0) == list(range(len(first)))
    assert places(rows, 1) == list(range(len(second)))
    both = [
        (first[one], second[other]) for one, other in rows if one is not None and other is not None
    ]
    assert all(one[0] == other[0] or one[1] == other[1] for one, other in both)


@given(alike)
def test_equal_steps_give_no_difference(steps: list[tuple[int, int]]) -> None:
    assert align_twice(steps, steps) == [(place, place) for place in range(len(steps))]


def test_an_inserted_step_stands_alone() -> None:
    first = [("model", "a"), ("model", "b"), ("tool", "c")]
    second = [("model", "a"), ("model", "new"), ("model", "b"), ("tool", "other")]
    assert align_twice(first, second) == [(0, 0), (None, 1), (1, 2), (2, 3)]


@given(texts, texts)
def test_both_texts_can_be_read_from_their_pieces(first: str, second: str) -> None:
    pieces = compare_texts(first, second)
    assert "".join(one.text for one in pieces if one.how != "added") == first
    assert "".join(one.text for one in pieces if one.how != "removed") == second
    assert all(one.how != other.how for one, other in pairwise(pieces))


@given(texts)
def test_equal_texts_are_one_piece(text: str) -> None:
    assert [(one.how, one.text) for one in compare_texts(text, text)] == (
        [("same", text)] if text else []
    )


def test_only_the_words_that_differ_are_marked() -> None:
    pieces = compare_texts("Same line.\nIt takes 80 degrees.", "Same line.\nIt takes 95 degrees.")
    assert [(one.how, one.text) for one in pieces] == [
        ("same", "Same line.\nIt takes "),
        ("removed", "80"),
        ("added", "95"),
        ("same", " degrees."),
    ]


def test_ten_megabytes_are_compared_soon() -> None:
    first = "all the same words " * 500_000
    second = "\n".join("one of many lines" for _ in range(500_000))
    with processor_time(30):
        assert [one.how for one in compare_texts(first, second)] == ["removed", "added"]
        assert [one.how for one in compare_texts(first, first + "more")] == ["removed", "added"]
