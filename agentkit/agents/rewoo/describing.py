"""How an action is described to a planner: name, purpose and parameters, from the function's
signature and docstring.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, overload

from docstring_parser import Docstring, DocstringParam, ParseError, parse

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
    doc = _read(inspect.getdoc(function) or "")
    documented = {each.arg_name: each for each in doc.params}
    taken = list(filter(_is_described, parameters_of(function)))
    made: Description = {
        "name": name_of(function),
        "description": (doc.description or "").strip(),
        "parameters": [_describe_parameter(each, documented.get(each.name)) for each in taken],
        "required": [each.name for each in taken if each.default is NOTHING],
    }
    data = []
    if explode_return:
        data = _read_list(doc)
    elif returns_named_value:
        data = _read_named_values(doc)
    return made | {"return_data": data} if data else made


def _is_described(parameter: inspect.Parameter) -> bool:
    variadic = (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    return parameter.name != "self" and parameter.kind not in variadic


def read_purpose(cls: type) -> str:
    """The first part of the class's own docstring."""
    return (_read(inspect.cleandoc(cls.__dict__.get("__doc__") or "")).description or "").strip()


def _read(text: str) -> Docstring:
    """The docstring in its parts; all of it is the description where no style fits."""
    plain = _ROLE.sub(r"\1", text)
    try:
        return parse(plain)
    # An underline of NumPy's with nothing under it is an IndexError.
    except (ParseError, LookupError, ValueError):
        whole = Docstring()
        whole.short_description = plain
        return whole


def _describe_parameter(
    parameter: inspect.Parameter, documented: DocstringParam | None
) -> dict[str, str]:
    described = {"name": parameter.name, "type": "STRING", "description": ""}
    if documented is not None:
        described["type"] = parse_type(documented.type_name or "")
        described["description"] = documented.description or ""
    if parameter.annotation is not NOTHING:
        described["type"] = type_of(parameter.annotation)
    extras = getattr(parameter.annotation, "__metadata__", ())  # of Annotated
    texts = [extra for extra in extras if isinstance(extra, str)]
    if texts:
        described["description"] = texts[0]
    return described


def type_of(annotation: object) -> str:
    """lagent's word for an annotation: STRING, NUMBER (int), FLOAT, BOOLEAN, Array or OBJECT;
    STRING where there is none.
    """
    if isinstance(annotation, str):  # a name that is unknown here
        return parse_type(annotation)
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return type_of(args[0])
    if origin in (Union, types.UnionType):
        return _agree_on_word(each for each in args if each is not type(None))
    if origin is Literal:
        return _agree_on_word(map(type, args))
    return _find_word(origin or annotation)


def _find_word(plain: object) -> str:
    bases = plain.__mro__ if isinstance(plain, type) else ()
    return next((_KINDS[base] for base in bases if base in _KINDS), "STRING")


def _agree_on_word(annotations: Iterable[object]) -> str:
    """The word on which all parts of an annotation agree, else STRING."""
    words = set(map(type_of, annotations))
    return words.pop() if len(words) == 1 else "STRING"


def parse_type(text: str) -> str:
    """The same for a type as docstrings write it."""
    lowered = text.lower()
    for part, word in _WORDS:
        if part in lowered:
            return word
    return "STRING"


def _read_list(doc: Docstring) -> list[dict[str, str]]:
    """The items of a list under Returns: `* name (type): text`."""
    text = (doc.returns and doc.returns.description) or ""
    listed = filter(_LISTED.match, text.splitlines())
    return _read_items(line.lstrip("-+*#. ") for line in listed)


def _read_named_values(doc: Docstring) -> list[dict[str, str]]:
    """The values under Returns: `name (type): text`; where no line has this form, the values as the
    docstring's style gives them.
    """
    lines: list[str] = []
    values: list[dict[str, str]] = []
    for each in doc.many_returns:
        text = each.description or ""
        lines += text.splitlines()
        values.append(_describe_value(each.return_name, each.type_name, text))
    return _read_items(lines) or values


def _read_items(lines: Iterable[str]) -> list[dict[str, str]]:
    """The lines of the form `name (type): text`; others are left out."""
    found = filter(None, map(_ITEM.fullmatch, lines))
    return [_describe_value(*item.groups()) for item in found]


def _describe_value(name: str | None, kind: str | None, text: str) -> dict[str, str]:
    """A returned value; its name and its type only where they are known."""
    described: dict[str, str] = {}
    if name:
        described["name"] = name
    described["description"] = text
    if kind:
        described["type"] = parse_type(kind)
    return described
