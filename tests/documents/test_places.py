"""Places in words: what is narrowed and joined reads as a person would write it, however many lines
are left.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.documents.places import container, join, narrow, span

KINDS = st.sampled_from([("lines ", ""), ("rows ", ""), ("cells ", ""), ("$.items[", "]")])


@pytest.mark.parametrize(
    ("place", "lines", "skipped", "taken", "narrowed"),
    [
        ("lines 3-9", 7, 0, 7, "lines 3-9"),
        ("lines 3-9", 7, 2, 1, "line 5"),
        ("rows 2-41", 40, 38, 2, "rows 40-41"),
        ("rows 2-41", 40, 0, 1, "row 2"),
        ("$.items[0-41]", 42, 4, 1, "$.items[4]"),
        ("lines 3-3", 1, 0, 1, "line 3"),  # as earlier versions wrote it
        ("line 3", 1, 0, 1, "line 3"),
        ("Sales!A2:F41", 40, 3, 1, "Sales!A5:F5"),
        ("lines 3-9", 4, 2, 1, "lines 3-9"),  # it counts something else
        ("cell 3", 12, 4, 1, "cell 3"),
        ("chapter-1.xhtml", 12, 4, 1, "chapter-1.xhtml"),
    ],
)
def test_a_place_is_narrowed_to_the_lines_taken(
    place: str, lines: int, skipped: int, taken: int, narrowed: str
) -> None:
    assert narrow(place, lines, skipped, taken) == narrowed


@pytest.mark.parametrize(
    ("first", "last", "joined"),
    [
        ("line 3", "lines 5-9", "lines 3-9"),
        ("lines 1-3", "line 5", "lines 1-5"),
        ("row 2", "row 3", "rows 2-3"),
        ("cell 3", "cell 5", "cells 3-5"),
        ("cells 3-5", "cell 6", "cells 3-6"),
        ("$.items[4]", "$.items[5-7]", "$.items[4-7]"),
        ("$.items[4]", "$.others[5]", "$.items[4] to $.others[5]"),
        ("S!A1:B10", "S!A12:C12", "S!A1:C12"),
        ("S!A1:B10", "T!A1:B2", "S!A1:B10 to T!A1:B2"),
        ("line 3", "cell 4", "line 3 to cell 4"),
        ("line 3", "", "line 3"),
    ],
)
def test_neighbours_are_joined(first: str, last: str, joined: str) -> None:
    assert join(first, last) == joined


def test_one_line_may_be_in_a_piece_with_several() -> None:
    assert container("line 3") == container("lines 4-9") != container("row 3")
    assert container("cell 3") == container("cells 4-5")


@given(KINDS, st.integers(1, 50), st.integers(1, 50), st.integers(1, 50))
def test_a_place_cut_in_two_and_joined_is_the_same(
    kind: tuple[str, str], first: int, upper: int, lower: int
) -> None:
    before, after = kind
    whole = span(before, first, first + upper + lower - 1, after)
    parts = (narrow(whole, upper + lower, 0, upper), narrow(whole, upper + lower, upper, lower))
    assert join(*parts) == whole
    assert container(parts[0]) == container(whole)
    assert not any(
        "-" in part for part, lines in zip(parts, (upper, lower), strict=True) if lines == 1
    )
