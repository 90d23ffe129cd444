"""What differs between two texts, however long they are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentkit.ui.chat.comparing import find_differences


def test_words_that_differ_are_found() -> None:
    left, right = find_differences("The tea is hot, says Bob.", "The tea is cold, says Bob.")
    assert left == [("The tea is", False), (" hot,", True), (" says Bob.", False)]
    assert right == [("The tea is", False), (" cold,", True), (" says Bob.", False)]


def test_long_texts_are_compared_by_sentences_and_the_longest_not_at_all() -> None:
    many = [f"Word {number} of many." for number in range(2_000)]
    other = [*many[:1_000], "A word of one.", *many[1_001:]]
    left, _ = find_differences(" ".join(many), " ".join(other))
    assert [part for part, differs in left if differs] == [" Word 1000 of many."]
    assert find_differences("a. " * 5_000, "b. " * 5_000)[0] == [("a. " * 5_000, True)]


@given(st.text(max_size=80), st.text(max_size=80))
def test_the_parts_are_the_text(one: str, other: str) -> None:
    left, right = find_differences(one, other)
    assert "".join(part for part, _ in left) == one
    assert "".join(part for part, _ in right) == other
