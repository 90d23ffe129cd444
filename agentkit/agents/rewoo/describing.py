"""How an action is described to a planner: name, purpose and parameters, from the function's
signature and docstring.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from operator import attrgetter
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    Self,
    TypeVar,
    Union,
    get_args,
    get_origin,
    overload,
)

from agentkit.core.given import coalesce, find_value, list_missing
from agentkit.core.tools.signature import NOTHING, name_of, parameters_of
from agentkit.messages import text_or_empty

F = TypeVar("F", bound=Callable[..., object])
Description = dict[str, Any]

_ROLE = re.compile(r":[\w:]{1,40}:`([^`\n]{1,200})`")
_ITEM = re.compile(r"\*{0,2}(\w+)\s*(?:\(([^)\n]*)\))?\s*:\s*(.*)")
_LISTED = re.compile(r"[-+*#]")
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
    doc = _Doc.read(inspect.getdoc(function))
    made: Description = {
        "name": name_of(function),
        "description": doc.purpose,
        "parameters": [],
        "required": [],
    }
    for each in filter(_is_described, parameters_of(function)):
        made["parameters"].append(_describe_parameter(each, doc.find(each.name)))
        if each.default is NOTHING:
            made["required"].append(each.name)
    if explode_return:
        made["return_data"] = _read_list(doc)
    elif returns_named_value:
        made["return_data"] = _read_named_values(doc)
    if not made.get("return_data"):
        made.pop("return_data", None)
    return made


_COLLECTING = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _is_described(parameter: inspect.Parameter) -> bool:
    if parameter.name == "self":
        return False
    return parameter.kind not in _COLLECTING


def read_purpose(cls: type) -> str:
    """The first part of the class's own docstring."""
    return _Doc.read(vars(cls).get("__doc__")).purpose


class _Named(NamedTuple):
    """What a docstring says of a parameter or of a value; empty where it says nothing."""

    name: str = ""
    kind: str = ""
    text: str = ""

    @classmethod
    def read(cls, *parts: str | None) -> Self:
        return cls(*map(text_or_empty, parts))


@dataclass(frozen=True, slots=True)
class _Doc:
    """A docstring in its parts."""

    purpose: str = ""
    parameters: tuple[_Named, ...] = ()
    returned: tuple[_Named, ...] = ()

    @classmethod
    def read(cls, text: str | None) -> Self:
        """All of it is the purpose where no style fits."""
        from docstring_parser import ParseError, parse

        plain = _ROLE.sub(r"\1", inspect.cleandoc(coalesce(text, "")))
        try:
            doc = parse(plain)
        # An underline of NumPy's with nothing under it is an IndexError.
        except (ParseError, LookupError, ValueError):
            return cls(plain.strip())
        purpose = text_or_empty(doc.description).strip()
        taken = map(attrgetter("arg_name", "type_name", "description"), doc.params)
        returned = map(attrgetter("return_name", "type_name", "description"), doc.many_returns)
        return cls(
            purpose, tuple(starmap(_Named.read, taken)), tuple(starmap(_Named.read, returned))
        )

    def find(self, name: str) -> _Named:
        """What it says of the parameter of this name."""
        by_name = {each.name: each for each in self.parameters}
        return by_name.get(name, _Named(name))


def _describe_parameter(parameter: inspect.Parameter, documented: _Named) -> dict[str, str]:
    described = {
        "name": parameter.name,
        "type": parse_type(documented.kind),
        "description": documented.text,
    }
    if parameter.annotation is not NOTHING:
        described["type"] = type_of(parameter.annotation)
    for extra in getattr(parameter.annotation, "__metadata__", ()):  # of Annotated
        if isinstance(extra, str):
            described["description"] = extra
            break
    return described


def type_of(annotation: object) -> str:
    """lagent's word for an annotation: STRING, NUMBER (int), FLOAT, BOOLEAN, Array or OBJECT;
    STRING where there is none.
    """
    if isinstance(annotation, str):  # a name that is unknown here
        return parse_type(annotation)
    origin = get_origin(annotation)
    find = _FORMS.get(origin)
    if find is None:
        return _find_word(coalesce(origin, annotation))
    return find(get_args(annotation))


def _find_of_annotated(args: Sequence[object]) -> str:
    return type_of(args[0])


def _find_of_union(args: Sequence[object]) -> str:
    return _agree_on_word(list_missing(args, [types.NoneType]))


def _find_of_literal(args: Sequence[object]) -> str:
    return _agree_on_word(map(type, args))


_FORMS: Mapping[object, Callable[[Sequence[object]], str]] = {
    Annotated: _find_of_annotated,
    Union: _find_of_union,
    types.UnionType: _find_of_union,
    Literal: _find_of_literal,
}
"""The words for what is made of several types, by what it is made with."""


def _find_word(plain: object) -> str:
    if not isinstance(plain, type):
        return "STRING"
    words = map(_KINDS.get, inspect.getmro(plain))
    return next(filter(None, words), "STRING")


def _agree_on_word(annotations: Iterable[object]) -> str:
    """The word on which all parts of an annotation agree, else STRING."""
    words = set(map(type_of, annotations))
    if len(words) != 1:
        return "STRING"
    return words.pop()


def parse_type(text: str) -> str:
    """The same for a type as docstrings write it."""
    lowered = text.lower()
    return find_value(_WORDS, lambda part: part in lowered, "STRING")


def _read_list(doc: _Doc) -> list[dict[str, str]]:
    """The items of a list under Returns: `* name (type): text`."""
    first = next(iter(doc.returned), _Named())
    listed = filter(_LISTED.match, first.text.splitlines())
    return _read_items(line.lstrip("-+*#. ") for line in listed)


def _read_named_values(doc: _Doc) -> list[dict[str, str]]:
    """The values under Returns: `name (type): text`; where no line has this form, the values as the
    docstring's style gives them.
    """
    text = "\n".join(map(attrgetter("text"), doc.returned))
    found = _read_items(text.splitlines())
    return found or list(map(_describe_value, doc.returned))


def _read_items(lines: Iterable[str]) -> list[dict[str, str]]:
    """The lines of the form `name (type): text`; others are left out."""
    found = filter(None, map(_ITEM.fullmatch, lines))
    return [_describe_value(_Named.read(*item.groups())) for item in found]


def _describe_value(value: _Named) -> dict[str, str]:
    """A returned value; its name and its type only where they are known."""
    described: dict[str, str] = {}
    if value.name:
        described["name"] = value.name
    described["description"] = value.text
    if value.kind:
        described["type"] = parse_type(value.kind)
    return described
