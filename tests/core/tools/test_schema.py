"""The schema a model is given: as pyautogen 0.6.0 gives it, but with shared `$defs` and with
defaults as JSON.
"""

# ruff: noqa: UP006, UP007, UP035, UP045 (the old spellings of types are tested too)

from __future__ import annotations

import datetime
import functools
import inspect
import json
import logging
import pathlib
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Dict, List, Literal, Optional, Set, Tuple, Union

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from pydantic import BaseModel, Field

from agentkit.core.tools import function_schema, get_function_schema, is_async, load_arguments
from agentkit.errors import WrongArgument, WrongType
from tests.core.tools.samples import (
    CURRENCY,
    INNER,
    POINT,
    Color,
    Currency,
    Inner,
    Level,
    Node,
    Opaque,
    Options,
    Outer,
    Point,
    Shop,
    around,
    base,
    exchange,
    taking,
)

TYPES: list[tuple[Any, dict[str, Any]]] = [
    (int, {"type": "integer"}),
    (float, {"type": "number"}),
    (str, {"type": "string"}),
    (bool, {"type": "boolean"}),
    (None, {"type": "null"}),
    (Any, {}),
    (object, {}),
    ("int", {"type": "integer"}),
    (Annotated[int, "one", "two"], {"type": "integer", "description": "one"}),
    (
        Annotated[int, "how many", Field(ge=3)],
        {"type": "integer", "minimum": 3, "description": "how many"},
    ),
    (Annotated["int", "late"], {"type": "integer", "description": "late"}),
    ("Annotated[int, 'text']", {"type": "integer", "description": "text"}),
    (
        Annotated[Optional[str], "maybe"],
        {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "maybe"},
    ),
    (Optional[Annotated[str, "inside"]], {"anyOf": [{"type": "string"}, {"type": "null"}]}),
    (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
    (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
    (Union[int, str], {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
    (int | str | None, {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]}),
    (Literal["a", "b"], {"enum": ["a", "b"], "type": "string"}),
    (
        Annotated[Literal[1, 2], "which"],
        {"enum": [1, 2], "type": "integer", "description": "which"},
    ),
    (list, {"items": {}, "type": "array"}),
    (List[int], {"items": {"type": "integer"}, "type": "array"}),
    (list[str], {"items": {"type": "string"}, "type": "array"}),
    (dict, {"type": "object"}),
    (dict[str, Any], {"type": "object"}),
    (Dict[str, int], {"additionalProperties": {"type": "integer"}, "type": "object"}),
    (
        dict[str, list[int]],
        {"additionalProperties": {"items": {"type": "integer"}, "type": "array"}, "type": "object"},
    ),
    (tuple, {"items": {}, "type": "array"}),
    (
        Tuple[int, str],
        {
            "maxItems": 2,
            "minItems": 2,
            "prefixItems": [{"type": "integer"}, {"type": "string"}],
            "items": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
            "type": "array",
        },
    ),
    (tuple[int, ...], {"items": {"type": "integer"}, "type": "array"}),
    (set, {"items": {}, "type": "array", "uniqueItems": True}),
    (Set[int], {"items": {"type": "integer"}, "type": "array", "uniqueItems": True}),
    (frozenset[str], {"items": {"type": "string"}, "type": "array", "uniqueItems": True}),
    (Sequence[int], {"items": {"type": "integer"}, "type": "array"}),
    (Mapping[str, int], {"additionalProperties": {"type": "integer"}, "type": "object"}),
    (Iterable[int], {"items": {"type": "integer"}, "type": "array"}),
    (Color, {"enum": ["red", "blue"], "title": "Color", "type": "string"}),
    (Level, {"enum": [1, 2], "title": "Level", "type": "integer"}),
    (datetime.datetime, {"format": "date-time", "type": "string"}),
    (datetime.date, {"format": "date", "type": "string"}),
    (uuid.UUID, {"format": "uuid", "type": "string"}),
    (pathlib.Path, {"format": "path", "type": "string"}),
    (bytes, {"format": "binary", "type": "string"}),
    (Currency, CURRENCY),
    (Annotated[Currency, "what is paid"], CURRENCY | {"description": "what is paid"}),
    ("Currency", CURRENCY),
    (Point, POINT),
    (
        Options,
        {
            "properties": {
                "a": {"title": "A", "type": "integer"},
                "b": {"title": "B", "type": "string"},
            },
            "required": ["a"],
            "title": "Options",
            "type": "object",
        },
    ),
]


def parameters(f: Callable[..., Any]) -> dict[str, Any]:
    schema = function_schema(f, description="d")["function"]["parameters"]
    assert isinstance(schema, dict)
    json.dumps(schema, allow_nan=False)
    Draft202012Validator.check_schema(schema)
    return schema


@pytest.mark.parametrize(("annotation", "expected"), TYPES, ids=str)
def test_the_schema_of_a_type(annotation: Any, expected: dict[str, Any]) -> None:
    assert parameters(taking(annotation)) == {
        "type": "object",
        "properties": {"value": {"description": "value"} | expected},
        "required": ["value"],
    }


def test_the_whole_tool() -> None:
    expected = {
        "type": "function",
        "function": {
            "description": "Change money",
            "name": "exchange",
            "parameters": {
                "type": "object",
                "properties": {
                    "base": CURRENCY | {"description": "what is there"},
                    "quote": {
                        "enum": ["USD", "EUR"],
                        "type": "string",
                        "default": "USD",
                        "description": "what is wanted",
                    },
                },
                "required": ["base"],
            },
        },
    }
    assert function_schema(exchange, description="Change money") == expected
    assert (
        get_function_schema(exchange, name="other", description="x")["function"]["name"] == "other"
    )
    assert parameters(lambda: 1) == {"type": "object", "properties": {}, "required": []}


def test_defaults_are_json_or_left_out() -> None:
    def tool(
        a: int = 1,
        b: Optional[int] = None,
        c: list[int] = [],  # noqa: B006
        d: tuple[int, int] = (1, 2),
        e: Color = Color.RED,
        f: datetime.date = datetime.date(2020, 1, 1),
        g: Point = Point(1),  # noqa: B008
        h: Currency = Currency(currency="USD"),  # noqa: B008
        i: Any = object(),  # noqa: B008
        j: float = float("inf"),
    ) -> None: ...

    schema = parameters(tool)
    assert schema["required"] == []
    assert {name: value.get("default", "-") for name, value in schema["properties"].items()} == {
        "a": 1,
        "b": None,
        "c": [],
        "d": [1, 2],
        "e": "red",
        "f": "2020-01-01",
        "g": {"x": 1, "y": 1.0},
        "h": {"currency": "USD", "amount": 100.0},
        "i": "-",
        "j": "-",
    }


def test_types_used_by_reference_are_found_from_the_top() -> None:
    def tool(
        a: Outer,
        b: Annotated[List[Inner], "bs"],
        c: Optional[Node] = None,
        d: Dict[Color, Inner] = {},  # noqa: B006
    ) -> None: ...

    schema = parameters(tool)
    assert set(schema["$defs"]) == {"Inner", "Node", "Color"}
    assert schema["$defs"]["Inner"] == INNER
    assert schema["properties"]["b"] == {
        "items": {"$ref": "#/$defs/Inner"},
        "type": "array",
        "description": "bs",
    }
    assert schema["properties"]["a"]["description"] == "a"
    valid = Draft202012Validator(schema).is_valid
    good = {
        "a": {"inner": {"x": 1}, "items": [{"x": 2}]},
        "b": [{"x": 3}],
        "c": {"v": 1, "kids": [{"v": 2}]},
        "d": {"red": {"x": 4}},
    }
    assert valid(good)
    assert not valid(good | {"b": [{"x": "no"}]})
    assert not valid(good | {"c": {"v": 1, "kids": [{}]}})
    assert not valid(good | {"d": {"green": {"x": 4}}})


def test_two_types_of_one_name_stay_apart() -> None:
    other: Any = type(
        "Inner", (BaseModel,), {"__annotations__": {"y": str}, "__module__": __name__}
    )

    def tool(a: Any, b: Any) -> None: ...

    tool.__annotations__.update(a=list[Inner], b=list[other])
    valid = Draft202012Validator(parameters(tool)).is_valid
    assert valid({"a": [{"x": 1}], "b": [{"y": "z"}]})
    assert not valid({"a": [{"x": 1}], "b": [{"x": 1}]})
    assert not valid({"a": [{"y": "z"}], "b": [{"y": "z"}]})


def test_a_field_describes_too() -> None:
    assert parameters(taking(Annotated[int, Field(description="a field", ge=3)]))["properties"][
        "value"
    ] == {
        "type": "integer",
        "minimum": 3,
        "description": "a field",
    }
    assert (
        parameters(taking(Annotated[int, Field(ge=3), "text"]))["properties"]["value"][
            "description"
        ]
        == "text"
    )
    assert (
        parameters(taking(Annotated[int, Field(ge=3)]))["properties"]["value"]["description"]
        == "value"
    )
    with pytest.raises(
        WrongArgument, match="'value' has the description 5; a description must be a text"
    ):
        parameters(taking(Annotated[int, 5]))


@pytest.mark.parametrize(
    ("f", "name", "names", "required"),
    [
        (Shop().price, "price", ["item", "count"], ["item"]),
        (Shop.opened, "opened", ["year"], ["year"]),
        (Shop(), "Shop", ["item"], ["item"]),
        (functools.partial(base, 1), "base", ["b", "c"], ["b"]),
        (functools.partial(base, b="z"), "base", ["a", "c"], ["a"]),
        (around, "base", ["a", "b", "c"], ["a", "b"]),
        (functools.partial(around, 1, "z"), "base", ["c"], []),
    ],
)
def test_what_can_be_a_tool(
    f: Callable[..., Any], name: str, names: list[str], required: list[str]
) -> None:
    assert function_schema(f, description="d")["function"]["name"] == name
    assert list(parameters(f)["properties"]) == names
    assert parameters(f)["required"] == required


def test_kinds_of_parameters() -> None:
    def tool(a: int, /, b: str, *args: int, c: float = 1, **rest: bool) -> Any:
        return a, b, args, c, rest

    schema = parameters(tool)
    assert list(schema["properties"]) == ["a", "b", "c"]
    assert schema["additionalProperties"] == {"type": "boolean"}
    assert load_arguments(tool)(a="1", b="x", more="true") == (1, "x", (), 1, {"more": True})
    assert load_arguments(tool)(1, "x", "2", c=2) == (1, "x", (2,), 2.0, {})


def test_local_classes_are_found_while_their_function_runs() -> None:
    class Local(BaseModel):
        y: int

    def tool(a: Local, b: Annotated[Optional[List[Local]], "bs"] = None) -> Any:
        return a, b

    assert parameters(tool)["properties"]["a"]["title"] == "Local"
    assert load_arguments(tool)(a={"y": 1}, b=[{"y": 2}]) == (Local(y=1), [Local(y=2)])


def test_only_unannotated_parameters_with_a_default_are_hidden(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def tool(a=1, b: int = 2): ...  # type: ignore[no-untyped-def]

    with caplog.at_level(logging.WARNING):
        assert list(parameters(tool)["properties"]) == ["b"]
    assert "The tool 'tool' hides 'a' from the model" in caplog.text
    with pytest.raises(TypeError, match=r"The tool 'two' does not tell .* annotate 'x', 'y'"):
        function_schema(lambda x, y: x, name="two", description="d")
    with pytest.raises(TypeError, match="annotate 'self'"):
        function_schema(Shop.price, description="d")


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        ("Nowhere", "parameter 'value' is annotated with Nowhere, where a name is unknown"),
        (
            List["Nowhere"],  # type: ignore[name-defined]  # noqa: F821
            r"List\[.*Nowhere.*\], where a name is unknown",
        ),
        ("the number of days", "annotated with the number of days, where a name is unknown"),
        (Opaque, "Opaque, which has no JSON schema"),
        (Callable[[int], int], "which has no JSON schema"),
    ],
)
def test_types_that_have_no_schema(annotation: Any, message: str) -> None:
    with pytest.raises(WrongType, match=message):
        parameters(taking(annotation))
    assert load_arguments(taking(annotation))(value=len) is len


def test_an_annotation_that_fails_only_when_it_is_looked_at_is_refused() -> None:
    """As those of a function do since Python 3.14."""

    class Tool:
        @property
        def __signature__(self) -> inspect.Signature:
            raise NameError("name 'City' is not defined")

        def __call__(self) -> None: ...

    with pytest.raises(WrongType, match="name 'City' is not defined; define or import it"):
        function_schema(Tool(), description="d")


def test_what_cannot_be_called_is_refused() -> None:
    with pytest.raises(WrongType, match="3 is not a function"):
        function_schema(3, description="d")  # type: ignore[arg-type]
    with pytest.raises(WrongArgument, match="does not tell its parameters"):
        function_schema(max, description="d")


def test_async_is_seen_through_wrappers() -> None:
    @functools.wraps(exchange)
    def plain(*args: Any) -> Any:
        return exchange(*args)

    for f in (
        exchange,
        functools.partial(exchange),
        plain,
        Shop(),
        Shop().__call__,
        functools.partial(Shop(), item="x"),
    ):
        assert is_async(f), f
    for g in (
        base,
        functools.partial(base, 1),
        around,
        Shop().price,
        Shop,
        len,
        print,
        int,
        lambda: 1,
    ):
        assert not is_async(g), g


def test_pydantic_is_loaded_only_when_needed() -> None:
    code = (
        "import sys, agentkit.core.tools; sys.exit('pydantic' in sys.modules or 'numpy' in"
        " sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
