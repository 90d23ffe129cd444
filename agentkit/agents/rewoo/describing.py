"""How an action is described to a planner: name, purpose and parameters, from the function's
signature and docstring.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, overload

from docstring_parser import Docstring, ParseError, parse

from agentkit.core.tools.signature import NOTHING, name_of, parameters_of

F = TypeVar("F", bound=Callable[..., object])
Description = dict[str, Any]

_ROLE = re.compile(r":[\w:]{1,40}:`([^`\n]{1,200})`")
_ITEM = re.compile(r"\*{0,2}(\w+)\s*(?:\(([^)\n]*)\))?\s*:\s*(.*)")
_WORDS = (
    ("list", "Array"),
    ("str", "STRING"),
    ("float", "FLOAT"),
    ("int", "NUMBER"),
    ("bool", "BOOLEAN"),
    ("dict", "OBJECT"),
)
_KINDS: Mapping[type, str] = {
    bool: "BOOLEAN",
    int: "NUMBER",
    float: "FLOAT",
    str: "STRING",
    list: "Array",
    tuple: "Array",
    set: "Array",
    frozenset: "Array",
    dict: "OBJECT",
}


@overload
def tool_api(func: F) -> F: ...
@overload
def tool_api(
    func: None = None, *, explode_return: bool = False, returns_named_value: bool = False
) -> Callable[[F], F]: ...
def tool_api(
    func: F | None = None, *, explode_return: bool = False, returns_named_value: bool = False
) -> F | Callable[[F], F]:
    """Mark a method as a tool and attach its description as `api_description`.

    `explode_return` describes the items that the docstring lists under Returns,
    `returns_named_value` its named values, as `return_data`. Docstrings may be in Google's style,
    which lagent reads, or in NumPy's or Sphinx's.
    """

    def described(function: F) -> F:
        vars(function)["api_description"] = describe(function, explode_return, returns_named_value)
        return function

    return described(func) if callable(func) else described


def describe(
    function: Callable[..., object], explode_return: bool = False, returns_named_value: bool = False
) -> Description:
    """The function as `{"name", "description", "parameters", "required"}`; annotations win over the
    docstring.
    """
    doc = _read(inspect.getdoc(function) or "")
    documented = {
        each.arg_name: (each.type_name or "", each.description or "") for each in doc.params
    }
    taken = [each for each in parameters_of(function) if _is_told(each)]
    made: Description = {
        "name": name_of(function),
        "description": (doc.description or "").strip(),
        "parameters": [_parameter(each, documented.get(each.name, ("", ""))) for each in taken],
        "required": [each.name for each in taken if each.default is NOTHING],
    }
    data = []
    if explode_return:
        data = _exploded(doc)
    elif returns_named_value:
        data = _named(doc)
    return made | ({"return_data": data} if data else {})


def _is_told(parameter: inspect.Parameter) -> bool:
    variadic = (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    return parameter.name != "self" and parameter.kind not in variadic


def text_of_class(cls: type) -> str:
    """The first part of the class's own docstring."""
    return (_read(inspect.cleandoc(cls.__dict__.get("__doc__") or "")).description or "").strip()


def _read(text: str) -> Docstring:
    """The docstring in its parts; all of it is the description where no style fits."""
    plain = _ROLE.sub(r"\1", text)
    try:
        return parse(plain)
    except (
        ParseError,
        LookupError,
        ValueError,
    ):  # an underline of NumPy's with nothing under it is an IndexError
        whole = Docstring()
        whole.short_description = plain
        return whole


def _parameter(parameter: inspect.Parameter, documented: tuple[str, str]) -> dict[str, str]:
    kind, text = documented
    annotation = parameter.annotation
    if get_origin(annotation) is Annotated:
        annotation, *extras = get_args(annotation)
        text = next((extra for extra in extras if isinstance(extra, str)), text)
    named = type_named(kind) if annotation is NOTHING else type_of(annotation)
    return {"name": parameter.name, "type": named, "description": text}


def type_of(annotation: object) -> str:
    """lagent's word for an annotation: STRING, NUMBER (int), FLOAT, BOOLEAN, Array or OBJECT;
    STRING where there is none.
    """
    if isinstance(annotation, str):  # a name that is unknown here
        return type_named(annotation)
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return type_of(args[0])
    if origin in (Union, types.UnionType):
        kinds = {type_of(each) for each in args if each is not type(None)}
        return kinds.pop() if len(kinds) == 1 else "STRING"
    if origin is Literal:
        kinds = {type_of(type(each)) for each in args}
        return kinds.pop() if len(kinds) == 1 else "STRING"
    plain = origin or annotation
    return next(
        (
            word
            for kind, word in _KINDS.items()
            if isinstance(plain, type) and issubclass(plain, kind)
        ),
        "STRING",
    )


def type_named(text: str) -> str:
    """The same for a type as docstrings write it."""
    lowered = text.lower()
    return next((word for part, word in _WORDS if part in lowered), "STRING")


def _exploded(doc: Docstring) -> list[dict[str, str]]:
    """The items of a list under Returns: `* name (type): text`."""
    text = (doc.returns and doc.returns.description) or ""
    return _items(line.lstrip("-+*#. ") for line in text.splitlines() if line[:1] in "-+*#")


def _named(doc: Docstring) -> list[dict[str, str]]:
    """The values under Returns: `name (type): text`, or else the one of which the type is told."""
    told = [
        (each.return_name or "", each.type_name or "", each.description or "")
        for each in doc.many_returns
    ]
    return _items(line for *_, text in told for line in text.splitlines()) or [
        _returned(*each) for each in told
    ]


def _items(lines: Iterable[str]) -> list[dict[str, str]]:
    return [
        _returned(found[1], found[2] or "", found[3])
        for found in map(_ITEM.fullmatch, lines)
        if found
    ]


def _returned(name: str, kind: str, text: str) -> dict[str, str]:
    made = {"name": name, "description": text, "type": type_named(kind) if kind else ""}
    return {key: value for key, value in made.items() if value or key == "description"}
