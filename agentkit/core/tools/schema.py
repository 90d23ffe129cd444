"""The description of a function that a model is given: an OpenAI tool with the parameters as JSON
schema.
"""

from __future__ import annotations

import inspect
import json
import logging
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from itertools import filterfalse, repeat
from operator import ne
from typing import Any

from agentkit.core.tools.signature import NOTHING, name_of, parameters_of
from agentkit.errors import WrongArgument, WrongType

log = logging.getLogger(__name__)

Schema = dict[str, Any]
DEFINITIONS = "#/$defs/"


def function_schema(
    f: Callable[..., object], *, name: str | None = None, description: str
) -> Schema:
    """The tool `f` as `{"type": "function", "function": {"description", "name", "parameters"}}`.

    A parameter is described by the text in `Annotated[T, "text"]`, by the `description` of a field
    in it, or else by its name. Types that are used by reference stand under `$defs` of
    `parameters`. `*args` cannot be given by name and is left out; `**kwargs` becomes
    `additionalProperties`. Raises WrongType when an annotation is missing, cannot be resolved or
    has no JSON schema, and WrongArgument when a description is not a text.
    """
    tool = name or name_of(f)
    parameters = _select_annotated(parameters_of(f), tool)
    return {
        "type": "function",
        "function": {
            "description": description,
            "name": tool,
            "parameters": _parameters_schema(filterfalse(_is_unnamed, parameters), tool),
        },
    }


def _select_annotated(parameters: list[inspect.Parameter], tool: str) -> list[inspect.Parameter]:
    """The parameters that have an annotation; the others must have a default and are hidden from
    the model.
    """
    bare = list(filter(_is_bare, parameters))
    missing = list(filter(_is_required, bare))
    if missing:
        raise WrongType(
            f"The tool '{tool}' does not tell the types of all its parameters: annotate"
            f" {_list_names(missing)}, for example"
            ' `city: Annotated[str, "the name of the city"]`.'
        )
    if bare:
        log.warning(
            "The tool '%s' hides %s from the model: annotate what the model may set.",
            tool,
            _list_names(bare),
        )
    return list(filterfalse(_is_bare, parameters))


def _is_bare(parameter: inspect.Parameter) -> bool:
    return parameter.annotation is NOTHING


def _is_required(parameter: inspect.Parameter) -> bool:
    return parameter.default is NOTHING


def _is_unnamed(parameter: inspect.Parameter) -> bool:
    return parameter.kind is parameter.VAR_POSITIONAL


def _list_names(parameters: Iterable[inspect.Parameter]) -> str:
    return ", ".join(f"'{parameter.name}'" for parameter in parameters)


def _parameters_schema(parameters: Iterable[inspect.Parameter], tool: str) -> Schema:
    definitions: dict[str, Schema] = {}
    properties: dict[str, Schema] = {}
    required: list[str] = []
    whole: Schema = {"type": "object", "properties": properties, "required": required}
    for parameter in parameters:
        name = parameter.name
        schema = _share_definitions(_type_schema(parameter, tool), definitions, name)
        if parameter.kind is parameter.VAR_KEYWORD:
            whole["additionalProperties"] = schema
            continue
        description = {"description": _find_description(parameter, tool)}
        properties[name] = schema | _to_default(parameter.default) | description
        if _is_required(parameter):
            required.append(name)
    if definitions:
        whole["$defs"] = definitions
    return with_items(whole)


def with_items(schema: Schema) -> Schema:
    """A copy in which each array says what its items are: servers refuse those that do not."""
    made = dict(schema)
    left: list[Any] = [made]
    while left:
        node = left.pop()
        places = node.items() if isinstance(node, dict) else enumerate(node)
        for key, value in list(places):
            if isinstance(value, dict | list):
                node[key] = copy(value)
                left.append(node[key])
        if isinstance(node, dict) and node.get("type") == "array":
            node.setdefault("items", _join_items(node.get("prefixItems", ())))
    return made


def _join_items(items: Iterable[Schema]) -> Schema:
    """What any of the items may be."""
    different = list({json.dumps(item, sort_keys=True): item for item in items}.values())
    if len(different) < 2:
        return next(iter(different), {})
    return {"anyOf": different}


def _type_schema(parameter: inspect.Parameter, tool: str) -> Schema:
    from pydantic import PydanticUserError, TypeAdapter

    where = f"The tool '{tool}': parameter '{parameter.name}' is annotated with"
    if isinstance(parameter.annotation, str):
        raise WrongType(
            f"{where} {parameter.annotation}, where a name is unknown; define or import it before"
            " the function."
        )
    try:
        return TypeAdapter(parameter.annotation).json_schema()
    except (PydanticUserError, NameError) as error:
        kind = inspect.formatannotation(parameter.annotation)
        why = str(error).partition("\n")[0].rstrip(".")
        raise WrongType(
            f"{where} {kind}, which has no JSON schema ({why}); use a plain type or a pydantic"
            " model."
        ) from error


def _to_default(value: object) -> Schema:
    """The default as JSON; one that has no JSON form is left out, as NOTHING is."""
    from pydantic_core import to_jsonable_python

    try:
        value = to_jsonable_python(value)
        json.dumps(value, allow_nan=False)  # infinity is refused by every server
    except ValueError:
        return {}
    return {"default": value}


def _find_description(parameter: inspect.Parameter, tool: str) -> str:
    extras = getattr(parameter.annotation, "__metadata__", ())  # of Annotated
    for extra in extras:
        text = getattr(extra, "description", extra)
        if isinstance(text, str):
            return text
    if extras and type(extras[0]).__module__ == "builtins":
        raise WrongArgument(
            f"The tool '{tool}': parameter '{parameter.name}' has the description {extras[0]!r}; a"
            " description must be a text."
        )
    return parameter.name


def _share_definitions(schema: Schema, definitions: dict[str, Schema], parameter: str) -> Schema:
    """Move the schema's `$defs` to the shared ones: `#/$defs/X` means the top of the document, not
    the parameter's place.
    """
    own: dict[str, Schema] = _tidy(schema.pop("$defs", {}), {})
    known = map(definitions.get, own, own.values())
    clash = any(map(ne, known, own.values()))
    names = {}
    if clash:
        names = {name: f"{parameter}_{name}" for name in own}
    tidied_own = map(_tidy, own.values(), repeat(names))
    definitions.update(zip(map(names.get, own, own), tidied_own, strict=True))
    tidied: Schema = _tidy(schema, names)
    return tidied


def _tidy(node: object, names: dict[str, str]) -> Any:
    """The schema with references renamed and without `additionalProperties: true`, which pydantic
    >= 2.11 adds to `dict`.
    """
    return _TIDYING.get(type(node), _leave)(node, names)


def _tidy_list(items: list[Any], names: dict[str, str]) -> list[Any]:
    return list(map(_tidy, items, repeat(names)))


def _tidy_object(node: Schema, names: dict[str, str]) -> Schema:
    tidied = dict(zip(node, map(_tidy, node.values(), repeat(names)), strict=True))
    if isinstance(node.get("$ref"), str):
        target = node["$ref"].removeprefix(DEFINITIONS)
        tidied["$ref"] = DEFINITIONS + names.get(target, target)
    if node.get("additionalProperties") is True and "properties" not in node:
        del tidied["additionalProperties"]
    return tidied


def _leave(node: object, names: dict[str, str]) -> object:
    return node


_TIDYING: Mapping[type, Callable[[Any, dict[str, str]], object]] = {
    list: _tidy_list,
    dict: _tidy_object,
}
