"""Tokens of the definitions of functions in a prompt: OpenAI writes them for the model as the types
of a TypeScript namespace.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, repeat
from typing import Any

from agentkit.core.lenient import find_below, text_under
from agentkit.llm.tokens.families import Family, family_of

DEFAULT_MODEL = "gpt-3.5-turbo-0613"

_AROUND = 9  # measured: the frame of the namespace when no system message is there to hold it
_WITH_SYSTEM = -4  # measured: the namespace joins the first system message, which gets a line break
_STRUCTURE = {"type", "enum", "items", "properties", "required", "additionalProperties"}
_PLAIN = _STRUCTURE | {"title", "description"}
"""What recorded calls have in their schemas."""
_NAMES = {"integer": "number", **{name: name for name in ("number", "string", "boolean", "null")}}
_BETWEEN = " | "
_FRAME_START, _FRAME_END = "namespace functions {\n", "} // namespace functions"


def num_tokens_from_functions(
    functions: Iterable[Mapping[str, object]], model: str = DEFAULT_MODEL
) -> int:
    """Tokens that these definitions (with or without the frame of a tool) add to a prompt without a
    system message.
    """
    return count_definitions(functions, family_of(model))[0]


def count_definitions(
    definitions: Iterable[Mapping[str, object]], family: Family
) -> tuple[int, bool]:
    """Tokens of definitions in a prompt without a system message, and whether that is an estimate;
    0 for none.
    """
    found = list(map(_find_function, definitions))
    if not found:
        return 0, False
    lines = chain.from_iterable(map(_write_function, found))
    tokens = family.count("\n".join((_FRAME_START, *lines, _FRAME_END))) + _AROUND
    if family.is_newer:
        # Measured: a first parameter without a description takes a token less than this text.
        tokens -= sum(map(_is_bare, found))
    is_known = family.chat_is_known and all(map(_is_plain, found))
    return tokens, not is_known


def count_joining(content: str, family: Family) -> int:
    """Tokens to add when there are definitions and the first system message says this; usually
    negative.
    """
    return _WITH_SYSTEM + family.count(content + "\n") - family.count(content)


def _find_function(definition: Mapping[str, object]) -> Mapping[str, Any]:
    """The function that is defined, without the frame of a tool."""
    inner = definition.get("function")
    if isinstance(inner, Mapping):
        return inner
    return definition


def _get_dict(schema: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """What stands under this key; empty where nothing does."""
    return schema.get(key) or {}


def _find_properties(function: Mapping[str, Any]) -> Mapping[str, Any]:
    return _get_dict(_get_dict(function, "parameters"), "properties")


def _write_function(function: Mapping[str, Any]) -> Iterator[str]:
    if function.get("description"):
        yield f"// {inspect.cleandoc(str(function['description']))}"
    name = function.get("name", "")
    if _find_properties(function):
        yield f"type {name} = (_: {{"
        yield from _write_properties(function["parameters"], 0)
        yield "}) => any;"
    else:
        yield f"type {name} = () => any;"
    yield ""


def _write_properties(schema: Mapping[str, Any], indent: int) -> Iterator[str]:
    required = schema.get("required") or ()
    margin = " " * indent
    for name, inner in schema["properties"].items():
        if _is_described(inner):
            yield f"{margin}// {inner['description']}"
        optional = "?"
        if name in required:
            optional = ""
        yield f"{margin}{name}{optional}: {_write_type(inner, indent)},"


def _write_type(schema: object, indent: int) -> str:
    if not isinstance(schema, Mapping):
        return "any"
    told = next(filter(schema.get, _CHOICES), "type")
    return _CHOICES.get(told, _write_named)(schema, indent)


def _write_enum(schema: Mapping[str, Any], indent: int) -> str:
    return _BETWEEN.join(map(_write_value, schema["enum"]))


def _write_any_of(schema: Mapping[str, Any], indent: int) -> str:
    return _join_types(schema["anyOf"], indent)


def _write_one_of(schema: Mapping[str, Any], indent: int) -> str:
    return _join_types(schema["oneOf"], indent)


def _join_types(schemas: Iterable[object], indent: int) -> str:
    return _BETWEEN.join(map(_write_type, schemas, repeat(indent)))


def _write_named(schema: Mapping[str, Any], indent: int) -> str:
    """The type by its name, or by several of them."""
    kind = schema.get("type")
    if isinstance(kind, list):
        return _BETWEEN.join(map(_write_kind, kind))
    write = _SHAPES.get(str(kind))
    if write:
        return write(schema, indent)
    return _write_kind(kind)


def _write_kind(kind: object) -> str:
    return _NAMES.get(str(kind), "any")


def _write_array(schema: Mapping[str, Any], indent: int) -> str:
    return f"{_write_type(schema.get('items'), indent)}[]"


def _write_value(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _write_object(schema: Mapping[str, Any], indent: int) -> str:
    if not schema.get("properties"):
        return "object"
    return "\n".join(("{", *_write_properties(schema, indent + 2), " " * indent + "}"))


_CHOICES: Mapping[str, Callable[[Mapping[str, Any], int], str]] = {
    "enum": _write_enum,
    "anyOf": _write_any_of,
    "oneOf": _write_one_of,
}
"""By the key that tells a type without naming it."""
_SHAPES = {"array": _write_array, "object": _write_object}


def _is_described(schema: object) -> bool:
    return bool(find_below(schema, "description"))


def _is_bare(function: Mapping[str, Any]) -> bool:
    """Whether the first parameter has no description."""
    first = next(iter(_find_properties(function).values()), None)
    return first is not None and not _is_described(first)


def _is_plain(function: Mapping[str, object]) -> bool:
    """Whether recorded calls cover all that is in the definition."""
    if "\n" in text_under(function, "description"):
        return False
    return _is_plain_schema(_get_dict(function, "parameters"))


def _is_plain_schema(schema: object) -> bool:
    if not isinstance(schema, Mapping) or not _PLAIN.issuperset(schema):
        return False
    inner = list(_get_dict(schema, "properties").values())
    if "items" in schema:
        inner.append(schema["items"])
    return isinstance(schema.get("type", ""), str) and all(map(_is_plain_schema, inner))
