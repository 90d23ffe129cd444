"""What a run has written of its answer, read off its events: the text, and the passages behind
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

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
from agentkit.teams.ending import without_ending
from agentkit.teams.task import Citation, markers

_REPEATED, _LEAST = 400, 12  # characters that may stand twice where a text was gone on with
_LONGEST_WORD = 40


def streamed(events: Iterable[Event], agent: str) -> str:
    """What the agent is writing, or wrote last, without what it had said to others before.

    Of an answer that is gone on with, it begins with what there was of it.
    """
    begun, writing, pieces = "", "", list[str]()
    for event in events:
        match event:
            case MessageSent() if event.extra.get("begun"):
                begun = str(event.extra["begun"])
            case MessageSent() if event.sender == agent:
                pieces.clear()
            case ModelCalled(purpose="chat") if event.agent == agent:
                writing = event.call_id
                pieces.clear()
            case TokenDelta() if event.call_id == writing:
                pieces.append(event.text)
            case ThinkingDelta(was_text=True) if event.call_id == writing:
                pieces.clear()
            case ModelReplied() if event.call_id == writing and event.text:
                pieces[:] = [event.text]
            case _:
                pass
    return without_ending(joined(begun, "".join(pieces)))


def thinking(events: Iterable[Event], agent: str) -> str:
    """What the agent thought before what `streamed` gives."""
    writing, pieces, text = "", list[str](), list[str]()
    for event in events:
        match event:
            case MessageSent() if event.sender == agent:
                pieces.clear()
            case ModelCalled(purpose="chat") if event.agent == agent:
                writing, pieces, text = event.call_id, [], []
            case TokenDelta() if event.call_id == writing:
                text.append(event.text)
            case ThinkingDelta() if event.call_id == writing:
                pieces += [*text, event.text] if event.was_text else [event.text]
                text = [] if event.was_text else text
            case _:
                pass
    return "".join(pieces)


def joined(begun: str, more: str) -> str:
    """A text that broke off and what was written on, of which models repeat the last words at
    times.
    """
    if not begun:
        return more
    longest = min(len(begun), len(more), _REPEATED)
    again = next((n for n in range(longest, _LEAST - 1, -1) if begun.endswith(more[:n])), 0)
    rest = more[again:]
    if begun[-1].isspace():
        return begun + rest.lstrip(" ")
    apart = begun[-1] in ".!?:;,)]" and rest[:1].isalnum()
    return f"{begun} {rest}" if apart else begun + rest


def whole_words(text: str) -> str:
    """A text that broke off without the last of its words, which may be a part of one."""
    start = max(text.rfind(" "), text.rfind("\n")) + 1
    in_word = text[-1:].isalnum() and start > 0 and len(text) - start <= _LONGEST_WORD
    return text[:start] if in_word else text


def written(events: Iterable[Event], agent: str) -> str:
    """The same; when that is nothing, what the agent told the others last."""
    heard = list(events)
    if text := streamed(heard, agent):
        return text
    said = [
        event
        for event in heard
        if isinstance(event, MessageSent)
        and event.sender == agent
        and not event.extra.get("silent")
    ]
    return without_ending(said[-1].content) if said and not has_calls(said[-1].extra) else ""


def passages_in(events: Iterable[Event]) -> dict[int, tuple[Passage, Mapping[str, Any]]]:
    """The passages that models were given by their numbers, each with the hit it is from."""
    hits: dict[str, Mapping[str, Any]] = {}
    given: dict[int, tuple[Passage, Mapping[str, Any]]] = {}
    for event in events:
        texts: list[str] = []
        if isinstance(event, Retrieved):
            hits |= {str(hit["text"]): hit for hit in event.hits}
        elif isinstance(event, ModelCalled) and event.purpose == "chat":
            texts = [text_of(said.get("content")) for said in event.messages]
        elif isinstance(event, ToolReturned):
            texts = [event.content]
        for passage in (found for text in texts for found in parse_passages(text)):
            if passage.text in hits:
                given[passage.marker] = (passage, hits[passage.text])
    return given


def citations_in(text: str, events: Iterable[Event]) -> list[Citation]:
    """The citations for the markers in a text of the agents that these events are of."""
    given = passages_in(events)
    return [citation_of(number, given[number][1]) for number in markers(text) if number in given]


def citation_of(marker: int, hit: Mapping[str, Any]) -> Citation:
    """The citation of a hit as it travels in an event."""
    names = [name for name in Citation.__dataclass_fields__ if name != "marker"]
    return Citation(marker, **{name: hit[name] for name in names})
