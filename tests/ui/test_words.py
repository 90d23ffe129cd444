"""Words without end are broken, and nothing else is."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.ui.text.words import LONGEST, breakable

SPACE = "\u200b"


@pytest.mark.parametrize("unit", ["a", "a.", "www.", "abc1-x.", "\u5b57"])
def test_no_part_of_a_long_word_is_longer_than_words_are(unit: str) -> None:
    text = unit * 100_000
    shown = breakable(text)
    assert max(map(len, shown.split(SPACE))) == LONGEST
    assert shown.replace(SPACE, "") == text


def test_what_people_write_stays() -> None:
    for text in ("", "word", "x" * LONGEST, ("word " * 500), "https://example.org/" + "a" * 900):
        assert breakable(text) == text


@given(st.text(alphabet="ab \n", max_size=3 * LONGEST))
def test_only_spaces_without_width_are_added(text: str) -> None:
    shown = breakable(text)
    assert shown.replace(SPACE, "") == text
    assert not re.search(rf"[^\s{SPACE}]{{{LONGEST + 1}}}", shown)
