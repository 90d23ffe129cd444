"""What callers gave: something or None, one thing or several."""

from __future__ import annotations

from typing import Any

import pytest

from agentkit.core.given import (
    coalesce,
    is_list_of,
    list_missing,
    pick,
    pick_given,
    to_list,
)


@pytest.mark.parametrize(
    ("value", "found"), [(None, 7), (0, 0), ("", ""), (False, False), ([], [])]
)
def test_only_none_leaves_the_default(value: Any, found: Any) -> None:
    assert coalesce(value, 7) == found


@pytest.mark.parametrize(
    ("given", "found"),
    [(None, []), ("ab", ["ab"]), ("", [""]), (["a", "b"], ["a", "b"]), (("a",), ["a"]), ([], [])],
)
def test_one_several_or_none_are_a_list(given: Any, found: list[str]) -> None:
    assert to_list(given, str) == found


def test_the_list_is_a_new_one() -> None:
    given = ["a"]
    to_list(given, str).append("b")
    assert given == ["a"]


@pytest.mark.parametrize(
    ("value", "is_one"),
    [([], True), ([{}], True), (({},), True), ([{}, 1], False), ({}, False), (None, False)],
)
def test_lists_of_one_kind(value: Any, is_one: bool) -> None:
    assert is_list_of(value, dict) is is_one


def test_what_is_missing_keeps_its_order() -> None:
    assert list_missing("dcba", {"c"}) == ["d", "b", "a"]
    assert list_missing([3, 1, 2], []) == [3, 1, 2]


def test_what_is_picked_keeps_its_order_and_none_is_no_value() -> None:
    values = {"c": 0, "b": None, "a": 1}
    assert list(pick(values, ("a", "c", "x"))) == ["c", "a"]
    assert pick_given(values) == {"c": 0, "a": 1}
