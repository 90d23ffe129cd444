"""What is known in advance about the fields of a reply, and the small mistakes that can be set
right with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

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


def hint_text(hint: object) -> str:
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


def shape_of_hint(hint: object) -> Shape:
    """The shape that a hint (text, dict, list or a value in one) describes."""
    if isinstance(hint, Mapping):
        return Shape({str(key): _shape_of_value(value) for key, value in hint.items()})
    if isinstance(hint, list | tuple):
        return Shape(items=_shape_of_value(hint[0]) if hint else None)
    return _shape_of_text(hint) if isinstance(hint, str) else Shape()


def _shape_of_value(value: object) -> Shape:
    if isinstance(value, bool) or (isinstance(value, str) and _BOOLEAN.search(f" {value} ")):
        return Shape(boolean=True)
    return Shape() if isinstance(value, str) else shape_of_hint(value)


def _shape_of_text(text: str) -> Shape:
    """A text may be JSON; if not, it mostly is nearly JSON, such as {"end": true/false}."""
    try:
        decoded = read_json(text, 0, lambda value: value)
    except ResponseParsingError:
        found = _FIELD.finditer(text)
        return Shape(
            {match["key"]: _shape_of_value(_NEXT_FIELD.sub("", match["value"])) for match in found}
        )
    return Shape() if isinstance(decoded, str) else shape_of_hint(decoded)


def shape_of_schema(
    schema: object, root: Mapping[str, object], known: dict[str, Shape] | None = None
) -> Shape:
    """The shape that a JSON schema describes; a reference is followed within `root`, each once, so
    that shapes may be circles.
    """
    known = {} if known is None else known
    shape, chain = Shape(), []
    while isinstance(schema, Mapping) and isinstance(
        reference := _required(schema).get("$ref"), str
    ):
        chain.append(reference)
        if reference in known:
            shape, schema = known[reference], None
        else:
            known[reference], schema = shape, _referred(root, reference)
    known.update(dict.fromkeys(chain, shape))
    if isinstance(schema, Mapping):
        _fill(shape, _required(schema), root, known)
    return shape


def _fill(
    shape: Shape, schema: Mapping[str, object], root: Mapping[str, object], known: dict[str, Shape]
) -> None:
    properties = schema.get("properties")
    fields = properties.items() if isinstance(properties, Mapping) else ()
    shape.fields.update({str(key): shape_of_schema(value, root, known) for key, value in fields})
    if (items := schema.get("items")) is not None:
        shape.items = shape_of_schema(items, root, known)
    shape.boolean = schema.get("type") in ("boolean", ["boolean", "null"], ["null", "boolean"])


def _required(schema: Mapping[str, object]) -> Mapping[str, Any]:
    """The schema without "or null", as pydantic writes what is optional."""
    options = schema.get("anyOf")
    if not isinstance(options, list):
        return schema

    wanted = [each for each in options if each != {"type": "null"}]
    if len(wanted) == 1 and isinstance(wanted[0], Mapping):
        return wanted[0]
    return schema


def _referred(root: object, reference: str) -> Any:
    if not reference.startswith("#/"):
        return None
    for part in reference[2:].split("/"):
        if not isinstance(root, Mapping):
            return None
        root = root.get(part.replace("~1", "/").replace("~0", "~"))
    return root


def fitted(value: object, shape: Shape) -> Any:
    """The value with keys in the case in which the shape has them, and "true" and "false" as bools
    where it has a bool.

    A key is renamed when it differs in case alone from just one known key, and no other key of the
    value is or would become that.
    """
    if shape.boolean and isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip().lower(), value)
    if isinstance(value, list) and shape.items:
        return [fitted(item, shape.items) for item in value]
    if not isinstance(value, dict) or not shape.fields:
        return value
    names = renamed(value, shape.fields)
    return {
        names[key]: fitted(item, shape.fields.get(names[key], _UNKNOWN))
        for key, item in value.items()
    }


_UNKNOWN = Shape()


def renamed(value: Mapping[str, object], known: Mapping[str, Shape]) -> dict[str, str]:
    """Key of the value -> the known key that is meant, or the key itself."""
    meant, written = _by_fold(known), _by_fold(value)
    names = {key: key for key in value}
    for fold, keys in written.items():
        candidates = meant.get(fold, [])
        if len(candidates) == len(keys) == 1 and keys[0] not in known:
            names[keys[0]] = candidates[0]
    return names


def _fold(key: str) -> str:
    return key.strip().casefold()


def _by_fold(keys: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key in keys:
        found.setdefault(_fold(key), []).append(key)
    return found
