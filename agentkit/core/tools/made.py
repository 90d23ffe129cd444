"""Tools that are no functions of this process: called with what a model gave, told by a schema."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from agentkit.core.tools.effects import Effects
from agentkit.core.tools.schema import Schema

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
"""Of a tool with an argument whose name is none of Python's."""


def make_tool(
    name: str,
    description: str,
    parameters: Schema,
    call: Callable[[dict[str, Any]], str],
    *,
    effects: Effects = "some",
    allowed_as: str = "",
) -> Callable[..., str]:
    """A function of that name that hands on what it is given by name.

    `parameters` is the JSON schema that a model is told; `allowed_as` says under which name a
    permission for always counts, its own when it is empty.
    """

    def tool(*args: Any, **given: Any) -> str:
        bound = signature.bind(*args, **given).arguments
        return call({**bound, **bound.pop("given", {})} if signature is _ANY else dict(bound))

    signature = _make_signature(parameters)
    tool.__name__ = tool.__qualname__ = name
    tool.__doc__ = description
    permit = allowed_as or name
    vars(tool).update(effects=effects, allowed_as=permit, parameters=parameters)
    vars(tool)["__signature__"] = signature
    return tool


def schema_of(tool: Callable[..., object]) -> Schema | None:
    """The JSON schema of the parameters, where the tool was made with one."""
    return getattr(tool, "parameters", None)


def allowed_as(tool: Callable[..., object] | None, name: str) -> str:
    """Under which name a permission for always counts: the tool's own word for it, else `name`."""
    return str(getattr(tool, "allowed_as", name))


def _make_signature(parameters: Schema) -> inspect.Signature:
    """The same as a signature, what is needed first."""
    properties = dict(parameters.get("properties", {}))
    if not all(map(str.isidentifier, properties)):
        return _ANY
    needed = [one for one in parameters.get("required", ()) if one in properties]
    made = {name: _make_parameter(name, properties.pop(name)) for name in dict.fromkeys(needed)}
    rest = {name: _make_parameter(name, one, None) for name, one in properties.items()}
    return inspect.Signature([*made.values(), *rest.values()])


def _make_parameter(
    name: str, schema: object, default: object = inspect.Parameter.empty
) -> inspect.Parameter:
    kind = schema.get("type") if isinstance(schema, dict) else None
    annotation = _KINDS.get(str(kind), Any)
    return inspect.Parameter(name, _PLACE, default=default, annotation=annotation)
