"""The types of values that fields have: how each is described, checked, read and found in texts."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any, ClassVar, Literal

from agentkit.core.given import find_first
from agentkit.teams.extraction.quoting import holds
from agentkit.teams.extraction.values import (
    Found,
    Style,
    find_choices,
    find_dates,
    find_numbers,
    find_yes_no,
)

Kind = Literal["string", "number", "integer", "boolean", "date", "list"]
"""A date is an ISO text such as 2025-12-31, a list one of texts."""

_LARGEST = 2**63
# A digit, or a number in words, English or German.
_FIGURE = re.compile(
    r"\d|\b(?:zero|no|none|half|one|once|two|twice|three|four|five|six|seven|eight|nine|ten|eleven"
    r"|twelve|dozen|hundred|thousand|million|(?:thir|four|fif|six|seven|eigh|nine)teen"
    r"|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|null|keine?|eine?|zwei|drei|"
    r"vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|hundert|tausend|\w+(?:zehn|zig))\b",
    re.IGNORECASE,
)


class ValueType:
    """A type of values, texts unless a subclass says otherwise."""

    schema: ClassVar[Mapping[str, Any]] = {"type": "string"}
    """The JSON schema of a value."""
    hint: str = "text"
    """How a language model is told to write it."""

    def describe(self) -> dict[str, Any]:
        """The JSON schema of the values that it can have."""
        return dict(self.schema)

    def misfit(self, value: Any) -> str:
        """Why a value that fits the JSON schema is not of this type; empty when it is."""
        return ""

    def find(self, text: str, style: Style, unit: str = "") -> list[Found]:
        """All values in a text, in order; numbers only with this unit, if one is given."""
        return []

    def parse(self, text: str, style: Style) -> object:
        """The value that a text says; the text itself when it says none of this type."""
        return text

    def is_shown(self, value: Any, quote: str, style: Style) -> bool:
        """Whether a quote can be what shows a value."""
        return holds(quote, value)


class ListType(ValueType):
    """Lists of texts."""

    schema: ClassVar[Mapping[str, Any]] = {"type": "array", "items": {"type": "string"}}
    hint = "list of texts"

    def is_shown(self, value: Any, quote: str, style: Style) -> bool:
        """Whether all items stand in the quote."""
        return all(holds(quote, item) for item in value)


class BooleanType(ValueType):
    """Yes and no."""

    schema: ClassVar[Mapping[str, Any]] = {"type": "boolean"}
    hint = "true or false"

    def find(self, text: str, style: Style, unit: str = "") -> list[Found]:
        """Yes or no at the beginning of the text."""
        return find_yes_no(text)

    def parse(self, text: str, style: Style) -> object:
        """True or false when the text is nothing but a yes or no."""
        return _take_whole(find_yes_no(text), text)

    def is_shown(self, value: Any, quote: str, style: Style) -> bool:
        """Always: there are too many words for yes and no."""
        return True


class DateType(ValueType):
    """Dates as ISO texts."""

    schema: ClassVar[Mapping[str, Any]] = {"type": "string", "format": "date"}
    hint = "date as YYYY-MM-DD"

    def misfit(self, value: Any) -> str:
        """Says so when it is not a date of the calendar, or is written in another way."""
        if _is_iso(value):
            return ""
        return f"{value!r:.60} is not a date; write it as YYYY-MM-DD"

    def find(self, text: str, style: Style, unit: str = "") -> list[Found]:
        """All complete and unambiguous dates."""
        return find_dates(text, style)

    def parse(self, text: str, style: Style) -> object:
        """The one date in the text."""
        match find_dates(text, style):
            case [only]:
                return only.value
        return text

    def is_shown(self, value: Any, quote: str, style: Style) -> bool:
        """Whether it is one of the quote's dates; any digit does when no date can be read."""
        stated = [found.value for found in find_dates(quote, style)]
        if stated:
            return value in stated
        return any(map(str.isdigit, quote))


class NumberType(ValueType):
    """Numbers that a float can hold."""

    schema: ClassVar[Mapping[str, Any]] = {"type": "number"}
    hint = "number"

    def misfit(self, value: Any) -> str:
        """Says so when it is too large for a float."""
        if _is_finite(value):
            return ""
        return f"{value!r:.60} is not a finite number"

    def find(self, text: str, style: Style, unit: str = "") -> list[Found]:
        """All numbers, and with which units they stand there."""
        numbers = find_numbers(text, style)
        if not unit:
            return numbers
        return [found for found in numbers if found.unit == unit]

    def parse(self, text: str, style: Style) -> object:
        """The number when the text is nothing but a number."""
        return _take_whole(find_numbers(text, style), text)

    def is_shown(self, value: Any, quote: str, style: Style) -> bool:
        """Whether one of the quote's numbers is the value; numbers in words are believed."""
        numbers = find_numbers(quote, style)
        if not numbers:
            return _FIGURE.search(quote) is not None
        return any(_says(number, value) for number in numbers)


def _says(number: Found, value: float) -> bool:
    """Whether a number means a value, whatever its sign; 19 % are also 0.19."""
    wanted = abs(value)
    if math.isclose(abs(number.value), wanted, abs_tol=1e-9):
        return True
    if number.unit != "%":
        return False
    share = abs(number.value / 100)
    return math.isclose(share, wanted, abs_tol=1e-9)


class IntegerType(NumberType):
    """Whole numbers that a column of 64 bits can hold."""

    schema: ClassVar[Mapping[str, Any]] = {"type": "integer"}
    hint = "integer"

    def misfit(self, value: Any) -> str:
        """Says so when it is too large for a column."""
        if abs(value) >= _LARGEST:
            return f"{value} is too large for an integer"
        return ""

    def find(self, text: str, style: Style, unit: str = "") -> list[Found]:
        """All whole numbers, also those written as 12.0."""
        whole: list[Found] = []
        for found in super().find(text, style, unit):
            number = float(found.value)
            if number.is_integer():
                whole.append(replace(found, value=int(found.value)))
        return whole

    def parse(self, text: str, style: Style) -> object:
        """The number when the text is nothing but a number, whole if it can be."""
        number = super().parse(text, style)
        if isinstance(number, float) and number.is_integer():
            return int(number)
        return number


class ChoiceType(ValueType):
    """Values of another type, of which only some can be."""

    def __init__(self, inner: ValueType, choices: Sequence[Any]) -> None:
        self.inner, self.choices = inner, tuple(choices)
        self.hint = " or ".join(map(str, choices))

    def describe(self) -> dict[str, Any]:
        """The schema of the other type with the choices; in a list they are its items'."""
        schema = self.inner.describe()
        chosen = {"enum": list(self.choices)}
        if "items" in schema:
            return {**schema, "items": {**schema["items"], **chosen}}
        return {**schema, **chosen}

    def misfit(self, value: Any) -> str:
        """As the other type says."""
        return self.inner.misfit(value)

    def find(self, text: str, style: Style, unit: str = "") -> list[Found]:
        """The one choice that the text names, wherever it stands last."""
        found = find_choices(text, self.choices)
        named = {each.value: each for each in found}
        match list(named.values()):
            case [only]:
                return [only]
        return []

    def parse(self, text: str, style: Style) -> object:
        """As the other type reads it."""
        return self.inner.parse(text, style)

    def is_shown(self, value: Any, quote: str, style: Style) -> bool:
        """Whether the quote names it; choices in other words are believed."""
        found = find_choices(quote, self.choices)
        named = [each.value for each in found]
        if not named:
            return True
        items = value if isinstance(value, list) else [value]
        return all(item in named for item in items)


TYPES: dict[Kind, ValueType] = {
    "string": ValueType(),
    "number": NumberType(),
    "integer": IntegerType(),
    "boolean": BooleanType(),
    "date": DateType(),
    "list": ListType(),
}
"""The types by the names that fields have for them."""


def _take_whole(found: Sequence[Found], text: str) -> object:
    """The value that makes up the whole text, without a unit; the text when none does."""
    whole = find_first(found, lambda each: _is_bare(each, text))
    if whole is None:
        return text
    return whole.value


def _is_bare(found: Found, text: str) -> bool:
    if found.unit:
        return False
    return (found.start, found.end) == (0, len(text))


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
