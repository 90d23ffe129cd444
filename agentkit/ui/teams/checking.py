"""What is wrong with a team as it stands in the form, by the place of the field."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from agentkit.teams.built.document import TeamDocument
from agentkit.teams.built.problems import find_problems
from agentkit.teams.built.unread import list_unread


@dataclass(frozen=True, slots=True)
class Checked:
    """The team, where its form is right, and all that is wrong."""

    document: TeamDocument | None
    problems: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By place, such as `agents[1].name`."""
    unread: Mapping[str, str] = field(default_factory=dict)
    """By place, what is said of a setting that nobody reads."""

    def within(self, place: str) -> Iterator[tuple[str, str]]:
        """What is wrong at a place and in its parts."""
        for where, told in self.problems.items():
            if where == place or where.startswith((f"{place}.", f"{place}[")):
                yield from ((where, text) for text in told)


_WORDS: Mapping[str, str] = {
    "missing": "this is needed",
    "string_too_short": "this must not be empty",
    "string_too_long": "at most {max_length:,} characters fit here",
    "string_pattern_mismatch": "it begins with a blank, or has a line break in it",
    "too_short": "choose {min_length} at least",
    "too_long": "at most {max_length} can be here",
    "greater_than": "this must be more than {gt:,g}",
    "greater_than_equal": "this must be {ge:,g} or more",
    "less_than_equal": "this must be {le:,g} or less",
    "int_parsing": "this must be a whole number",
    "int_type": "this must be a whole number",
    "int_from_float": "this must be a whole number",
    "float_parsing": "this must be a number",
    "float_type": "this must be a number",
    "literal_error": "this must be {expected}",
    "string_type": "this must be a text",
    "bool_type": "this must be on or off",
    "dict_type": "this must be a JSON object: values by their names",
}
"""What is said of the errors that a field can have, by their kinds."""
_UNREAD = {
    False: "Nobody reads this, as they work together now.",
    True: "It takes no part, as they work together now.",
}
_OF_CODE = "it has letters, digits and _ only, and begins with a letter"
"""What is said of a name that stands in code, or in a reply."""


def check(
    data: Mapping[str, Any], models: Collection[str], tools: Collection[str] | None
) -> Checked:
    """Read the form, and look for what keeps the team from working."""
    found: dict[str, list[str]] = {}
    try:
        document = TeamDocument.model_validate(data)
    except ValidationError as error:
        for one in error.errors(include_url=False):
            place = find_place(_follow(data, one["loc"]))
            found.setdefault(place, []).append(_describe(one))
        return Checked(None, found)
    for problem in find_problems(document, models, tools):
        found.setdefault(problem.place, []).append(problem.text)
    unread = {one.place: _UNREAD[one.takes_no_part] for one in list_unread(document)}
    return Checked(document, found, unread)


def _describe(error: ErrorDetails) -> str:
    """In words for people; those of the library where there are none."""
    context = error.get("ctx", {})
    if str(context.get("pattern", "")).startswith("^[A-Za-z"):
        return _OF_CODE
    return _WORDS.get(error["type"], error["msg"]).format_map(context)


def _follow(data: Any, parts: Sequence[str | int]) -> tuple[str | int, ...]:
    """The parts as far as they lead into the document: behind them stands which of several types
    the value has not.
    """
    left, at = list[str | int](), data
    for part in parts:
        is_item, is_key = isinstance(part, int), isinstance(part, str)
        if not (is_item and isinstance(at, list)) and not (is_key and isinstance(at, Mapping)):
            break
        left.append(part)
        is_kind = left[:1] == ["flow"] and len(left) == 2  # nothing lies below it
        if not is_kind:
            at = dict(enumerate(at) if is_item else at).get(part)
    return tuple(left)


def find_place(parts: Sequence[str | int]) -> str:
    """Such as `agents[2].llm.temperature`, numbered from 1; which kind of flow it is, is no part
    of a place.
    """
    left = [*parts[:1], *parts[2:]] if parts[:1] == ("flow",) else list(parts)
    place = ""
    for part in left:
        place += f"[{part + 1}]" if isinstance(part, int) else f".{part}"
    return place.removeprefix(".")
