"""How the team that plans first works in a chat: whether its plans are seen before they run, and
their limits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from agentkit.errors import WrongArgument

PlanLanguage = Literal["en", "zh"]
"""A language that planner, reader and solver can be spoken with: English or Chinese."""
READER, READ = "Reader", "read_result"
"""Who reads a value out of results, and the tool that asks it."""
MOST_REPLANS = 5
_HAN, _KANA = re.compile("[\u4e00-\u9fff]"), re.compile("[\u3040-\u30ff]")


@dataclass(frozen=True, slots=True)
class Planning:
    """How plans are made and run."""

    seen_first: bool = False
    """Whether the person sees each plan before it runs, and may change it."""
    most_steps: int | None = None
    """Most steps of a plan; None for as many as can be read."""
    most_lookups: int | None = None
    """Most steps of a plan that look something up; None for any number."""
    replans: int = 1
    """How often it may be planned again when steps have failed, 0 to 5."""
    language: PlanLanguage | None = None
    """Language of the prompts; None for that of the question."""

    def __post_init__(self) -> None:
        """Raises WrongArgument for a value that cannot be."""
        _check_limit("most_steps", self.most_steps)
        _check_limit("most_lookups", self.most_lookups)
        if not 0 <= self.replans <= MOST_REPLANS:
            raise WrongArgument(f"replans is {self.replans!r}; give 0 to {MOST_REPLANS}.")
        languages = get_args(PlanLanguage)
        if self.language not in (None, *languages):
            known = ", ".join(languages)
            raise WrongArgument(f"language is {self.language!r}; give one of {known}, or None.")

    def speaks(self, question: str) -> PlanLanguage:
        """The language of the prompts for this question."""
        if self.language:
            return self.language
        if _KANA.search(question):
            return "en"
        if _HAN.search(question):
            return "zh"
        return "en"


def _check_limit(name: str, value: int | None) -> None:
    if value is None:
        return
    if value < 1:
        raise WrongArgument(f"{name} is {value!r}; give 1 or more, or None for no limit.")
