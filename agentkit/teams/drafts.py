"""What a run has written of its answer, read off its events: the text, and the passages behind
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from agentkit.core.given import pick_kind
from agentkit.events import (
    Event,
    MessageSent,
    ModelCalled,
    ModelReplied,
    Retrieved,
    ThinkingDelta,
    TokenDelta,
    ToolReturned,
)
from agentkit.llm.offline.passages import Passage, parse_passages
from agentkit.messages import has_calls, text_of
from agentkit.teams.citing import Citation, find_markers
from agentkit.teams.ending import without_ending
from agentkit.teams.task import Team

_REPEATED, _LEAST = 400, 12  # characters that may stand twice where a text was gone on with
_LONGEST_WORD = 40
EARLIER = "earlier"
"""The mode of a Retrieved that only takes over what was found before."""
_NO_AGENTS = ("tool", "function", "user")
"""Roles of messages that no agent wrote."""


@dataclass(frozen=True, slots=True)
class Begun:
    """What there is of an answer."""

    text: str
    """What its writer had written of it."""
    said: Sequence[tuple[str, str, str]]
    """What the agents told one another before: sender, recipient and text."""
    passages: Mapping[int, tuple[Passage, Mapping[str, Any]]]
    """What they found, as `find_passages` gives it."""


class Draft:
    """Follows what an agent writes and thinks, without what it had said to others before."""

    def __init__(self, agent: str) -> None:
        self.agent = agent
        self.begun = ""
        """What there was of an answer that is gone on with."""
        self.text: list[str] = []
        self.thinking: list[str] = []
        self._call_id = ""

    def read(self) -> str:
        """What `read_draft` gives."""
        return without_ending(join_parts(self.begun, "".join(self.text)))

    def follow(self, events: Iterable[Event]) -> Draft:
        """The draft after these events."""
        for event in events:
            self.hear(event)
        return self

    def hear(self, event: Event) -> None:
        """Take the next event in."""
        match event:
            case MessageSent() if event.extra.get("begun"):
                self.begun = str(event.extra["begun"])
            case MessageSent(sender=self.agent):
                self._empty()
            case ModelCalled(purpose="chat", agent=self.agent):
                self._call_id = event.call_id
                self._empty()
            case TokenDelta(call_id=self._call_id):
                self.text.append(event.text)
            case ThinkingDelta(call_id=self._call_id, was_text=True):
                self.thinking += [*self.text, event.text]
                self.text.clear()
            case ThinkingDelta(call_id=self._call_id):
                self.thinking.append(event.text)
            case ModelReplied(call_id=self._call_id) if event.text:
                self.text[:] = [event.text]

    def _empty(self) -> None:
        self.text.clear()
        self.thinking.clear()


def read_draft(events: Iterable[Event], agent: str) -> str:
    """What the agent is writing, or wrote last, without what it had said to others before.

    Of an answer that is gone on with, it begins with what there was of it.
    """
    return Draft(agent).follow(events).read()


def read_answer(events: Iterable[Event], agent: str) -> str:
    """The draft; when that is nothing, what the agent told the others last."""
    heard = list(events)
    draft = read_draft(heard, agent)
    if draft:
        return draft
    return _read_last_said(heard, agent)


def read_unfinished(events: Iterable[Event], team: Team) -> str:
    """What there is of a team's answer: what its last agent wrote, or told the others where it can
    be gone on with.
    """
    writer = team.agents[-1]
    if team.goes_on:
        return read_answer(events, writer)
    return read_draft(events, writer)


def _read_last_said(events: Sequence[Event], agent: str) -> str:
    for event in reversed(events):
        match event:
            case MessageSent(sender=sender) if sender == agent and is_audible(event):
                return _read_said(event)
    return ""


def _read_said(message: MessageSent) -> str:
    """What a message says to others; with calls of tools it says nothing yet."""
    if has_calls(message.extra):
        return ""
    return without_ending(message.content)


def is_audible(message: MessageSent) -> bool:
    """Whether others hear a message, and people see it."""
    return not message.extra.get("silent")


def join_parts(begun: str, more: str) -> str:
    """A text that broke off and what was written on, of which models repeat the last words at
    times.
    """
    if not begun:
        return more
    rest = more[_count_repeated(begun, more) :]
    last = begun[-1]
    if last.isspace():
        return begun + rest.lstrip(" ")
    ends_clause = last in ".!?:;,)]"
    begins_word = rest[:1].isalnum()
    if ends_clause and begins_word:
        return f"{begun} {rest}"
    return begun + rest


def _count_repeated(begun: str, more: str) -> int:
    """How many of the first characters of a text are the last ones of the text before."""
    longest = min(len(begun), len(more), _REPEATED)
    for length in range(longest, _LEAST - 1, -1):
        beginning = more[:length]
        if begun.endswith(beginning):
            return length
    return 0


def drop_broken_word(text: str) -> str:
    """A text that broke off without the last of its words, which may be a part of one."""
    start = max(text.rfind(" "), text.rfind("\n")) + 1
    word = text[start:]
    if start == 0 or len(word) > _LONGEST_WORD:
        return text
    if text[-1:].isalnum():
        return text[:start]
    return text


def find_passages(events: Iterable[Event]) -> dict[int, tuple[Passage, Mapping[str, Any]]]:
    """The passages that models were given by their numbers, each with the hit it is from."""
    hits: dict[str, Mapping[str, Any]] = {}
    given: dict[int, tuple[Passage, Mapping[str, Any]]] = {}
    for event in events:
        hits |= _list_hits(event)
        for passage in _read_passages(event):
            hit = hits.get(passage.text)
            if hit is not None:
                given[passage.marker] = (passage, hit)
    return given


def _list_hits(event: Event) -> dict[str, Mapping[str, Any]]:
    """What an event tells was found, by its text."""
    if not isinstance(event, Retrieved):
        return {}
    return {str(hit["text"]): hit for hit in event.hits}


def _read_material(event: Event) -> list[str]:
    """The texts in which an event gives a model passages."""
    match event:
        case ModelCalled(purpose="chat"):
            return [text_of(said.get("content")) for said in event.messages]
        case ToolReturned():
            return [event.content]
    return []


def _read_passages(event: Event) -> Iterator[Passage]:
    """The passages that an event gives a model."""
    material = _read_material(event)
    return chain.from_iterable(map(parse_passages, material))


def find_citations(text: str, events: Iterable[Event]) -> list[Citation]:
    """The citations for the markers in a text of the agents that these events are of."""
    return cite_passages(text, find_passages(events))


def cite_passages(
    text: str, passages: Mapping[int, tuple[Passage, Mapping[str, Any]]]
) -> list[Citation]:
    """The citations for the markers in a text, of passages as `find_passages` gives them."""
    citations: list[Citation] = []
    for number in find_markers(text):
        if number not in passages:
            continue
        _, hit = passages[number]
        cited = Citation.from_json({**hit, "marker": number})
        citations.append(cited)
    return citations


def find_talk(events: Sequence[object]) -> list[tuple[str, str, str]]:
    """What agents told one another in these events: sender, recipient and text."""
    talk: list[tuple[str, str, str]] = []
    for event in pick_kind(events, MessageSent):
        if _is_talk(event):
            told = (event.sender, event.recipient, event.content)
            talk.append(told)
    return talk


def _is_talk(message: MessageSent) -> bool:
    """Whether one agent told others something, and finished it."""
    is_inner = message.extra.get("inner") and is_audible(message)
    if not is_inner:
        return False
    if message.role in _NO_AGENTS:
        return False
    if message.status != "complete":
        return False
    return message.content.strip() != ""
