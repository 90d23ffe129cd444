"""Tokens of the definitions of functions in a prompt: OpenAI writes them for the model as the types
of a TypeScript namespace.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agentkit.llm.tokens.families import Family, family_of

DEFAULT_MODEL = "gpt-3.5-turbo-0613"

_AROUND = 9  # measured: the frame of the namespace when no system message is there to hold it
_WITH_SYSTEM = -4  # measured: the namespace joins the first system message, which gets a line break
_PLAIN = frozenset(
    {
        "type",
        "description",
        "enum",
        "items",
        "properties",
        "required",
        "additionalProperties",
        "title",
    }
)
_NAMES = {
    "integer": "number",
    "number": "number",
    "string": "string",
    "boolean": "boolean",
    "null": "null",
}


def num_tokens_from_functions(
    functions: Iterable[Mapping[str, object]], model: str = DEFAULT_MODEL
) -> int:
    """Tokens that these definitions (with or without the frame of a tool) add to a prompt without a
    system message.
    """
    return definition_tokens(functions, family_of(model))[0]


def definition_tokens(
    definitions: Iterable[Mapping[str, object]], family: Family
) -> tuple[int, bool]:
    """Tokens of definitions in a prompt without a system message, and whether that is an estimate;
    0 for none.
    """
    found = [_function(one) for one in definitions]
    if not found:
        return 0, False
    text = "\n".join(
        [
            "namespace functions {",
            "",
            *(line for one in found for line in _lines(one)),
            "} // namespace functions",
        ]
    )
    # Measured with o200k_base: a first parameter without a description takes a token less than this
    # text.
    less = sum(_is_bare(one) for one in found) if family.encoding == "o200k_base" else 0
    return family.count(text) + _AROUND - less, not (
        family.chat_is_known and all(map(_is_plain, found))
    )


def with_system_message(content: str, family: Family) -> int:
    """Tokens to add when there are definitions and the first system message says this; usually
    negative.
    """
    return _WITH_SYSTEM + family.count(content + "\n") - family.count(content)


def _function(definition: Mapping[str, object]) -> Mapping[str, Any]:
    inner = definition.get("function")
    return inner if isinstance(inner, Mapping) else definition


def _lines(function: Mapping[str, Any]) -> Iterator[str]:
    if function.get("description"):
        yield f"// {inspect.cleandoc(str(function['description']))}"
    parameters = function.get("parameters") or {}
    if parameters.get("properties"):
        yield from (
            f"type {function.get('name', '')} = (_: {{",
            *_properties(parameters, 0),
            "}) => any;",
            "",
        )
    else:
        yield from (f"type {function.get('name', '')} = () => any;", "")


def _properties(schema: Mapping[str, Any], indent: int) -> Iterator[str]:
    required = schema.get("required") or ()
    for name, inner in schema["properties"].items():
        if isinstance(inner, Mapping) and inner.get("description"):
            yield f"{' ' * indent}// {inner['description']}"
        yield f"{' ' * indent}{name}{'' if name in required else '?'}: {_type(inner, indent)},"


def _type(schema: object, indent: int) -> str:
    if not isinstance(schema, Mapping):
        return "any"
    if schema.get("enum"):
        return " | ".join(
            json.dumps(value, ensure_ascii=False, default=str) for value in schema["enum"]
        )
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        return " | ".join(_type(option, indent) for option in options)
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(_NAMES.get(one, "any") for one in kind)
    if kind == "array":
        return f"{_type(schema.get('items'), indent)}[]"
    if kind == "object" and schema.get("properties"):
        return "\n".join(["{", *_properties(schema, indent + 2), " " * indent + "}"])
    return "object" if kind == "object" else _NAMES.get(str(kind), "any")


def _is_bare(function: Mapping[str, Any]) -> bool:
    properties = (function.get("parameters") or {}).get("properties") or {}
    first = next(iter(properties.values()), None)
    return first is not None and not (isinstance(first, Mapping) and first.get("description"))


def _is_plain(function: Mapping[str, object]) -> bool:
    """Whether recorded calls cover all that is in the definition."""
    return "\n" not in str(function.get("description") or "") and _is_plain_schema(
        function.get("parameters") or {}
    )


def _is_plain_schema(schema: object) -> bool:
    if (
        not isinstance(schema, Mapping)
        or not set(schema) <= _PLAIN
        or not isinstance(schema.get("type", ""), str)
    ):
        return False
    inner = [
        *(schema.get("properties") or {}).values(),
        *([schema["items"]] if "items" in schema else []),
    ]
    return all(map(_is_plain_schema, inner))
