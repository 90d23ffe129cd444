"""Functions that are only texts: their schemas, and what is wrong with them; none of them runs."""

from __future__ import annotations

import pytest

from agentkit.core.tools import find_only, function_schema, read_function, rename_only
from agentkit.errors import WrongArgument

PLAIN = '''
raise SystemExit("nobody may run this")

def price(name: str, count: int = 1, *, kind: "Literal['a', 'b']", when: str | None = None):
    """What it costs.

    Args:
        name: What is bought.
    """
'''


def test_the_schema_is_read_from_signature_and_docstring() -> None:
    told = read_function(PLAIN, "price")
    assert told.description.startswith("What it costs.")
    assert told.parameters["required"] == ["name", "kind"]
    assert told.parameters["properties"] == {
        "name": {"description": "What is bought.", "type": "string"},
        "count": {"description": "count", "type": "integer"},
        "kind": {"description": "kind", "enum": ["a", "b"]},
        "when": {"description": "when", "anyOf": [{"type": "string"}, {"type": "null"}]},
    }


@pytest.mark.parametrize(
    "annotation",
    [
        *("str", "int", "float", "bool", "list[str]", "dict[str, int]", "list[dict[str, float]]"),
        *(
            "typing.List[int]",
            "typing.Optional[int]",
            "typing.Literal['x']",
            "int | str",
            "dict",
            "list",
        ),
    ],
)
def test_types_are_told_as_of_a_function_that_runs(annotation: str) -> None:
    code = f'import typing\ndef one(it: {annotation}):\n    """Say."""\n'
    space: dict[str, object] = {}
    exec(code, space)
    function = space["one"]
    assert callable(function)
    known = function_schema(function, description="Say.")["function"]["parameters"]
    read = read_function(code, "one").parameters
    kept = {"type", "items", "anyOf", "enum", "additionalProperties", "description"}

    def without_rest(schema: dict[str, object]) -> dict[str, object]:
        inner = {"const": "enum"}
        named = {inner.get(key, key): value for key, value in schema.items()}
        return {key: value for key, value in named.items() if key in kept}

    mine, theirs = read["properties"]["it"], known["properties"]["it"]
    if "Literal" in annotation:
        assert mine["enum"] == ["x"]
        return
    assert without_rest(mine) == without_rest(theirs)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("def one(", "Line 1 is not Python"),
        ("x = 1", "There is no `def one"),
        ("async def one():\n  '''Say.'''", "async"),
        ("def one():\n  pass", "needs a docstring"),
        ("def one(a):\n  '''Say.'''", "type of a"),
        ("def one(a: Frame):\n  '''Say.'''", "Frame, is unknown"),
        ("def one(a: 'list['):\n  '''Say.'''", "is unknown"),
        ("def one(*a: int):\n  '''Say.'''", "without *"),
        ("#" * 20_001, "20,001 characters"),
        ("(" * 5_000, "not Python|cannot be read"),
        ("\0", "not Python|cannot be read"),
    ],
)
def test_what_is_no_tool_is_told(code: str, told: str) -> None:
    with pytest.raises(WrongArgument, match=told):
        read_function(code, "one")


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("def tea(): ...", "tea"),
        ("import json\n\ndef _boil(): ...\n\ndef tea(): ...", "tea"),
        ("def tea(): ...\ndef cup(): ...", ""),
        ("async def tea(): ...", ""),
        ("def tea(:", ""),
        ("", ""),
    ],
)
def test_the_only_function_is_found(code: str, name: str) -> None:
    assert find_only(code) == name


def test_only_its_definition_is_renamed() -> None:
    code = "def _boil(): ...\n\ndef  tea(tea: str) -> str:\n    return tea"
    renamed = code.replace("def  tea", "def cup")
    assert rename_only(code, "cup") == renamed
    assert rename_only(code, "no name") == code
    assert rename_only("def tea(): ...\ndef cup(): ...", "pot") == "def tea(): ...\ndef cup(): ..."
