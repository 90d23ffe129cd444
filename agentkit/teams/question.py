"""A question: what is asked, of whom, over what, and with which limits, as one value.

The composer and the command line make it, the workspace asks it, the team is given it, and it is
stored with the message that asks it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, get_args

from agentkit.errors import WrongArgument
from agentkit.events import MessageSent
from agentkit.ledger import StoredMessage
from agentkit.llm.calls.pictures import Picture
from agentkit.llm.calls.wishes import NOTHING, Parameters, check_instructions
from agentkit.options import InputMode
from agentkit.retrieval import Source
from agentkit.retrieval.types import Scope
from agentkit.teams.planning_settings import Planning
from agentkit.teams.repeating import Repeat

if TYPE_CHECKING:
    from pydantic import TypeAdapter

EVERYTHING = Scope()


class Whom(TypedDict, total=False):
    """Of whom it is asked, and with which limits, as it can be given by name."""

    team_id: str
    model_id: str
    max_tokens: int | None
    go_on: bool
    human_input: InputMode | None
    planning: Planning | None


class Facts(Whom, total=False):
    """All fields of a question besides its text, as they can be given by name."""

    collection: str
    chat_id: str | None
    parent_id: str | None
    attachments: Sequence[Source]
    keep_attachments: bool
    pictures: tuple[Picture, ...]
    also: tuple[str, ...]
    instructions: str
    parameters: Parameters
    scope: Scope
    whole: tuple[str, ...]
    again: str
    repeat: Repeat | None


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, of whom, over what, and with which limits."""

    text: str
    collection: str = ""
    """The name of the collection that is looked into."""
    team_id: str = "answer"
    model_id: str = ""
    """The model that answers; empty for the chosen or first configured one."""
    chat_id: str | None = None
    """The chat that it belongs to; None for a new one."""
    parent_id: str | None = None
    """The message to go on from; None for the chat's head, empty for the beginning."""
    attachments: Sequence[Source] = ()
    """Files that go along and are taken in first."""
    keep_attachments: bool = False
    """Whether they are taken into the collection; else they are for this chat alone."""
    scope: Scope = EVERYTHING
    """What of the collection is looked into; what is attached to the chat is, too."""
    max_tokens: int | None = None
    """Most tokens that the models may take; None for what the settings allow."""
    again: str = ""
    """The id of the message that asked it first, when it is asked once more, with what it had."""
    whole: tuple[str, ...] = ()
    """The ids of earlier messages that are told word for word, however long the chat is."""
    go_on: bool = False
    """Whether it is asked once more so that its first answer is gone on with."""
    also: tuple[str, ...] = ()
    """Names of further collections that are looked into, each with its own settings."""
    instructions: str = ""
    """What every agent of the team is told beside its own system message."""
    parameters: Parameters = NOTHING
    """How the model of the team's agents is to answer."""
    human_input: InputMode | None = None
    """When the person is asked meanwhile, of teams in which one may take part; None for never, or,
    when it is asked `again`, for what it was then.
    """
    planning: Planning | None = None
    """How the team that plans first makes and runs its plans; None for unseen and without limits,
    or, when it is asked `again`, for how it was then.
    """
    repeat: Repeat | None = None
    """The finished run that its work begins from; None to begin at the beginning."""
    pictures: tuple[Picture, ...] = ()
    """What the model that answers is shown beside it."""

    def __post_init__(self) -> None:
        """Raises WrongArgument for a mode that there is not, and for instructions that are too
        long.
        """
        check_instructions(self.instructions)
        if self.human_input not in (None, *get_args(InputMode)):
            raise WrongArgument(
                f"human_input must be one of {', '.join(get_args(InputMode))}, not"
                f" {self.human_input!r}."
            )

    @property
    def collections(self) -> tuple[str, ...]:
        """The names of all collections that are looked into, each once."""
        return tuple(dict.fromkeys((self.collection, *self.also)))

    def to_json(self) -> dict[str, object]:
        """As it is stored: its team, and the fields that are not as they are by default."""
        fields: dict[str, object] = _adapter().dump_python(self, mode="json", exclude_defaults=True)
        return fields | {"team_id": self.team_id}

    @classmethod
    def from_json(cls, stored: Mapping[str, object]) -> Question:
        """What `to_json` made, now or in an older version; unknown keys are left out."""
        return _adapter().validate_python(_rename_fields(stored))

    @classmethod
    def from_message(cls, said: StoredMessage | MessageSent, team_id: str = "answer") -> Question:
        """The question that a message asks; of `team_id` if it is so old that it does not say
        whom.
        """
        return cls.from_json({"team_id": team_id, **said.extra, "text": said.content})


def scope_to_json(scope: Scope) -> object:
    """The fields that narrow, by name; empty when none does."""
    return Question("", scope=scope).to_json().get("scope", {})


def scope_from_json(stored: object) -> Scope:
    """What `scope_to_json` made."""
    return Question.from_json({"text": "", "scope": stored}).scope


@cache
def _adapter() -> TypeAdapter[Question]:
    from pydantic import TypeAdapter  # loaded when a question is stored or read

    return TypeAdapter(Question)


_EARLIER_NAMES = {
    "team": "team_id",
    "model": "model_id",
    "keep": "keep_attachments",
    "kept": "keep_attachments",
}


def _rename_fields(stored: Mapping[str, Any]) -> dict[str, Any]:
    """A stored question with the fields that older versions called otherwise under today's
    names.
    """
    known = {**stored, **stored.get("choice", {})}
    if "attachments" in known:  # of the oldest ones there are names alone
        known["attachments"] = list(map(_file, known["attachments"]))
    files = known.pop("files", None)
    if files:
        known["attachments"] = list(starmap(_to_source, files))
    return {_EARLIER_NAMES.get(name, name): value for name, value in known.items()}


def _to_source(name: str, path: str, origin: str) -> Source:
    """A file as older versions stored it."""
    return Source(name, Path(path), origin)


def _file(stored: object) -> object:
    if isinstance(stored, str):
        return Source(stored, Path(), f"upload:{stored}")
    return stored
