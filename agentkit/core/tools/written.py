"""A function that is only a text: what it takes and what it says of itself, read without running
it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from agentkit.core.given import list_missing
from agentkit.core.tools.schema import Schema
from agentkit.errors import WrongArgument

if TYPE_CHECKING:
    from docstring_parser import DocstringParam

LONGEST = 20_000
"""Characters of code."""
_PLAIN: Mapping[str, Schema] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "list": {"type": "array", "items": {}},
    "tuple": {"type": "array", "items": {}},
    "dict": {"type": "object"},
    "None": {"type": "null"},
    "Any": {},
}
_OLDER = {"List": "list", "Dict": "dict", "Tuple": "tuple"}
_TYPES = "str, int, float, bool, list[...], dict[str, ...], Literal[...], Annotated[..., 'text']"


@dataclass(frozen=True, slots=True)
class Written:
    """What a model is told of the function."""

    name: str
    description: str
    parameters: Schema


def read_function(code: str, name: str) -> Written:
    """The function of that name in the code; raises WrongArgument that says what is missing.

    The docstring is the description, and what it says of its arguments describes them, as does the
    text in `Annotated[T, "text"]`.
    """
    function = _find_function(_parse(code), name)
    description = ast.get_docstring(function)
    if not description:
        raise WrongArgument(f"{name} needs a docstring: it tells the model what it does.")
    given = function.args
    if given.vararg or given.kwarg or given.posonlyargs:
        raise WrongArgument(f"{name} must name all its parameters, without *, ** and /.")
    reading = _Reading(name, _read_told(description))
    properties = dict(map(reading.to_property, [*given.args, *given.kwonlyargs]))
    optional = _list_optional(given)
    needed = list_missing(properties, optional)
    parameters = {"type": "object", "properties": properties, "required": needed}
    return Written(name, description, parameters)


def find_only(code: str) -> str:
    """The name of the one function in the code that does not begin with `_`; empty where there are
    several, or none, or where the code cannot be read.
    """
    try:
        module = _parse(code)
    except WrongArgument:
        return ""
    functions = list(filter(_is_public, module.body))
    if len(functions) != 1:
        return ""
    name: str = attrgetter("name")(functions[0])
    return name


def _is_public(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef) and not node.name.startswith("_")


def rename_only(code: str, name: str) -> str:
    """The code in which that function is called so; as it is where there is no such one, or where
    nothing can be called so.
    """
    old = find_only(code)
    if not old or not name.isidentifier():
        return code
    line = re.compile(rf"^def\s+{old}\b", re.MULTILINE)
    return line.sub(f"def {name}", code, count=1)


def _list_optional(given: ast.arguments) -> set[str]:
    """The parameters that have a default."""
    count = len(given.args) - len(given.defaults)
    last = given.args[count:]
    named = compress(given.kwonlyargs, map(_is_given, given.kw_defaults))
    return set(map(attrgetter("arg"), [*last, *named]))


def _is_given(default: ast.expr | None) -> bool:
    return default is not None


def _parse(code: str) -> ast.Module:
    length = len(code)
    if length > LONGEST:
        raise WrongArgument(f"The code has {length:,} characters; it has {LONGEST:,} at most.")
    try:
        return ast.parse(code)
    except SyntaxError as error:
        line = error.lineno or 1
        raise WrongArgument(f"Line {line} is not Python: {error.msg}.") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise WrongArgument(f"The code cannot be read as Python: {error}.") from error


def _find_function(module: ast.Module, name: str) -> ast.FunctionDef:
    found: ast.stmt | None = None
    for one in module.body:
        if getattr(one, "name", "") == name:
            found = one
    if isinstance(found, ast.FunctionDef):
        return found
    told = f"There is no `def {name}(...)` in the code, at its left edge; it may not be async."
    raise WrongArgument(told)


def _read_told(description: str) -> dict[str, str]:
    """What the docstring says of arguments, by their names."""
    from docstring_parser import ParseError, parse

    try:
        told = parse(description).params
    except ParseError:
        return {}
    names = map(attrgetter("arg_name"), told)
    return dict(zip(names, map(_join_lines, told), strict=True))


def _join_lines(told: DocstringParam) -> str:
    return " ".join(str(told.description).split())


class _Unknown(Exception):
    """A type that has no schema; the text is how it is written."""


class _Reading:
    """Reads the parameters of one function."""

    def __init__(self, function: str, told: Mapping[str, str]) -> None:
        self._function, self._told = function, told

    def to_property(self, argument: ast.arg) -> tuple[str, Schema]:
        """The parameter's name and schema."""
        name, function = argument.arg, self._function
        if argument.annotation is None:
            told = f"{function} does not tell the type of {name}; write for example {name}: str."
            raise WrongArgument(told)
        try:
            schema = _to_schema(argument.annotation)
        except _Unknown as error:
            told = f"{function}: the type of {name}, {error}, is unknown; there are {_TYPES}."
            raise WrongArgument(told) from error
        return name, {"description": self._told.get(name, name), **schema}


def _to_schema(node: ast.expr) -> Schema:
    return _BY_NODE.get(type(node), _read_name)(node)


def _read_name(node: Any) -> Schema:
    name = _name(node)
    if name not in _PLAIN:
        raise _Unknown(ast.unparse(node))
    return dict(_PLAIN[name])


def _name(node: ast.expr) -> str:
    """Of `list`, and of `typing.List`, the last part, as it is called today."""
    last = str(getattr(node, "attr", getattr(node, "id", "")))
    return _OLDER.get(last, last)


def _read_constant(node: ast.Constant) -> Schema:
    """None, or a type that is written as a text."""
    if node.value is None:
        return dict(_PLAIN["None"])
    text = str(node.value)
    try:
        return _to_schema(ast.parse(text, mode="eval").body)
    except SyntaxError as error:
        raise _Unknown(repr(text)) from error


def _read_either(node: ast.BinOp) -> Schema:
    return {"anyOf": [_to_schema(node.left), _to_schema(node.right)]}


def _read_subscript(node: ast.Subscript) -> Schema:
    name = _name(node.value)
    if name not in _GENERIC:
        raise _Unknown(ast.unparse(node))
    return _GENERIC[name](getattr(node.slice, "elts", [node.slice]))


def _read_literal(parts: Sequence[ast.expr]) -> Schema:
    try:
        return {"enum": list(map(ast.literal_eval, parts))}
    except ValueError as error:
        raise _Unknown(ast.unparse(parts[0])) from error


def _read_annotated(parts: Sequence[ast.expr]) -> Schema:
    """The type, described by the text beside it."""
    schema = _to_schema(parts[0])
    text = getattr(parts[-1], "value", None)
    if isinstance(text, str):
        schema["description"] = text
    return schema


def _read_items(parts: Sequence[ast.expr]) -> Schema:
    return {"type": "array", "items": _to_schema(parts[0])}


def _read_values(parts: Sequence[ast.expr]) -> Schema:
    return {"type": "object", "additionalProperties": _to_schema(parts[-1])}


def _read_optional(parts: Sequence[ast.expr]) -> Schema:
    return {"anyOf": [_to_schema(parts[0]), dict(_PLAIN["None"])]}


def _read_union(parts: Sequence[ast.expr]) -> Schema:
    return {"anyOf": list(map(_to_schema, parts))}


_BY_NODE: Mapping[type, Callable[[Any], Schema]] = {
    ast.Constant: _read_constant,
    ast.BinOp: _read_either,
    ast.Subscript: _read_subscript,
}
_GENERIC: Mapping[str, Callable[[Sequence[ast.expr]], Schema]] = {
    "list": _read_items,
    "tuple": _read_items,
    "dict": _read_values,
    "Literal": _read_literal,
    "Optional": _read_optional,
    "Union": _read_union,
    "Annotated": _read_annotated,
}
