"""Objects are made of the JSON values that a model gives, and it is told what does not fit."""

# ruff: noqa: UP006, UP035, UP045 (the old spellings of types are tested too)

from __future__ import annotations

import asyncio
import datetime
import decimal
import functools
import inspect
import pathlib
from collections.abc import Iterable
from typing import Annotated, Any, Dict, List, Optional

import pytest

from agentkit.core.tools import is_async, load_arguments
from agentkit.errors import WrongArgument, WrongType
from tests.core.tools.samples import (
    Color,
    Currency,
    Inner,
    Level,
    Node,
    Options,
    Outer,
    Point,
    Shop,
    base,
    exchange,
    taking,
)


@pytest.mark.parametrize(
    ("annotation", "given_", "made"),
    [
        (Currency, {"currency": "EUR"}, Currency(currency="EUR")),
        (Annotated[Inner, "text"], {"x": 1}, Inner(x=1)),
        (List[Inner], [{"x": 1}], [Inner(x=1)]),
        (Optional[Inner], {"x": 1}, Inner(x=1)),
        (Optional[Inner], None, None),
        (Dict[str, Inner], {"k": {"x": 1}}, {"k": Inner(x=1)}),
        (Inner, Inner(x=1), Inner(x=1)),
        (Node, {"v": 1, "kids": [{"v": 2}]}, Node(v=1, kids=[Node(v=2)])),
        (Point, {"x": 1}, Point(1)),
        (list[Point], [{"x": 1, "y": 2}], [Point(1, 2.0)]),
        (Options, {"a": 1}, {"a": 1}),
        (Color, "red", Color.RED),
        (Level, 2, Level.HIGH),
        (dict[Color, int], {"red": 1}, {Color.RED: 1}),
        (set[int], [1, 1, 2], {1, 2}),
        (tuple[int, str], [1, "a"], (1, "a")),
        (Iterable[Inner], [{"x": 1}], [Inner(x=1)]),
        (datetime.date, "2024-02-29", datetime.date(2024, 2, 29)),
        (decimal.Decimal, "1.50", decimal.Decimal("1.50")),
        (pathlib.Path, "a/b", pathlib.Path("a/b")),
        (int, "3", 3),
        (int, 3.0, 3),
        (str, 7, "7"),
        (int | str, "7", "7"),
        (dict, {"a": [1]}, {"a": [1]}),
        (Any, {"a": 1}, {"a": 1}),
        ("Nowhere", {"a": 1}, {"a": 1}),
    ],
)
def test_objects_are_made_of_json_values(annotation: Any, given_: Any, made: Any) -> None:
    loaded = load_arguments(taking(annotation))(value=given_)
    assert loaded == made
    assert type(loaded) is type(made)


def test_the_wrapper_looks_like_the_function() -> None:
    wrapper = load_arguments(base)
    assert (wrapper.__name__, inspect.unwrap(wrapper)) == ("base", base)
    assert load_arguments(functools.partial(base, 1)).__name__ == "base"
    assert asyncio.run(load_arguments(Shop())(item="x")) == "x"
    assert is_async(load_arguments(exchange))
    assert asyncio.run(load_arguments(exchange)(base={"currency": "EUR"})) == Currency(
        currency="USD"
    )
    assert load_arguments(Shop().price)(item="lamp", count="2") == "lamp x 2"


def test_a_default_passes_even_if_it_does_not_fit() -> None:
    def tool(a: int = None) -> Any:  # type: ignore[assignment]  # noqa: RUF013
        return a

    assert load_arguments(tool)(a=None) is None
    assert load_arguments(tool)() is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"a": {"inner": {"x": "one"}}, "c": "red"},
            r"argument a\.inner\.x: input should be a valid integer.*but it is 'one'",
        ),
        (
            {"a": {"inner": {"x": 1}, "items": [{}]}, "c": "red"},
            r"argument a\.items\[0\]\.x: field required",
        ),
        (
            {"a": 3, "c": "red"},
            "argument a: input should be a valid dictionary or instance of Outer, but it is 3",
        ),
        (
            {"a": {"inner": {"x": 1}}, "c": "green"},
            "argument c: input should be 'red' or 'blue', but it is 'green'",
        ),
        (
            {"a": 3, "c": "green"},
            r"^The call of tool does not fit: argument a: .*; argument c: .*\. Call it again",
        ),
        ({"c": "red"}, "missing a required argument: 'a'. It takes a, c, n."),
        ({"a": 1, "c": "red", "zz": 1}, "unexpected keyword argument 'zz'. It takes a, c, n."),
        (
            {"a": {"inner": {"x": 1}}, "c": "red", "n": "many"},
            "argument n: .*integer.*but it is 'many'",
        ),
    ],
)
def test_a_model_is_told_what_does_not_fit(arguments: dict[str, Any], message: str) -> None:
    def tool(a: Outer, c: Color, n: int = 0) -> str:
        raise AssertionError("it must not be called")

    with pytest.raises((WrongArgument, WrongType), match=message):
        load_arguments(tool)(**arguments)


def test_errors_of_the_function_stay_as_they_are() -> None:
    def tool(a: int) -> Any:
        return Inner.model_validate({"x": "no"})

    with pytest.raises(ValueError, match="1 validation error for Inner") as raised:
        load_arguments(tool)(a=1)
    assert not isinstance(raised.value, WrongArgument)
