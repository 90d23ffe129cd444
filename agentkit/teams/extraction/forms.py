"""The forms in which fields are given: a JSON schema, a pydantic class, or a short list in
words.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

from agentkit.errors import ConfigError
from agentkit.teams.extraction.json_schema import fields_of
from agentkit.teams.extraction.schema import Field, Kind, Schema

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
_SIGN = re.compile("[(),]")


def load_schema(given: str) -> Schema:
    """The schema in a .json file, of a pydantic class (`module:Class`, `file.py:Class`), or in the
    text itself.

    Naming a class runs the code of its module. Raises ConfigError that says what cannot be read,
    and why.
    """
    if given.strip().lower().endswith(".json") and "\n" not in given:
        return _from_file(Path(given.strip()).expanduser())
    found = _CLASS.fullmatch(given.strip())
    if found:
        return from_class(_class(found["place"], found["name"]))
    return from_text(given)


def from_text(text: str) -> Schema:
    """A JSON schema as text, or a list of fields: `invoice number, date (date), total (number,
    required): the sum with tax`.

    In brackets stand the type (text, number, integer, boolean, date, list, or the possible values
    as `open|paid`) and `required`. Fields are separated by lines or semicolons where there are any,
    else by commas. Raises ConfigError.
    """
    if text.lstrip().startswith("{"):
        return from_json_schema(_parsed(text, "The schema"))
    return Schema(tuple(_item(part) for part in _parts(text)))


def from_json_schema(schema: object) -> Schema:
    """The fields of a JSON schema for an object; raises ConfigError for what no table can hold."""
    title = schema.get("title") if isinstance(schema, Mapping) else None
    return Schema(fields_of(schema), str(title or ""))


def from_class(given: object) -> Schema:
    """The fields of a pydantic class, which checks the values afterwards; raises ConfigError for
    any other class.
    """
    from pydantic import BaseModel
    from pydantic.errors import PydanticUserError

    if not (isinstance(given, type) and issubclass(given, BaseModel)):
        raise ConfigError(
            f"{given!r:.100} is no pydantic class; name a class that derives from"
            " pydantic.BaseModel."
        )
    try:
        described = given.model_json_schema()
    except PydanticUserError as error:
        raise ConfigError(f"{given.__name__} has no JSON schema: {error.message}") from error
    return Schema(fields_of(described), given.__name__, given)


def _from_file(path: Path) -> Schema:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"The schema {path} cannot be read ({error}); name a file with a JSON schema."
        ) from error
    return from_json_schema(_parsed(text, str(path)))


def _parsed(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ConfigError(f"{name} is not valid JSON ({error}); correct it there.") from error


def _class(place: str, name: str) -> Any:
    try:
        module = _module(place)
    except Exception as error:
        raise ConfigError(
            f"{place} cannot be imported ({type(error).__name__}: {error}); a pydantic class is"
            " named as `module:Class` or `file.py:Class`. In a list of fields put a blank behind"
            " the colon."
        ) from error
    if not hasattr(module, name):
        raise ConfigError(f"{place} has no {name!r}; name a pydantic class that is defined there.")
    return getattr(module, name)


def _module(place: str) -> ModuleType:
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


def _parts(text: str) -> list[str]:
    cut = re.split(r"[;\n]", text) if re.search(r"[;\n]", text.strip()) else _at_commas(text)
    parts = (re.sub(r"^\s*(?:[-*•]|\d+[.)])\s+", "", part).strip(" \t\r\n.") for part in cut)
    return [part for part in parts if part]


def _at_commas(text: str) -> Iterator[str]:
    """The text cut at the commas behind which no bracket is closed before another is opened."""
    signs = list(_SIGN.finditer(text))
    start, closes = 0, [False] * len(signs)
    for place in range(len(signs) - 2, -1, -1):
        following = signs[place + 1][0]
        closes[place] = following == ")" or (following == "," and closes[place + 1])
    for sign, inside in zip(signs, closes, strict=True):
        if sign[0] == "," and not inside:
            yield text[start : sign.start()]
            start = sign.end()
    yield text[start:]


def _item(part: str) -> Field:
    found = _ITEM.fullmatch(" ".join(part.split()))
    if found is None:
        raise ConfigError(
            f"{part!r:.100} is no field; write `name (type): what it means`, for example `total"
            " (number)`."
        )
    name, described = found["name"].strip(), (found["meaning"] or "").strip()
    words = [" ".join(word.split()) for word in (found["kind"] or "").split(",") if word.strip()]
    kinds = [word for word in words if word.lower() not in ("required", "optional")]
    required = "required" in [word.lower() for word in words]
    if not kinds:
        return Field(name, "string", described, required, path=(name,))
    if len(kinds) == 1 and "|" in kinds[0]:
        return Field(name, "string", described, required, _choices(kinds[0]), (name,))
    kind = kinds[0].lower()
    if len(kinds) > 1 or kind not in _KINDS:
        raise ConfigError(
            f"The field {name!r} has the unknown type {', '.join(kinds).lower()!r}; choose text,"
            " number, integer, boolean, date, list, or name the possible values as `open|paid`."
        )
    return Field(name, _KINDS[kind], described, required, path=(name,))


def _choices(listed: str) -> tuple[str, ...]:
    """The values of `open|paid`, each once."""
    return tuple(dict.fromkeys(choice.strip() for choice in listed.split("|") if choice.strip()))
