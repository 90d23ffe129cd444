"""What is to be read out of each document: named fields with types, and the check of what was found
for them.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING, Any, Literal

from agentkit.errors import ConfigError

if TYPE_CHECKING:
    from pydantic import BaseModel

Kind = Literal["string", "number", "integer", "boolean", "date", "list"]
"""A date is an ISO text such as 2025-12-31, a list one of texts."""

DOCUMENT, PROBLEMS, SOURCE = "document", "problems", "_source"
"""Columns that every table has: which document, what was wrong, and behind each field where its
value stands.
"""

_LARGEST = 2**63


@dataclass(frozen=True, slots=True)
class Field:
    """One column: its name, the type of its values and what it means."""

    name: str
    kind: Kind = "string"
    description: str = ""
    required: bool = False
    choices: tuple[Any, ...] = ()
    """The values that it can have; empty where any will do."""
    path: tuple[str, ...] = ()
    """Where it stands in a nested object; the name joins it by dots."""
    limits: Mapping[str, Any] = field(default_factory=dict)
    """Further keywords of JSON schema that a value must keep, such as `minimum` or `pattern`."""

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of a value."""
        chosen = {"enum": list(self.choices)} if self.choices else {}
        if self.kind == "date":
            return {"type": "string", "format": "date", **chosen, **self.limits}
        if self.kind == "list":
            return {"type": "array", "items": {"type": "string", **chosen}, **self.limits}
        return {"type": self.kind, **chosen, **self.limits}

    def misfit(self, value: Any) -> str:
        """Why a value cannot be one of this field; empty when it can."""
        from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

        for error in Draft202012Validator(self.schema).iter_errors(value):
            return f"{error.message:.200}"
        if self.kind == "date" and not _is_iso(value):
            return f"{value!r:.60} is no date; write it as YYYY-MM-DD"
        if self.kind == "integer" and abs(value) >= _LARGEST:
            return f"{value} is too large for an integer"
        if self.kind == "number" and not _is_finite(value):
            return f"{value!r:.60} is no finite number"
        return ""


@dataclass(frozen=True, slots=True)
class Schema:
    """All fields; raises ConfigError when there is none, or when two columns of the table would
    have the same name.
    """

    fields: tuple[Field, ...]
    title: str = ""
    model: type[BaseModel] | None = None
    """The pydantic class that it was made of, which checks the values, too."""

    def __post_init__(self) -> None:
        if not self.fields:
            raise ConfigError(
                "The schema has no fields; name at least one, for example `total (number)`."
            )
        columns = [DOCUMENT, PROBLEMS, *self.names, *(name + SOURCE for name in self.names)]
        twice = [
            name
            for name, count in Counter(name.casefold() for name in columns).items()
            if count > 1
        ]
        if twice:
            raise ConfigError(
                f"Two columns of the table would be called {twice[0]!r}; rename the field."
                f" {DOCUMENT!r}, {PROBLEMS!r} and names that end in {SOURCE!r} are made by the"
                " table itself."
            )

    @property
    def names(self) -> list[str]:
        """The names of the fields in their order."""
        return [each.name for each in self.fields]

    def only(self, names: Collection[str]) -> Schema:
        """The same with these fields alone, at least one."""
        return replace(self, fields=tuple(each for each in self.fields if each.name in names))

    def misfits(self, values: Mapping[str, object]) -> dict[str, str]:
        """What is wrong with which value, None being no value; under an empty name what the
        pydantic class says of all.
        """
        found = {}
        for each in self.fields:
            value = values.get(each.name)
            if value is not None and (wrong := each.misfit(value)):
                found[each.name] = wrong
        return found or self._by_class(values)

    def lacking(self, values: Mapping[str, object]) -> list[str]:
        """The required fields without a value."""
        return [
            each.name for each in self.fields if each.required and values.get(each.name) is None
        ]

    def _by_class(self, values: Mapping[str, object]) -> dict[str, str]:
        """As the class sees it; that something is missing is no fault of a value."""
        if self.model is None:
            return {}
        from pydantic import ValidationError

        try:
            self.model.model_validate_json(json.dumps(_nested(self.fields, values)))
        except ValidationError as error:
            return self._told(
                error.errors(include_url=False, include_context=False, include_input=False)
            )
        except Exception as error:  # noqa: BLE001
            # A validator of the user's own may raise anything.
            return {"": f"{self.model.__name__}: {type(error).__name__}: {error}"}
        return {}

    def _told(self, errors: Sequence[Mapping[str, Any]]) -> dict[str, str]:
        told = {}
        for each in errors:
            if each["type"] != "missing":
                place = tuple(str(step) for step in each["loc"])
                named = next(
                    (one.name for one in self.fields if place[: len(one.path)] == one.path), ""
                )
                told[named] = str(each["msg"])
        return told


def _nested(fields: Sequence[Field], values: Mapping[str, object]) -> dict[str, Any]:
    """The values as the object that the flat fields stand for; what has no value is left out."""
    made: dict[str, Any] = {}
    for each in fields:
        if values.get(each.name) is None:
            continue
        at = made
        for step in each.path[:-1]:
            at = at.setdefault(step, {})
        at[each.path[-1]] = values[each.name]
    return made


def _is_iso(value: str) -> bool:
    try:
        return date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
