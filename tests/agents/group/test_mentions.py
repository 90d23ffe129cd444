"""Which names stand in a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.agents.group.mentions import count_mentions

NAMES = ["Writer", "Writer_2", "c", "c++"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Writer", {"Writer": 1}),
        ("**Writer**, then Writer.", {"Writer": 2}),
        ("Writer_2", {"Writer_2": 1}),
        ("Writer 2", {"Writer_2": 1}),
        (r"Writer\_2", {"Writer_2": 1}),
        ("writer", {}),
        ("Writers and Ghostwriter", {}),
        ("c++ or c", {"c++": 1, "c": 1}),
        ("", {}),
        (None, {}),
        (
            [{"type": "text", "text": "Writer"}, {"type": "image_url", "image_url": {}}],
            {"Writer": 1},
        ),
    ],
)
def test_finds_names_as_words(text: object, found: dict[str, int]) -> None:
    assert count_mentions(text, NAMES) == found  # type: ignore[arg-type]


def test_an_exact_name_goes_before_a_rewritten_one() -> None:
    assert count_mentions("alpha two", ["alpha_two", "alpha two"]) == {"alpha two": 1}


def test_the_space_behind_a_name_is_no_underscore_of_another() -> None:
    assert count_mentions("a | b", ["a", "a_", "_b"]) == {"a": 1}


def test_no_names() -> None:
    assert count_mentions("anything", []) == {}


@given(st.lists(st.from_regex(r"\A[a-z]\w{0,8}\Z"), min_size=1, max_size=6, unique=True), st.data())
def test_counts_every_name_between_other_words(names: list[str], data: st.DataObject) -> None:
    said = data.draw(st.lists(st.sampled_from(names), max_size=10))
    expected = {name: said.count(name) for name in names if name in said}
    assert count_mentions(" | ".join(["...", *said, "!?"]), names) == expected
