"""What differs between two texts, however long they are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentkit.ui.chat.comparing import find_differences


def test_words_that_differ_are_found() -> None:
    left, right = find_differences("The tea is hot, says Bob.", "The tea is cold, says Bob.")
    assert left == [("The tea is ", False), ("hot", True), (", says Bob.", False)]
    assert right == [("The tea is ", False), ("cold", True), (", says Bob.", False)]


@given(st.text(max_size=80), st.text(max_size=80))
def test_the_parts_are_the_text(one: str, other: str) -> None:
    left, right = find_differences(one, other)
    assert "".join(part for part, _ in left) == one
    assert "".join(part for part, _ in right) == other
