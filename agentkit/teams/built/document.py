"""A team as one document: read, checked, and written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from agentkit.core.given import find_first
from agentkit.errors import ConfigError
from agentkit.teams.built.agents import AgentDocument, Name, Part, WrittenFunction
from agentkit.teams.built.flows import Flow

VERSION: Literal[1] = 1
MOST_AGENTS = 50
MOST_FUNCTIONS = 50
LONGEST = 2_000_000
"""Characters of a document."""
_SHOWN = 8
"""Problems that one error tells."""


class TeamDocument(Part):
    """A team: who is in it, and how they work together."""

    format: Literal["agentkit.team"] = "agentkit.team"
    """What kind of document it is."""
    version: Literal[1] = VERSION
    """The version of this form."""
    name: Name
    """What the team is called."""
    description: Annotated[str, Field(max_length=2_000)] = ""
    """What it is good for, in a sentence."""
    agents: Annotated[list[AgentDocument], Field(min_length=1, max_length=MOST_AGENTS)]
    """Who is in it."""
    flow: Flow
    """How they work together."""
    functions: Annotated[list[WrittenFunction], Field(max_length=MOST_FUNCTIONS)] = Field(
        default_factory=list
    )
    """Functions of its own that its agents may be given as tools."""

    def agent(self, name: str) -> AgentDocument:
        """The agent of that name; raises ConfigError."""
        found = find_first(self.agents, lambda one: one.name == name)
        if found is None:
            raise ConfigError(f"The team “{self.name}” has no agent {name!r}.")
        return found

    def to_json(self) -> dict[str, Any]:
        """The whole document, defaults included, so that it means the same later on."""
        return self.model_dump(mode="json", by_alias=True)


def read_document(given: str | bytes | Mapping[str, Any]) -> TeamDocument:
    """The document of a text or of a dict; raises ConfigError that says what is wrong, and where.

    Reading runs nothing: neither tools nor models of the document are looked for.
    """
    data: Any = given
    if isinstance(given, str | bytes):
        data = _parse(given)
    check_form(data)
    _check_letters(data)
    try:
        return TeamDocument.model_validate(data)
    except ValidationError as error:
        raise ConfigError(f"The team cannot be read. {describe_errors(error)}") from error


def _parse(text: str | bytes) -> Any:
    if len(text) > LONGEST:
        raise ConfigError(
            f"The team has {len(text):,} characters; a team of more than {LONGEST:,} is not read."
        )
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"The team cannot be read: it is not JSON ({error}).") from error


def _check_letters(data: object) -> None:
    """Whether all of it can be written into a file: JSON may name halves of letters."""
    try:
        json.dumps(data, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start : error.end]
        raise ConfigError(
            f"The team cannot be read: it has half a letter in it ({half!a}); take it out."
        ) from None


def check_form(data: object) -> None:
    """Raise ConfigError for anything but a team of a version that is known here."""
    if not isinstance(data, Mapping):
        raise ConfigError("The team cannot be read: it must be a JSON object with its parts.")
    if data.get("format", "agentkit.team") != "agentkit.team":
        raise ConfigError(
            f"This is not a team of agentkit: its format is {str(data['format'])[:80]!r}."
        )
    version = data.get("version", VERSION)
    if isinstance(version, int) and version > VERSION:
        raise ConfigError(
            f"The team is of version {version}, which is newer than this agentkit knows"
            f" ({VERSION}); install a newer agentkit."
        )


def describe_errors(error: ValidationError) -> str:
    """The problems in words, each with its place in the document."""
    problems: list[str] = []
    for one in error.errors(include_url=False):
        place = _place(one["loc"])
        problems.append(f"{place}: {one['msg']}")
    shown = "; ".join(problems[:_SHOWN])
    more = len(problems) - _SHOWN
    if more > 0:
        shown = f"{shown}; and {more} more"
    return f"{shown}."


def _place(parts: Iterable[str | int]) -> str:
    """Such as `agents[2].llm.temperature`."""
    place = ""
    for part in parts:
        if isinstance(part, int):
            place += f"[{part + 1}]"
        else:
            place += f".{part}"
    return place.removeprefix(".") or "the document"
