"""What is known in advance about the fields of a reply, and the small mistakes that can be set
right with it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from itertools import repeat
from typing import Any

from agentkit.core.given import list_missing
from agentkit.errors import ResponseParsingError, WrongType
from agentkit.parsers.candidates import read_json

_BOOLEAN = re.compile(
    r"\btrue\b.*\bfalse\b|\bfalse\b.*\btrue\b|\Wbool(?:ean)?\W", re.IGNORECASE | re.DOTALL
)
_FIELD = re.compile(r"""["'](?P<key>[^"'\n]{1,100})["']\s*:(?=(?P<value>[^\n{}\[\]]*))""")
_NEXT_FIELD = re.compile(r""",\s*["'][^"'\n]{1,100}["']\s*:.*""", re.DOTALL)


@dataclass
class Shape:
    """The fields that a value should have (none are known for an empty one), or that it should be a
    bool.
    """

    fields: dict[str, Shape] = field(default_factory=dict)
    items: Shape | None = None
    """The shape of each item of a list."""
    boolean: bool = False

    def add_path(self, path: str) -> None:
        """Makes a key known, and where it is a dotted path also the keys in it."""
        if path in self.fields:
            return
        shape = self
        for part in path.split("."):
            shape = shape.fields.setdefault(part, Shape())


def write_hint(hint: object) -> str:
    """A hint as the model sees it: a text as it is, all else as JSON; raises WrongType for what is
    neither.
    """
    if isinstance(hint, str):
        return hint
    try:
        return json.dumps(hint, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise WrongType(
            f"content_hint must be a text, a pydantic class or what JSON can hold, not {hint!r}:"
            f" {error}."
        ) from None


@singledispatch
def infer_from_hint(hint: object) -> Shape:
    """The shape that a hint (text, dict, list or a value in one) describes."""
    return Shape()


@infer_from_hint.register(Mapping)
def _(hint: Mapping[object, object]) -> Shape:
    return Shape({str(key): _infer_from_value(value) for key, value in hint.items()})


@infer_from_hint.register(list)
@infer_from_hint.register(tuple)
def _(hint: Sequence[object]) -> Shape:
    return Shape(items=next(map(_infer_from_value, hint), None))


@infer_from_hint.register(str)
def _infer_from_text(text: str) -> Shape:
    """A text may be JSON; if not, it mostly is nearly JSON, such as {"end": true/false}."""
    try:
        decoded = read_json(text, 0, lambda value: value)
    except ResponseParsingError:
        fields = _FIELD.findall(text)
        return Shape({key: _infer_from_value(_NEXT_FIELD.sub("", value)) for key, value in fields})
    if isinstance(decoded, str):
        return Shape()
    return infer_from_hint(decoded)


@singledispatch
def _infer_from_value(value: object) -> Shape:
    """The shape of what stands in a hint for a field or an item."""
    return infer_from_hint(value)


@_infer_from_value.register
def _(value: str) -> Shape:
    return Shape(boolean=_BOOLEAN.search(f" {value} ") is not None)


@_infer_from_value.register
def _(value: bool) -> Shape:
    return Shape(boolean=True)


def infer_from_schema(schema: Mapping[str, object]) -> Shape:
    """The shape that a JSON schema describes. It has circles where the schema refers to itself."""
    return _SchemaReader(schema).read(schema)


class _SchemaReader:
    """Makes shapes of a schema and of those in it; what is referred to gets one shape."""

    def __init__(self, root: Mapping[str, object]) -> None:
        self.root = root
        self._known: dict[str, Shape] = {}

    def read(self, schema: object) -> Shape:
        reference, target = self._resolve(schema)
        if reference in self._known:
            return self._known[reference]
        shape = Shape()
        if reference:
            self._known[reference] = shape
        for key, value in _to_mapping(target.get("properties")).items():
            shape.fields[str(key)] = self.read(value)
        items = target.get("items")
        if items is not None:
            shape.items = self.read(items)
        shape.boolean = target.get("type") in ("boolean", ["boolean", "null"], ["null", "boolean"])
        return shape

    def _resolve(self, schema: object) -> tuple[str, Mapping[str, Any]]:
        """The last in a chain of references, "" for none, and the schema that it leads to."""
        last, followed = "", set()
        target = _leave_out_null(schema)
        while isinstance(reference := target.get("$ref"), str) and reference not in followed:
            last = reference
            followed.add(reference)
            target = _leave_out_null(self._find(reference))
        return last, target

    def _find(self, reference: str) -> object:
        found: object = self.root if reference.startswith("#/") else None
        for part in reference.removeprefix("#/").split("/"):
            found = _to_mapping(found).get(part.replace("~1", "/").replace("~0", "~"))
        return found


def _leave_out_null(schema: object) -> Mapping[str, Any]:
    """The schema without "or null", as pydantic writes what is optional."""
    schema = _to_mapping(schema)
    options = schema.get("anyOf")
    if not isinstance(options, list):
        return schema
    wanted = list_missing(options, [_NULL])
    if len(wanted) == 1 and isinstance(wanted[0], Mapping):
        return wanted[0]
    return schema


def _to_mapping(value: object) -> Mapping[str, Any]:
    """The value if it is a mapping, else an empty one."""
    if isinstance(value, Mapping):
        return value
    return {}


def fit(value: object, shape: Shape) -> Any:
    """The value with keys in the case in which the shape has them, and "true" and "false" as bools
    where it has a bool.

    A key is renamed when it differs in case alone from just one known key, and no other key of the
    value is or would become that.
    """
    return _FITTING.get(type(value), _leave)(value, shape)


def _fit_text(text: str, shape: Shape) -> str | bool:
    if not shape.boolean:
        return text
    return _BOOLS.get(text.strip().lower(), text)


def _fit_list(items: list[object], shape: Shape) -> list[object]:
    return list(map(fit, items, repeat(shape.items or _UNKNOWN)))


def _fit_object(value: dict[str, object], shape: Shape) -> dict[str, object]:
    names = match_keys(value, shape.fields)
    shapes = map(shape.fields.get, names.values(), repeat(_UNKNOWN))
    return dict(zip(names.values(), map(fit, value.values(), shapes), strict=True))


def _leave(value: object, shape: Shape) -> object:
    return value


_FITTING: Mapping[type, Callable[[Any, Shape], object]] = {
    str: _fit_text,
    list: _fit_list,
    dict: _fit_object,
}
"""By the types that JSON is read as."""
_BOOLS = {"true": True, "false": False}
_UNKNOWN = Shape()
_NULL = {"type": "null"}


def match_keys(value: Mapping[str, object], known: Mapping[str, Shape]) -> dict[str, str]:
    """Key of the value -> the known key that is meant, or the key itself."""
    meant = _index_by_fold(known)
    names = dict(zip(value, value, strict=True))
    for folded, key in _index_by_fold(value).items():
        if key not in known:
            names[key] = meant.get(folded, key)
    return names


def _index_by_fold(keys: Mapping[str, object]) -> dict[str, str]:
    """The keys by what is left without their case; those that are not told apart then are left
    out.
    """
    folded = dict(zip(keys, map(str.casefold, map(str.strip, keys)), strict=True))
    count = Counter(folded.values())
    return {fold: key for key, fold in folded.items() if count[fold] == 1}
