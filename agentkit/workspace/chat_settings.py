"""What the questions of a chat are asked with, until it is set otherwise: stored with the chat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from agentkit.errors import WrongArgument
from agentkit.ledger import Ledger
from agentkit.llm.calls.wishes import NOTHING, Parameters
from agentkit.teams import Question

_NAME = "settings"


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """The fields of a question, by the same names, that its chat has for all of them."""

    also: tuple[str, ...] = ()
    instructions: str = ""
    parameters: Parameters = NOTHING

    @classmethod
    def of_question(cls, question: Question) -> ChatSettings:
        """What this question is asked with."""
        return cls(question.also, question.instructions, question.parameters)

    def ask(self, question: Question) -> Question:
        """The question with these settings."""
        others = tuple(name for name in self.also if name != question.collection)
        return replace(
            question,
            also=others,
            instructions=self.instructions,
            parameters=self.parameters,
        )

    def to_json(self) -> dict[str, object]:
        """Those that are set, as they are stored."""
        fields = self.ask(Question("")).to_json()
        del fields["text"], fields["team_id"]
        return fields


UNSET = ChatSettings()


def from_json(stored: Mapping[str, object]) -> ChatSettings:
    """What `to_json` gave; what it lacks, or what makes no sense, is as it is by default."""
    known = {name: stored[name] for name in ChatSettings.__slots__ if name in stored}
    if not known:
        return UNSET
    try:
        return ChatSettings.of_question(Question.from_json({"text": "", **known}))
    except (ValueError, WrongArgument):  # pydantic's is a ValueError
        return UNSET


def read(ledger: Ledger, owner: str, chat_id: str) -> ChatSettings:
    """Those of a chat; an empty id means the owner's next new one."""
    return from_json(ledger.settings(owner, chat_id).get(_NAME) or {})


def keep(ledger: Ledger, owner: str, chat_id: str, settings: ChatSettings) -> None:
    """Store them with the chat; raises NotFound."""
    ledger.set(owner, chat_id, _NAME, settings.to_json() or None)
