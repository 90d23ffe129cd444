"""What is wrong with a team as it stands in the form, by the place of the field."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from agentkit.teams.built.document import TeamDocument
from agentkit.teams.built.problems import find_problems


@dataclass(frozen=True, slots=True)
class Checked:
    """The team, where its form is right, and all that is wrong."""

    document: TeamDocument | None
    problems: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By place, such as `agents[1].name`."""

    def within(self, place: str) -> Iterator[tuple[str, str]]:
        """What is wrong at a place and in its parts."""
        for where, told in self.problems.items():
            if where == place or where.startswith((f"{place}.", f"{place}[")):
                yield from ((where, text) for text in told)


def check(
    data: Mapping[str, Any], models: Collection[str], tools: Collection[str] | None
) -> Checked:
    """Read the form, and look for what keeps the team from working."""
    found: dict[str, list[str]] = {}
    try:
        document = TeamDocument.model_validate(data)
    except ValidationError as error:
        for one in error.errors(include_url=False):
            found.setdefault(find_place(one["loc"]), []).append(one["msg"])
        return Checked(None, found)
    for problem in find_problems(document, models, tools):
        found.setdefault(problem.place, []).append(problem.text)
    return Checked(document, found)


def find_place(parts: Sequence[str | int]) -> str:
    """Such as `agents[2].llm.temperature`, numbered from 1; which kind of flow it is, is no part
    of a place.
    """
    left = [*parts[:1], *parts[2:]] if parts[:1] == ("flow",) else list(parts)
    place = ""
    for part in left:
        place += f"[{part + 1}]" if isinstance(part, int) else f".{part}"
    return place.removeprefix(".")
