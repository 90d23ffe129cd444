"""From a JSON schema to flat fields: references are followed, nested objects become dotted names,
the rest is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentkit.core.given import list_missing, pick
from agentkit.errors import ConfigError
from agentkit.teams.extraction.schema import Field
from agentkit.teams.extraction.value_types import Kind

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
_JSON_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number"}
_DEPTH = 8
_KNOWN = (
    "a table holds texts, numbers, integers, booleans, dates, enums, lists of texts, and objects of"
    " these"
)


def parse_fields(schema: object) -> tuple[Field, ...]:
    """The fields of a schema for an object, in order; raises ConfigError that names the property
    that cannot be.
    """
    if not isinstance(schema, Mapping):
        raise ConfigError(f"A JSON schema is an object, not {schema!r:.80}.")
    _check(schema)
    reader = _Reader(schema)
    whole = reader.resolve(schema, "the schema")
    kind = whole.get("type", "object")
    if kind != "object":
        raise ConfigError(
            f"The schema is for {kind!r}, not for an object; one row is made for each document."
        )
    return tuple(reader.read_object(whole, (), True))


def _check(schema: Mapping[str, Any]) -> None:
    """Raise ConfigError for anything but a JSON schema."""
    import jsonschema  # type: ignore[import-untyped]

    newest = jsonschema.Draft202012Validator
    try:
        validator = jsonschema.validators.validator_for(schema, newest)
        validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        place = ".".join(map(str, error.absolute_path))
        where = ""
        if place:
            where = f" at {place}"
        raise ConfigError(f"The JSON schema is not valid{where}: {error.message:.300}") from error


class _Reader:
    """Follows the references within one schema."""

    def __init__(self, root: Mapping[str, object]) -> None:
        self.root = root

    def read_object(
        self, schema: Mapping[str, Any], path: tuple[str, ...], required: bool
    ) -> Iterator[Field]:
        """The fields of an object, and of those in it."""
        name = ".".join(path) or "the schema"
        properties = schema.get("properties")
        if not isinstance(properties, Mapping):
            raise ConfigError(
                f"{name} is not an object with `properties`; {_KNOWN}. One row is made for each"
                " document."
            )
        if len(path) > _DEPTH:
            raise ConfigError(f"{name} is nested more than {_DEPTH} deep, or in itself; {_KNOWN}.")
        needed: Sequence[str] = ()
        if required:
            needed = schema.get("required", ())
        for key, given in properties.items():
            inner = (*path, str(key))
            yield from self._read_property(inner, given, key in needed)

    def resolve(self, schema: object, name: str, depth: int = 0) -> dict[str, Any]:
        """The schema itself instead of a reference to it; what stands beside the reference is
        added.
        """
        if depth > _DEPTH:
            raise ConfigError(f"{name}: its `$ref` leads in a circle; {_KNOWN}.")
        if not isinstance(schema, Mapping):
            raise ConfigError(f"{name} is {schema!r:.80}, which says no type; {_KNOWN}.")
        match schema:
            case {"$ref": reference, **beside}:
                target = self._find_target(str(reference), name)
                return self.resolve({**target, **beside}, name, depth + 1)
            case {"allOf": [only], **beside}:
                return {**self.resolve(only, name, depth), **beside}
            case _:
                return dict(schema)

    def _find_target(self, reference: str, name: str) -> Mapping[str, Any]:
        if not reference.startswith("#"):
            raise ConfigError(
                f"{name} refers to {reference!r:.100}; only references within the schema (`#/...`)"
                " are followed."
            )
        target = self._follow(reference[1:])
        if not isinstance(target, Mapping):
            raise ConfigError(
                f"{name} refers to {reference!r:.100}, and that is not there; correct the"
                " reference."
            )
        return target

    def _follow(self, pointer: str) -> object:
        """What stands at a JSON pointer; None where nothing does."""
        at: Any = self.root
        steps = filter(None, pointer.split("/"))
        try:
            for step in steps:
                key = step.replace("~1", "/").replace("~0", "~")
                at = at[key]
        except (KeyError, TypeError):
            return None
        return at

    def _read_property(
        self, path: tuple[str, ...], given: object, required: bool
    ) -> Iterator[Field]:
        name = ".".join(path)
        schema = self._resolve_to_one_type(given, name)
        is_object = schema.get("type") == "object" or "properties" in schema
        if is_object:
            yield from self.read_object(schema, path, required)
            return
        kind, choices = self._read_kind(schema, name)
        yield Field(
            name,
            kind,
            description=str(schema.get("description") or ""),
            required=required,
            choices=choices,
            path=path,
            limits=pick(schema, _LIMITS),
        )

    def _read_kind(self, schema: Mapping[str, Any], name: str) -> tuple[Kind, tuple[Any, ...]]:
        """What kind of values a schema is for, and which of them it allows."""
        choices = tuple(schema.get("enum", ()))
        match schema:
            case {"type": "array"}:
                return "list", self._read_items(schema.get("items", {}), name)
            case {"type": "string", "format": "date"}:
                return "date", choices
            case {"type": "string" | "number" | "integer" | "boolean" as kind}:
                return kind, choices
            case _:
                raise ConfigError(f"{name} has the type {schema.get('type')!r}; {_KNOWN}.")

    def _read_items(self, schema: object, name: str) -> tuple[Any, ...]:
        items = self._resolve_to_one_type(schema, f"{name}[]")
        kind = items.get("type", "anything")
        if kind != "string":
            raise ConfigError(f"{name} is a list of {kind}; {_KNOWN}.")
        return tuple(items.get("enum", ()))

    def _resolve_to_one_type(self, given: object, name: str) -> dict[str, Any]:
        """The schema without "or null", and with the type that a union or an enum comes to."""
        schema = self.resolve(given, name)
        options = schema.pop("anyOf", None) or schema.pop("oneOf", None)
        if options is not None:
            merged = self._merge(options, name)
            return self._resolve_to_one_type({**merged, **schema}, name)
        if "const" in schema:
            schema["enum"] = [schema.pop("const")]
        if "enum" in schema:
            members = list_missing(schema["enum"], [None])
            kind = _find_type(members, name)
            schema = {"type": kind, **schema, "enum": members}
        written = schema.get("type")
        if isinstance(written, list):
            types = list_missing(written, ["null"])
            schema["type"] = _find_common(types, name)
        return schema

    def _merge(self, options: Sequence[object], name: str) -> dict[str, Any]:
        """What a union of these comes to, apart from null."""
        read = [self._resolve_to_one_type(option, name) for option in options]
        possible = [option for option in read if option.get("type") != "null"]
        if len(possible) == 1:
            return possible[0]
        types = [option.get("type") for option in possible]
        is_decimal = sorted(map(str, types)) == ["number", "string"]  # as pydantic describes one
        has_choices = any("enum" in option for option in possible)
        if is_decimal and not has_choices:
            place = types.index("number")
            return possible[place]
        common = _find_common(types, name)
        return {"type": common}


def _find_common(types: list[Any], name: str) -> str:
    kinds = list(map(str, types))
    if len(kinds) == 1:
        [only] = kinds
        return only
    if set(kinds) == {"integer", "number"}:
        return "number"
    told = " or ".join(kinds) or "null alone"
    raise ConfigError(f"{name} may be {told}; choose one type.")


def _find_type(members: list[Any], name: str) -> str:
    types = set(map(type, members))
    if len(types) == 1:
        [only] = types
        if only in _JSON_TYPES:
            return _JSON_TYPES[only]
    raise ConfigError(
        f"{name} has the possible values {members!r:.100}; they must be of one type, texts or"
        " numbers."
    )
