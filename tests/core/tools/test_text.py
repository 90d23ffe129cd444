"""Every result of a tool has a text that a model can read."""

from __future__ import annotations

import collections
import datetime
import decimal
import pathlib
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.core.tools import to_text
from tests.core.tools.samples import (
    Color,
    Currency,
    Inner,
    Level,
    Opaque,
    Point,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        (1, "1"),
        (None, "null"),
        (True, "true"),
        ([1, "é"], '[1, "é"]'),
        ({"a": "é", "b": (1, 2)}, '{"a": "é", "b": [1, 2]}'),
        (
            {1: 2, (1, 2): 3, Color.RED: 4, datetime.date(2020, 1, 2): 5},
            '{"1": 2, "[1, 2]": 3, "red": 4, "2020-01-02": 5}',
        ),
        (float("nan"), "NaN"),
        (Currency(currency="USD"), '{"currency":"USD","amount":100.0}'),
        ([Inner(x=1), Point(1)], '[{"x": 1}, {"x": 1, "y": 1.0}]'),
        (Point(1), '{"x": 1, "y": 1.0}'),
        pytest.param({"b", "c", "a"}, '["a", "b", "c"]', id="a set"),
        (Color.RED, "red"),
        (Level.LOW, "1"),
        (datetime.datetime(2020, 1, 2, tzinfo=datetime.UTC), "2020-01-02T00:00:00+00:00"),
        (datetime.timedelta(minutes=1), "0:01:00"),
        (decimal.Decimal("1.50"), "1.50"),
        (pathlib.PurePosixPath("a/b"), "a/b"),
        ("Grüße".encode(), "Grüße"),
        (b"\xff\x00", "\\xff\x00"),
        ([b"ok"], '["ok"]'),
        (collections.deque([1]), "[1]"),
        ({"a": 1}.values(), "[1]"),
        (range(3), "[0, 1, 2]"),
        ("lone \ud800", "lone \\ud800"),
        (Inner, f"<class '{Inner.__module__}.Inner'>"),
        ([Point, 1], f'["{Point}", 1]'),
        (ValueError("no such city"), "no such city"),
        (np.int64(3), "3"),
        (np.float64(1.5), "1.5"),
        (np.bool_(True), "true"),
        (np.array([[1, 2], [3, 4]]), "[[1, 2], [3, 4]]"),
        ({np.int64(1): np.float32(0.5)}, '{"1": 0.5}'),
        (pd.Timestamp("2020-01-02"), "2020-01-02T00:00:00"),
        (pd.NA, "<NA>"),
        (pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), "   a  b\n0  1  x\n1  2  y"),
        (pd.Series([1, 2], index=["p", "q"]), "p    1\nq    2"),
        (pd.Index([1, 2]), "[1, 2]"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_the_text_of_a_result(value: Any, text: str) -> None:
    assert to_text(value) == text


def test_a_long_frame_is_told_whole() -> None:
    assert to_text(pd.DataFrame({"a": range(500)})).count("\n") == 500


class Broken:
    def __str__(self) -> str:
        raise RuntimeError("no text")


def test_objects_without_a_json_form_have_a_text_too() -> None:
    ring: list[Any] = [1]
    ring.append(ring)
    assert to_text(ring) == "[1, [...]]"
    assert to_text(Broken()) == "<Broken>"
    assert to_text([Broken()]).startswith("[<")
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert to_text(deep)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
ANY = st.recursive(
    JSON
    | st.binary()
    | st.complex_numbers()
    | st.datetimes()
    | st.sampled_from([Color.RED, Broken(), Opaque(), Inner, int, np.nan]),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner)
        | st.dictionaries(st.text() | st.dates() | st.tuples(st.integers()), inner)
    ),
    max_leaves=20,
)


@given(ANY)
def test_every_value_has_a_text(value: Any) -> None:
    assert isinstance(to_text(value).encode(), bytes)
