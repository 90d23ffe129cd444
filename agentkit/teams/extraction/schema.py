"""What is to be read out of each document: named fields with types, and the check of what was found
for them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from agentkit.core.given import find_first, join_filled, list_missing, pick_given
from agentkit.errors import ConfigError
from agentkit.teams.extraction.value_types import TYPES, ChoiceType, Kind, ValueType

if TYPE_CHECKING:
    from pydantic import BaseModel

DOCUMENT, PROBLEMS, SOURCE = "document", "problems", "_source"
"""Columns that every table has: which document, what was wrong, and behind each field where its
value stands.
"""


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
    def type(self) -> ValueType:
        """What its values are."""
        plain = TYPES[self.kind]
        if self.choices:
            return ChoiceType(plain, self.choices)
        return plain

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of a value."""
        return {**self.type.describe(), **self.limits}

    def misfit(self, value: Any) -> str:
        """Why a value cannot be one of this field; empty when it can."""
        from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

        error = next(Draft202012Validator(self.schema).iter_errors(value), None)
        if error:
            return f"{error.message:.200}"
        return self.type.misfit(value)


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
        sources = [name + SOURCE for name in self.names]
        columns = [DOCUMENT, PROBLEMS, *self.names, *sources]
        folded = map(str.casefold, columns)
        [(name, count)] = Counter(folded).most_common(1)
        if count > 1:
            raise ConfigError(
                f"Two columns of the table would be called {name!r}; rename the field."
                f" {DOCUMENT!r}, {PROBLEMS!r} and names that end in {SOURCE!r} are made by the"
                " table itself."
            )

    @property
    def names(self) -> list[str]:
        """The names of the fields in their order."""
        return [each.name for each in self.fields]

    def only(self, names: Collection[str]) -> Schema:
        """The same with these fields alone, at least one."""
        chosen = self._select(names)
        return replace(self, fields=tuple(chosen))

    def misfits(self, values: Mapping[str, object]) -> dict[str, str]:
        """What is wrong with which value, None standing for no value; under an empty name what the
        pydantic class says of all.
        """
        wrong: dict[str, str] = {}
        for each in self._select_present(values):
            reason = each.misfit(values[each.name])
            if reason:
                wrong[each.name] = reason
        if wrong:
            return wrong
        return self._ask_class(values)

    def find_lacking(self, values: Mapping[str, object]) -> list[str]:
        """The required fields without a value."""
        present = pick_given(values)
        required = [each.name for each in self.fields if each.required]
        return list_missing(required, present)

    def _select_present(self, values: Mapping[str, object]) -> list[Field]:
        return self._select(pick_given(values))

    def _select(self, names: Container[str]) -> list[Field]:
        """The fields with these names."""
        return [each for each in self.fields if each.name in names]

    def _ask_class(self, values: Mapping[str, object]) -> dict[str, str]:
        """What the class says is wrong; a value that is missing is not a fault here."""
        if self.model is None:
            return {}
        from pydantic import ValidationError

        data = json.dumps(_nest(self._select_present(values), values))
        try:
            self.model.model_validate_json(data)
        except ValidationError as error:
            told = error.errors(include_url=False, include_context=False, include_input=False)
            return self._reasons_by_field(told)
        except Exception as error:  # noqa: BLE001
            # A validator of the user's own may raise anything.
            return {"": f"{self.model.__name__}: {type(error).__name__}: {error}"}
        return {}

    def _reasons_by_field(self, errors: Iterable[Mapping[str, Any]]) -> dict[str, str]:
        reasons: dict[str, str] = {}
        for error in errors:
            if error["type"] == "missing":
                continue
            place = tuple(map(str, error["loc"]))
            name = self._name_at(place)
            reasons[name] = str(error["msg"])
        return reasons

    def _name_at(self, place: tuple[str, ...]) -> str:
        """The field at or above a place in the nested object; empty where there is none."""
        found = find_first(self.fields, lambda each: place[: len(each.path)] == each.path)
        if found is None:
            return ""
        return found.name


def describe_misfit(name: str, reason: str) -> str:
    """What is wrong with the value of a field; without a name, with the row."""
    return join_filled(": ", (name, reason))


def _nest(fields: Sequence[Field], values: Mapping[str, object]) -> dict[str, Any]:
    """The values as the object that the flat fields stand for."""
    nested: dict[str, Any] = {}
    for each in fields:
        *above, last = each.path
        place = nested
        for step in above:
            place = place.setdefault(step, {})
        place[last] = values[each.name]
    return nested
