"""Tools that are told by a schema are called by the names that stand there, whatever these are."""

from __future__ import annotations

from typing import Any

import pytest

from agentkit.core.tools import Origin, make_tool, origin_of, schema_of


@pytest.mark.parametrize("name", ["from", "class", "a-b", "given", "self", "x y", "signature"])
def test_any_name_of_an_argument_can_be_given(name: str) -> None:
    told: list[dict[str, Any]] = []

    def call(given: dict[str, Any]) -> str:
        told.append(given)
        return "done"

    schema = {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}
    tool = make_tool("shop__move", "Moves.", schema, call)
    assert tool(**{name: "Graz"}) == "done"
    assert told == [{name: "Graz"}]


def test_arrays_say_what_is_in_them() -> None:
    point = {"type": "array", "prefixItems": [{"type": "number"}, {"type": "number"}]}
    schema = {"type": "object", "properties": {"rows": {"type": "array"}, "points": point}}
    made = schema_of(make_tool("shop__plot", "Plots.", schema, lambda given: ""))
    assert made is not None
    assert made["properties"] == {
        "rows": {"type": "array", "items": {}},
        "points": {**point, "items": {"type": "number"}},
    }
    assert "items" not in str(schema).replace("prefixItems", ""), "what was given stays as it is"


def test_a_tool_says_where_it_comes_from() -> None:
    made = make_tool("shop__move", "", {}, lambda given: "", origin=Origin("move", "shop"))
    assert origin_of(made, "shop__move") == Origin("move", "shop")
    assert origin_of(make_tool("move", "", {}, lambda given: ""), "x") == Origin("move")
    assert origin_of(None, "x") == Origin("x")
