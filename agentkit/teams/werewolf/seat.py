"""A seat at the table for a person: they are asked for what models reply in a structure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentkit import runs
from agentkit.agents.dialog import AgentBase, Msg
from agentkit.options import chosen
from agentkit.teams.werewolf.parsers import Choice, PhaseParser, Text, YesNo

_DECISIONS: dict[str, bool] = {"yes": True, "no": False}


class Seat(AgentBase):
    """A player that a person plays: silence where they say nothing, an abstention where they choose
    nobody.
    """

    def __init__(self, name: str, moderator: str, role: str) -> None:
        """`moderator` asks, and `role` says who the person is, as only they are told."""
        super().__init__(name, llm_config=False)
        self.moderator = moderator
        self.role = role
        self.parser: PhaseParser | None = None

    def set_parser(self, parser: PhaseParser) -> None:
        """Be asked for something else from now on."""
        self.parser = parser

    def reply(self, x: Msg | Sequence[Msg] | None = None) -> Msg:
        """Ask the person for what the phase needs; raises Stopped."""
        self.observe(x)
        assert self.parser is not None  # set before each reply
        values = self._ask(self.parser)
        content, told = self.parser.to_content(values), self.parser.to_metadata(values)
        said = Msg(self.name, content, "assistant", told)
        self.observe(said)
        self.speak(said)
        return said

    def _ask(self, parser: PhaseParser) -> dict[str, Any]:
        """What the phase needs, as its parser would give it."""
        values = parser.passed
        if "speak" in values:
            return values | self._ask_for_words(parser)
        return values | {
            key: self._ask_for_choice(field)
            for key, field in parser.fields.items()
            if not isinstance(field, Text)
        }

    def _ask_for_words(self, parser: PhaseParser) -> dict[str, Any]:
        """What they say; a werewolf who says nothing agrees."""
        words = " ".join(self._ask_person().split())
        said = {"speak": words} if words else {}
        agrees = {"finish_discussion": not words} if "finish_discussion" in parser.fields else {}
        return said | agrees

    def _ask_for_choice(self, field: Choice | YesNo) -> str | bool:
        by_option: dict[str, Any] = _DECISIONS
        if isinstance(field, Choice):
            by_option = {name: name for name in field.options}
        answer, _ = chosen(self._ask_person(list(by_option)))
        decided: str | bool = by_option.get(answer, field.passed)
        return decided

    def _ask_person(self, options: Sequence[str] = ()) -> str:
        prompt = f"{self.role} {self._last_word()}".strip()
        return runs.ask_human(self.moderator, prompt, options=options, to=self.moderator)

    def _last_word(self) -> str:
        """What the moderator said last, which says what is to be done now."""
        heard = self.memory.get_memory() if self.memory else []
        return next((str(one.content) for one in reversed(heard) if one.name == self.moderator), "")
