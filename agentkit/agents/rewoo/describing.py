"""How an action is described to a planner: name, purpose and parameters, from the function's signature and docstring."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, overload

from agentkit.core.tools.signature import NOTHING, name_of, parameters_of

F = TypeVar("F", bound=Callable[..., object])
Description = dict[str, Any]

_ROLE = re.compile(r":[\w:]{1,40}:`([^`\n]{1,200})`")
_SECTION = re.compile(
    r"(Args|Arguments|Parameters|Params|Returns|Return|Raises|Yields|Examples?|Notes?|Attributes|Warnings?):\s*"
)
_TAKEN, _GIVEN = ("Args", "Arguments", "Parameters", "Params"), ("Returns", "Return")
_ITEM = re.compile(r"\*{0,2}(\w+)\s*(?:\(([^)\n]*)\))?\s*:\s*(.*)")
_RETURNED = re.compile(r"(?:\(([^)\n]*)\)|([\w.\[\], |]+))?\s*:\s*(.*)")
_WORDS = (("list", "Array"), ("str", "STRING"), ("float", "FLOAT"), ("int", "NUMBER"), ("bool", "BOOLEAN"), ("dict", "OBJECT"))
_KINDS: Mapping[type, str] = {
    bool: "BOOLEAN", int: "NUMBER", float: "FLOAT", str: "STRING",
    list: "Array", tuple: "Array", set: "Array", frozenset: "Array", dict: "OBJECT",
}  # fmt: skip


@overload
def tool_api(func: F) -> F: ...
@overload
def tool_api(func: None = None, *, explode_return: bool = False, returns_named_value: bool = False) -> Callable[[F], F]: ...
def tool_api(func: F | None = None, *, explode_return: bool = False, returns_named_value: bool = False) -> F | Callable[[F], F]:
    """Mark a method as a tool and attach its description as `api_description`.

    `explode_return` describes the items that the docstring lists under Returns, `returns_named_value` its named values, as
    `return_data`. Docstrings are read in Google's style.
    """

    def described(function: F) -> F:
        vars(function)["api_description"] = describe(function, explode_return, returns_named_value)
        return function

    return described(func) if callable(func) else described


def describe(function: Callable[..., object], explode_return: bool = False, returns_named_value: bool = False) -> Description:
    """The function as `{"name", "description", "parameters", "required"}`; annotations win over the docstring."""
    sections = dict(_sections(inspect.getdoc(function) or ""))
    documented = {name: (kind, text) for heading in _TAKEN for name, kind, text in _items(sections.get(heading, ""))}
    taken = [
        each for each in parameters_of(function)
        if each.name != "self" and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
    ]  # fmt: skip
    made: Description = {
        "name": name_of(function),
        "description": sections[""],
        "parameters": [_parameter(each, documented.get(each.name, ("", ""))) for each in taken],
        "required": [each.name for each in taken if each.default is NOTHING],
    }
    given = next((sections[heading] for heading in _GIVEN if heading in sections), "")
    data = _exploded(given) if explode_return else _named(given) if returns_named_value else []
    return made | ({"return_data": data} if data else {})


def text_of_class(cls: type) -> str:
    """The first part of the class's own docstring."""
    return dict(_sections(inspect.cleandoc(cls.__dict__.get("__doc__") or "")))[""]


def _sections(doc: str) -> Iterator[tuple[str, str]]:
    """(heading, text); the text before the first heading has the heading ""."""
    heading, lines = "", list[str]()
    for line in _ROLE.sub(r"\1", doc).splitlines():
        found = _SECTION.fullmatch(line)
        if found:
            yield heading, _block(lines)
            heading, lines = found[1], []
        else:
            lines.append(line)
    yield heading, _block(lines)


def _block(lines: list[str]) -> str:
    return inspect.cleandoc("\n" + "\n".join(lines)).strip()


def _items(block: str) -> Iterator[tuple[str, str, str]]:
    """(name, type, text) of `name (type): text`; lines that are indented more go on with the text."""
    for entry in _entries(block):
        found = _ITEM.fullmatch(entry[0])
        if found:
            yield found[1], found[2] or "", "\n".join([found[3], *entry[1:]]).strip()


def _entries(block: str) -> Iterator[list[str]]:
    entry: list[str] = []
    for line in filter(str.strip, block.splitlines()):
        if line[0].isspace() and entry:
            entry.append(line.strip())
            continue
        if entry:
            yield entry
        entry = [line.strip()]
    if entry:
        yield entry


def _parameter(parameter: inspect.Parameter, documented: tuple[str, str]) -> dict[str, str]:
    kind, text = documented
    annotation = parameter.annotation
    if get_origin(annotation) is Annotated:
        annotation, *extras = get_args(annotation)
        text = next((extra for extra in extras if isinstance(extra, str)), text)
    named = type_named(kind) if annotation is NOTHING else type_of(annotation)
    return {"name": parameter.name, "type": named, "description": text}


def type_of(annotation: object) -> str:
    """lagent's word for an annotation: STRING, NUMBER (int), FLOAT, BOOLEAN, Array or OBJECT; STRING where there is none."""
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
    return next((word for kind, word in _KINDS.items() if isinstance(plain, type) and issubclass(plain, kind)), "STRING")


def type_named(text: str) -> str:
    """The same for a type as docstrings write it."""
    lowered = text.lower()
    return next((word for part, word in _WORDS if part in lowered), "STRING")


def _exploded(block: str) -> list[dict[str, str]]:
    """The items of a list under Returns: `* name (type): text`."""
    listed = [line.strip().lstrip("-+*#. ") for line in block.splitlines()[1:]]
    return [_returned(name, kind, text) for name, kind, text in _items("\n".join(listed))]


def _named(block: str) -> list[dict[str, str]]:
    return [_returned(name, kind, text) for name, kind, text in _items(block)] or [
        _returned("", found[1] or found[2] or "", found[3]) for found in map(_RETURNED.fullmatch, block.splitlines()) if found
    ]


def _returned(name: str, kind: str, text: str) -> dict[str, str]:
    made = {"name": name, "description": text, "type": type_named(kind) if kind else ""}
    return {key: value for key, value in made.items() if value or key == "description"}
