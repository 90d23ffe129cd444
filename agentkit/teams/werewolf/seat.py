"""A seat at the table for a person: they are asked for what models reply in a structure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agentkit import runs
from agentkit.agents.dialog import AgentBase, Msg
from agentkit.options import read_choice
from agentkit.teams.werewolf.parsers import Field, PhaseParser, Text


class Seat(AgentBase):
    """A player that a person plays: silence where they say nothing, an abstention where they choose
    nobody.
    """

    def __init__(self, name: str, moderator: str, role: str, last_word: Callable[[], str]) -> None:
        """`moderator` asks with their `last_word`, and `role` says who the person is, as only they
        are told.
        """
        super().__init__(name, use_memory=False, llm_config=False)
        self.moderator = moderator
        self.role = role
        self.last_word = last_word
        self.parser: PhaseParser | None = None

    def set_parser(self, parser: PhaseParser) -> None:
        """Be asked for something else from now on."""
        self.parser = parser

    def reply(self, x: Msg | Sequence[Msg] | None = None) -> Msg:
        """Ask the person for what the phase needs; raises Stopped."""
        assert self.parser is not None  # set before each reply
        values = self._ask(self.parser)
        content, told = self.parser.to_content(values), self.parser.to_metadata(values)
        said = Msg(self.name, content, "assistant", told)
        self.speak(said)
        return said

    def _ask(self, parser: PhaseParser) -> dict[str, Any]:
        """What the phase needs, as its parser would give it."""
        values = parser.passed
        if "speak" in values:
            words = " ".join(self._ask_person().split())
            said = {"speak": words or values["speak"], "finish_discussion": not words}
            return {key: said.get(key, passed) for key, passed in values.items()}
        (key,) = values.keys() - {"thought"}
        return {**values, key: self._ask_for_choice(parser.fields[key])}

    def _ask_for_choice(self, field: Field) -> str | bool:
        assert not isinstance(field, Text)  # else they would be asked for words
        answer, _ = read_choice(self._ask_person(field.options))
        try:
            return field.read(answer)
        except ValueError:
            return field.passed

    def _ask_person(self, options: Sequence[str] = ()) -> str:
        prompt = f"{self.role} {self.last_word()}"
        return runs.ask_human(self.moderator, prompt, options=options, to=self.moderator)
