"""Tools other than functions of this process: called with what a model gave, told by a schema."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from keyword import iskeyword
from typing import Any

from agentkit.core.given import list_known, list_missing
from agentkit.core.tools.effects import Effects
from agentkit.core.tools.schema import Schema, with_items

_KINDS: Mapping[object, object] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list,
    "object": dict,
}
_PLACE = inspect.Parameter.POSITIONAL_OR_KEYWORD
_ANY = inspect.Signature([inspect.Parameter("given", inspect.Parameter.VAR_KEYWORD)])
"""Of a tool with an argument whose name Python does not allow."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a tool comes from, and what it is called there."""

    tool: str
    server: str = ""
    """Name of the MCP server that has it; empty for what runs here."""


def make_tool(
    name: str,
    description: str,
    parameters: Schema,
    call: Callable[[dict[str, Any]], str],
    *,
    effects: Effects = "some",
    allowed_as: str = "",
    origin: Origin | None = None,
) -> Callable[..., str]:
    """A function of that name that hands on what it is given by name.

    `parameters` is the JSON schema that a model is told; `allowed_as` says under which name a
    permission for always counts, its own when it is empty; `origin` is what people are told.
    """

    def tool(*args: Any, **given: Any) -> str:
        return call(bind(*args, **given))

    signature = _make_signature(parameters)
    bind = partial(_bind, signature)
    tool.__name__ = tool.__qualname__ = name
    tool.__doc__ = description
    told = with_items(parameters)
    vars(tool).update(effects=effects, parameters=told, origin=origin or Origin(name))
    if allowed_as:
        vars(tool)["allowed_as"] = allowed_as
    vars(tool)["__signature__"] = signature
    return tool


def schema_of(tool: Callable[..., object]) -> Schema | None:
    """The JSON schema of the parameters, where the tool was made with one."""
    return getattr(tool, "parameters", None)


def name_permission(tool: Callable[..., object] | None, name: str) -> str:
    """Under which name a permission for always counts: the tool's own word for it, else `name`."""
    return str(getattr(tool, "allowed_as", name))


def origin_of(tool: Callable[..., object] | None, name: str) -> Origin:
    """Where the tool comes from; a function of that name from here."""
    known = getattr(tool, "origin", None)
    return known if isinstance(known, Origin) else Origin(name)


def _bind(signature: inspect.Signature, /, *args: Any, **given: Any) -> dict[str, Any]:
    """The arguments by name; raises TypeError for those that do not fit."""
    bound = dict(signature.bind(*args, **given).arguments)
    return given if signature is _ANY else bound


def _make_signature(parameters: Schema) -> inspect.Signature:
    """The same as a signature, what is needed first."""
    properties = parameters.get("properties", {})
    are_names = all(map(_is_name, properties))
    if not are_names:
        return _ANY
    required = dict.fromkeys(parameters.get("required", ()))
    needed = list_known(required, properties)
    optional = list_missing(properties, needed)
    made = map(_make_parameter, needed, map(properties.get, needed))
    rest = map(_make_parameter, optional, map(properties.get, optional), repeat(None))
    return inspect.Signature([*made, *rest])


def _is_name(text: str) -> bool:
    """Whether it can be the name of a parameter."""
    return text.isidentifier() and not iskeyword(text)


def _make_parameter(
    name: str, schema: object, default: object = inspect.Parameter.empty
) -> inspect.Parameter:
    told = str(getattr(schema, "get", dict[str, str]().get)("type"))
    annotation = _KINDS.get(told, Any)
    return inspect.Parameter(name, _PLACE, default=default, annotation=annotation)
