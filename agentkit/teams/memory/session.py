"""What the agents of a team remember of earlier questions of a chat: what each of them said and
found then, not the answers alone.

All of it is in the ledger: the words between agents, and the passages that answers cite. So it is
the same after a restart, on another branch, and whatever team answered in between. What was told
for the question before is kept in the chat's session, and not made once more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from agentkit.llm.offline.passages import Passage, format_passages, parse_passages
from agentkit.llm.tokens.counting import counter_of
from agentkit.llm.tokens.windows import window_of
from agentkit.messages import (
    Stored,
    interrupt_calls,
    is_result,
    join_responses,
)
from agentkit.teams.citing import MARKER, Citation, describe_source, read_markers
from agentkit.teams.ending import without_ending
from agentkit.teams.live import Said, Told
from agentkit.teams.task import Task, Work

FIRST = 101
"""The number of the first passage that was found for an earlier question; new ones begin at 1."""
SHARE = 4
"""The words of agents take one part in so many of the model's window."""
UNKNOWN_WINDOW, LONGEST = 16_000, 16_000
"""Tokens that are counted on where nobody knows the window, and most tokens of these words."""
_UNCITED = "(Nothing of what was found here was cited.)"
_LONGEST_RESULT = 2_000  # characters of what another tool gave


@dataclass(frozen=True, slots=True)
class Remembered:
    """What is remembered, as it is told today."""

    said: Mapping[int, Sequence[Said]]
    """By the place of the question."""
    citations: Mapping[int, Citation]
    """The passages in it, by the numbers that they have now."""


def restore(task: Task) -> Remembered:
    """The newest work of the team for turns that are told word for word, as much as fits."""
    window = window_of(task.model) or UNKNOWN_WINDOW
    room = min(LONGEST, window // SHARE)
    numbers = _Numbers()
    remembered: dict[int, Sequence[Said]] = {}
    before, task.session.told = task.session.told, {}
    for work in reversed(task.earlier()):
        if work.place not in task.places:
            break
        new = numbers.add(work)
        key = (work.answer_id, task.model.id, tuple(new.items()))
        told = before.get(key)
        if told is None:
            told = _tell(work, new, task)
        task.session.told[key] = told
        room -= told.tokens
        if room < 0:
            break
        remembered[work.place] = told.words
    return Remembered(remembered, numbers.citations)


def _tell(work: Work, new: Mapping[int, int], task: Task) -> Told:
    words = renumber(work, new)
    counter = counter_of(task.model)
    tokens = [counter.text(one.content)[0] for one in words]
    return Told(words, sum(tokens))


def as_history(said: Sequence[Said], agent: str, person: str) -> list[Stored]:
    """The words as an agent keeps them; the first of them is the question of the `person`."""
    made: list[Stored] = []
    for number, one in enumerate(said):
        if one.role == "tool":
            result = _as_result(made, one.content)
            made.append(result)
            continue
        is_own = one.sender == agent or bool(one.calls)
        known: Stored = {
            "content": one.content or None,
            "role": "assistant" if is_own else "user",
            "name": one.sender if number else person,
        }
        known |= cast(Stored, one.calls)
        made.append(known)
    return made


def _as_result(before: Sequence[Stored], content: str) -> Stored:
    """The results of the calls before it; all that they gave stands with the first."""
    calls = Stored()
    if before:
        calls = before[-1]
    results = interrupt_calls(calls, "(See the first result.)")
    if not results:
        return {"role": "user", "content": content, "name": "tool"}
    results[0]["content"] = content
    return join_responses(results)


class _Numbers:
    """Gives the passages of earlier work numbers of their own, the same passage the same."""

    def __init__(self) -> None:
        self.citations: dict[int, Citation] = {}
        self._known: dict[tuple[str, int, int], int] = {}

    def add(self, work: Work) -> dict[int, int]:
        """The numbers that the passages of the work have now, by those that they had."""
        return {marker: self._number(one) for marker, one in work.citations.items()}

    def _number(self, citation: Citation) -> int:
        key = (citation.document_id, citation.start, citation.end)
        number = self._known.setdefault(key, FIRST + len(self._known))
        self.citations[number] = citation
        return number


def renumber(work: Work, new: Mapping[int, int]) -> list[Said]:
    """The words of earlier work with these numbers; results are cut to what the answer cites."""
    passages: list[Passage] = []
    for marker, citation in sorted(work.citations.items()):
        source = describe_source(citation)
        passages.append(Passage(new[marker], source, citation.text))
    cited = format_passages(passages)
    words: list[Said] = []
    for one in work.said:
        content = _change_markers(without_ending(one.content), new)
        if is_result({"role": one.role}):
            content = _shorten_result(one.content, cited)
            if content == cited:
                cited = ""
        words.append(Said(one.sender, one.role, content, one.calls))
    return words


def _shorten_result(content: str, cited: str) -> str:
    """What a tool gave: of passages those that are cited, told once; of all else the beginning."""
    if not parse_passages(content):
        return content[:_LONGEST_RESULT]
    return cited or _UNCITED


def _change_markers(text: str, new: Mapping[int, int]) -> str:
    """The text with the new numbers of its passages, without those that name none."""

    known = _Renaming(new)
    return MARKER.sub(known.rename, text)


@dataclass(frozen=True, slots=True)
class _Renaming:
    """Numbers of passages by those that they had."""

    new: Mapping[int, int]

    def rename(self, marker: re.Match[str]) -> str:
        """The marker with the new numbers; empty where it names none."""
        found = read_markers(marker[0])
        numbers = [str(self.new[number]) for number in found if number in self.new]
        if not numbers:
            return ""
        return f"[{', '.join(numbers)}]"
