"""How an action is described to a planner: name, purpose and parameters, from the function's
signature and docstring.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
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

from docstring_parser import ParseError, parse

from agentkit.core.tools.signature import NOTHING, name_of, parameters_of

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
    taken = list(filter(_is_described, parameters_of(function)))
    made: Description = {
        "name": name_of(function),
        "description": doc.purpose,
        "parameters": [_describe_parameter(each, doc.find(each.name)) for each in taken],
        "required": [each.name for each in taken if each.default is NOTHING],
    }
    data: list[dict[str, str]] = []
    if explode_return:
        data = _read_list(doc)
    elif returns_named_value:
        data = _read_named_values(doc)
    if data:
        made["return_data"] = data
    return made


def _is_described(parameter: inspect.Parameter) -> bool:
    if parameter.name == "self":
        return False
    return parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)


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
        return cls(*(part or "" for part in parts))


@dataclass(frozen=True, slots=True)
class _Doc:
    """A docstring in its parts."""

    purpose: str = ""
    parameters: tuple[_Named, ...] = ()
    returned: tuple[_Named, ...] = ()

    @classmethod
    def read(cls, text: str | None) -> Self:
        """All of it is the purpose where no style fits."""
        plain = _ROLE.sub(r"\1", inspect.cleandoc(text or ""))
        try:
            doc = parse(plain)
        # An underline of NumPy's with nothing under it is an IndexError.
        except (ParseError, LookupError, ValueError):
            return cls(plain.strip())
        purpose = _Named.read(doc.description).name.strip()
        taken = (
            _Named.read(each.arg_name, each.type_name, each.description) for each in doc.params
        )
        returned = (
            _Named.read(each.return_name, each.type_name, each.description)
            for each in doc.many_returns
        )
        return cls(purpose, tuple(taken), tuple(returned))

    def find(self, name: str) -> _Named | None:
        """What it says of the parameter of this name."""
        return {each.name: each for each in self.parameters}.get(name)


def _describe_parameter(parameter: inspect.Parameter, documented: _Named | None) -> dict[str, str]:
    described = {"name": parameter.name, "type": "STRING", "description": ""}
    if documented is not None:
        described["type"] = parse_type(documented.kind)
        described["description"] = documented.text
    if parameter.annotation is not NOTHING:
        described["type"] = type_of(parameter.annotation)
    extras = getattr(parameter.annotation, "__metadata__", ())  # of Annotated
    texts = [extra for extra in extras if isinstance(extra, str)]
    described["description"] = next(iter(texts), described["description"])
    return described


def type_of(annotation: object) -> str:
    """lagent's word for an annotation: STRING, NUMBER (int), FLOAT, BOOLEAN, Array or OBJECT;
    STRING where there is none.
    """
    if isinstance(annotation, str):  # a name that is unknown here
        return parse_type(annotation)
    origin, args = get_origin(annotation), get_args(annotation)
    find = _FORMS.get(origin)
    if find is None:
        return _find_word(origin or annotation)
    return find(args)


def _find_of_annotated(args: Sequence[object]) -> str:
    return type_of(args[0])


def _find_of_union(args: Sequence[object]) -> str:
    return _agree_on_word(arg for arg in args if arg is not type(None))


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
    bases = inspect.getmro(plain) if isinstance(plain, type) else ()
    return next(filter(None, map(_KINDS.get, bases)), "STRING")


def _agree_on_word(annotations: Iterable[object]) -> str:
    """The word on which all parts of an annotation agree, else STRING."""
    words = set(map(type_of, annotations))
    return words.pop() if len(words) == 1 else "STRING"


def parse_type(text: str) -> str:
    """The same for a type as docstrings write it."""
    lowered = text.lower()
    found = (word for part, word in _WORDS if part in lowered)
    return next(found, "STRING")


def _read_list(doc: _Doc) -> list[dict[str, str]]:
    """The items of a list under Returns: `* name (type): text`."""
    text = "\n".join(value.text for value in doc.returned[:1])
    listed = filter(_LISTED.match, text.splitlines())
    return _read_items(line.lstrip("-+*#. ") for line in listed)


def _read_named_values(doc: _Doc) -> list[dict[str, str]]:
    """The values under Returns: `name (type): text`; where no line has this form, the values as the
    docstring's style gives them.
    """
    lines = [line for value in doc.returned for line in value.text.splitlines()]
    return _read_items(lines) or list(map(_describe_value, doc.returned))


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
