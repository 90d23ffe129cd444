"""The forms in which fields are given: a JSON schema, a pydantic class, or a short list in
words.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

from agentkit.errors import ConfigError
from agentkit.teams.extraction.json_schema import parse_fields
from agentkit.teams.extraction.schema import Field, Schema
from agentkit.teams.extraction.value_types import Kind

_KINDS: dict[str, Kind] = {
    **{kind: kind for kind in get_args(Kind)},
    "text": "string",
    "str": "string",
    "decimal": "number",
    "float": "number",
    "amount": "number",
    "int": "integer",
    "whole number": "integer",
    "bool": "boolean",
    "yes/no": "boolean",
    "array": "list",
    "texts": "list",
}
_CLASS = re.compile(r"(?P<place>[^\s,;()]+):(?P<name>[A-Za-z_]\w*)")
_ITEM = re.compile(
    r"(?P<name>[^():]+?) ?(?:\((?P<kind>[^()]*)\))? ?(?:: ?(?P<meaning>.*))?", re.DOTALL
)
_BRACKET = re.compile("([()])")
_SEPARATOR = re.compile(r"[;\n]")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")


def load_schema(given: str) -> Schema:
    """The schema in a .json file, of a pydantic class (`module:Class`, `file.py:Class`), or in the
    text itself.

    Naming a class runs the code of its module. Raises ConfigError that says what cannot be read,
    and why.
    """
    stated = given.strip()
    is_file = stated.lower().endswith(".json") and "\n" not in given
    if is_file:
        path = Path(stated).expanduser()
        return _read_file(path)
    found = _CLASS.fullmatch(stated)
    if found is None:
        return from_text(given)
    known = _find_class(found["place"], found["name"])
    return from_class(known)


def from_text(text: str) -> Schema:
    """A JSON schema as text, or a list of fields: `invoice number, date (date), total (number,
    required): the sum with tax`.

    In brackets stand the type (text, number, integer, boolean, date, list, or the possible values
    as `open|paid`) and `required`. Fields are separated by lines or semicolons where there are any,
    else by commas. Raises ConfigError.
    """
    if text.lstrip().startswith("{"):
        described = _decode(text, "The schema")
        return from_json_schema(described)
    fields = map(_parse_item, _split_fields(text))
    return Schema(tuple(fields))


def from_json_schema(schema: object) -> Schema:
    """The fields of a JSON schema for an object; raises ConfigError for what no table can hold."""
    title = None
    if isinstance(schema, Mapping):
        title = schema.get("title")
    return Schema(parse_fields(schema), str(title or ""))


def from_class(given: object) -> Schema:
    """The fields of a pydantic class, which checks the values afterwards; raises ConfigError for
    any other class.
    """
    from pydantic import BaseModel
    from pydantic.errors import PydanticUserError

    if not (isinstance(given, type) and issubclass(given, BaseModel)):
        raise ConfigError(
            f"{given!r:.100} is not a pydantic class; name a class that derives from"
            " pydantic.BaseModel."
        )
    try:
        described = given.model_json_schema()
    except PydanticUserError as error:
        raise ConfigError(f"{given.__name__} has no JSON schema: {error.message}") from error
    return Schema(parse_fields(described), given.__name__, given)


def _read_file(path: Path) -> Schema:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"The schema {path} cannot be read ({error}); name a file with a JSON schema."
        ) from error
    return from_json_schema(_decode(text, str(path)))


def _decode(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ConfigError(f"{name} is not valid JSON ({error}); correct it there.") from error


def _find_class(place: str, name: str) -> Any:
    try:
        module = _import_module(place)
    except Exception as error:
        raise ConfigError(
            f"{place} cannot be imported ({type(error).__name__}: {error}); a pydantic class is"
            " named as `module:Class` or `file.py:Class`. In a list of fields put a blank behind"
            " the colon."
        ) from error
    if not hasattr(module, name):
        raise ConfigError(f"{place} has no {name!r}; name a pydantic class that is defined there.")
    return getattr(module, name)


def _import_module(place: str) -> ModuleType:
    if not place.endswith(".py"):
        return importlib.import_module(place)
    path = Path(place).expanduser().resolve()
    name = f"agentkit_schema_{path.stem}"
    described = importlib.util.spec_from_file_location(name, path)
    assert described is not None  # the name ends in .py
    assert described.loader is not None
    module = importlib.util.module_from_spec(described)
    sys.modules[name] = module  # where pydantic looks the names in annotations up
    try:
        described.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return module


def _split_fields(text: str) -> list[str]:
    if not _SEPARATOR.search(text.strip()):
        text = _break_at_commas(text)
    parts = (_BULLET.sub("", part).strip(" \t\r\n.") for part in _SEPARATOR.split(text))
    return list(filter(None, parts))


def _break_at_commas(text: str) -> str:
    """The text with a new line for each comma that stands in no brackets."""
    pieces = _BRACKET.split(text)  # text and brackets in turn
    for place in range(0, len(pieces), 2):
        if pieces[place + 1 : place + 2] != [")"]:
            pieces[place] = pieces[place].replace(",", "\n")
    return "".join(pieces)


def _parse_item(part: str) -> Field:
    found = _ITEM.fullmatch(" ".join(part.split()))
    if found is None:
        raise ConfigError(
            f"{part!r:.100} is not a field; write `name (type): what it means`, for example `total"
            " (number)`."
        )
    parts = found.groupdict("")
    name, described = parts["name"].strip(), parts["meaning"].strip()
    kinds, required = _parse_kinds(parts["kind"])
    match kinds:
        case [listed] if "|" in listed:
            choices = _split_choices(listed)
            return Field(name, "string", described, required, choices, path=(name,))
    kind = ", ".join(kinds).lower()
    if kind not in _KINDS:
        raise ConfigError(
            f"The field {name!r} has the unknown type {kind!r}; choose text,"
            " number, integer, boolean, date, list, or name the possible values as `open|paid`."
        )
    return Field(name, _KINDS[kind], described, required, path=(name,))


def _parse_kinds(listed: str) -> tuple[list[str], bool]:
    """The types that stand in the brackets, text where there are none; and whether the field is
    required.
    """
    words = list(filter(None, map(str.strip, listed.split(","))))
    kinds = [word for word in words if word.lower() not in ("required", "optional")]
    required = "required" in map(str.lower, words)
    return kinds or ["text"], required


def _split_choices(listed: str) -> tuple[str, ...]:
    """The values of `open|paid`, each once."""
    return tuple(dict.fromkeys(filter(None, map(str.strip, listed.split("|")))))
