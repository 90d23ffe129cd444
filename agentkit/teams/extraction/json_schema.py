"""From a JSON schema to flat fields: references are followed, nested objects become dotted names,
the rest is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agentkit.errors import ConfigError
from agentkit.teams.extraction.schema import Field, Kind

_LIMITS = frozenset(
    {
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "pattern",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "uniqueItems",
    }
)
_SCALARS: dict[str, Kind] = {
    "string": "string",
    "number": "number",
    "integer": "integer",
    "boolean": "boolean",
}
_DEPTH = 8
_KNOWN = (
    "a table holds texts, numbers, integers, booleans, dates, enums, lists of texts, and objects of"
    " these"
)


def fields_of(schema: object) -> tuple[Field, ...]:
    """The fields of a schema for an object, in order; raises ConfigError that names the property
    that cannot be.
    """
    import jsonschema  # type: ignore[import-untyped]

    if not isinstance(schema, Mapping):
        raise ConfigError(f"A JSON schema is an object, not {schema!r:.80}.")
    try:
        jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator).check_schema(
            schema
        )
    except jsonschema.SchemaError as error:
        where = ".".join(str(step) for step in error.absolute_path)
        raise ConfigError(
            f"The JSON schema is not valid{f' at {where}' if where else ''}: {error.message:.300}"
        ) from error
    return tuple(
        _Reader(schema).fields(_plain(_Reader(schema).resolved(schema, "the schema")), (), True)
    )


class _Reader:
    """Follows the references within one schema."""

    def __init__(self, root: Mapping[str, object]) -> None:
        self.root = root

    def fields(
        self, schema: Mapping[str, Any], path: tuple[str, ...], required: bool
    ) -> Iterator[Field]:
        name = ".".join(path) or "the schema"
        if not isinstance(schema.get("properties"), Mapping):
            raise ConfigError(
                f"{name} is no object with `properties`; {_KNOWN}. One row is made for each"
                " document."
            )
        if len(path) > _DEPTH:
            raise ConfigError(f"{name} is nested more than {_DEPTH} deep, or in itself; {_KNOWN}.")
        for key, given in schema["properties"].items():
            needed = required and key in schema.get("required", ())
            yield from self._property((*path, str(key)), given, needed)

    def resolved(self, schema: object, name: str) -> dict[str, Any]:
        """The schema itself instead of a reference to it; what stands beside the reference is
        added.
        """
        seen = 0
        while isinstance(schema, Mapping) and "$ref" in schema:
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            schema = {**self._target(str(schema["$ref"]), name), **beside}
            seen += 1
            if seen > _DEPTH:
                raise ConfigError(f"{name}: its `$ref` leads in a circle; {_KNOWN}.")
        if not isinstance(schema, Mapping):
            raise ConfigError(f"{name} is {schema!r:.80}, which says no type; {_KNOWN}.")
        if isinstance(schema.get("allOf"), list) and len(schema["allOf"]) == 1:
            return {
                **self.resolved(schema["allOf"][0], name),
                **{key: schema[key] for key in schema if key != "allOf"},
            }
        return dict(schema)

    def _target(self, reference: str, name: str) -> Mapping[str, Any]:
        at: Any = self.root
        if not reference.startswith("#"):
            raise ConfigError(
                f"{name} refers to {reference!r:.100}; only references within the schema (`#/...`)"
                " are followed."
            )
        for step in filter(None, reference[1:].split("/")):
            at = (
                at.get(step.replace("~1", "/").replace("~0", "~"))
                if isinstance(at, Mapping)
                else None
            )
        if not isinstance(at, Mapping):
            raise ConfigError(
                f"{name} refers to {reference!r:.100}, and that is not there; correct the"
                " reference."
            )
        return at

    def _property(self, path: tuple[str, ...], given: object, required: bool) -> Iterator[Field]:
        name = ".".join(path)
        schema = self._one_type(self.resolved(given, name), name)
        kind = schema.get("type")
        described = str(schema.get("description") or "")
        limits = {key: schema[key] for key in schema if key in _LIMITS}
        if kind == "object" or "properties" in schema:
            yield from self.fields(schema, path, required)
        elif kind == "array":
            choices = self._items(schema, name)
            yield Field(name, "list", described, required, choices, path, limits)
        elif kind in _SCALARS:
            is_date = kind == "string" and schema.get("format") == "date"
            yield Field(
                name,
                "date" if is_date else _SCALARS[kind],
                described,
                required,
                _choices(schema),
                path,
                limits,
            )
        else:
            raise ConfigError(f"{name} has the type {kind!r}; {_KNOWN}.")

    def _items(self, schema: Mapping[str, object], name: str) -> tuple[Any, ...]:
        items = self._one_type(self.resolved(schema.get("items", {}), f"{name}[]"), f"{name}[]")
        if items.get("type") != "string":
            raise ConfigError(f"{name} is a list of {items.get('type', 'anything')}; {_KNOWN}.")
        return _choices(items)

    def _one_type(self, schema: dict[str, Any], name: str) -> dict[str, Any]:
        """The schema without "or null", and with the type that a union or an enum comes to."""
        for union in ("anyOf", "oneOf"):
            if union in schema:
                options = [self.resolved(option, name) for option in schema.pop(union)]
                schema = {
                    **_merged([one for one in options if one.get("type") != "null"], name),
                    **schema,
                }
                return self._one_type(schema, name)
        if "const" in schema:
            schema = {**schema, "enum": [schema["const"]]}
        if "enum" in schema:
            schema["enum"] = [member for member in schema["enum"] if member is not None]
            schema.setdefault("type", _type_of(schema["enum"], name))
        if isinstance(schema.get("type"), list):
            schema["type"] = _common([each for each in schema["type"] if each != "null"], name)
        return schema


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    if schema.get("type", "object") != "object":
        raise ConfigError(
            f"The schema is for {schema['type']!r}, not for an object; one row is made for each"
            " document."
        )
    return schema


def _merged(options: list[dict[str, Any]], name: str) -> dict[str, Any]:
    if len(options) == 1:
        return options[0]
    types = [option.get("type") for option in options]
    if sorted(map(str, types)) == ["number", "string"] and all(
        "enum" not in option for option in options
    ):
        return next(
            option for option in options if option["type"] == "number"
        )  # how pydantic describes a Decimal
    return {"type": _common(types, name)}


def _common(types: list[Any], name: str) -> str:
    if len(types) == 1 or set(types) == {"number", "integer"}:
        return str(types[0]) if len(types) == 1 else "number"
    raise ConfigError(
        f"{name} may be {' or '.join(map(str, types)) or 'null alone'}; choose one type."
    )


def _type_of(members: list[Any], name: str) -> str:
    for python, kind in ((str, "string"), (bool, "boolean"), (int, "integer"), (float, "number")):
        if members and all(type(member) is python for member in members):
            return kind
    raise ConfigError(
        f"{name} has the possible values {members!r:.100}; they must be of one type, texts or"
        " numbers."
    )


def _choices(schema: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(schema.get("enum", ()))
