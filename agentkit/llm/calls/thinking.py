"""What a reasoning model thinks before it answers, told apart from the answer: by field or by tag.

Servers send it beside the text (`reasoning_content` of DeepSeek and vLLM, `reasoning` of OpenRouter
and Ollama, a part of the content of Mistral), or in front of the answer as `<think>...</think>`, of
which some templates give the model the opening tag, so that only the closing one comes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import Literal

from agentkit.messages import THINKING_FIELDS, field_of, mappings_in, text_or_empty

_OPEN = "<think>"
_CLOSE = "</think>"
_CLOSING = re.compile(_CLOSE, re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
_LONE = re.compile(r"</think>[ \t]*(?=[\r\n]|\Z)", re.IGNORECASE)
_MOST = 100  # tags that are looked at; a text with more of them is not thought, and takes long
_LONGEST_BLANK = 64  # characters behind a closing tag that may still turn out to end its line

Kind = Literal["text", "thinking", "was_thinking"]
_State = Literal["start", "thinking", "closed", "answer"]


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a reply; `was_thinking` says it of all the text that came before, and has none."""

    kind: Kind
    text: str = ""

    @property
    def says_something(self) -> bool:
        """Whether it is more than an empty text."""
        return self.text != "" or self.kind == "was_thinking"


class Splitter:
    """Tells the thinking in a growing text from the answer; tags may come in pieces.

    Thinking begins with `<think>` at the beginning, never in the middle: there it is a word. Where
    nothing was thought so far, a `</think>` at the end of a line outside of fenced code says that
    all before it was thinking.
    """

    def __init__(self) -> None:
        self._held = ""
        self._state: _State = "start"
        self._lone = True
        """Whether a closing tag alone may still come."""
        self._said = ""
        """The text so far, as long as it may turn out to be thinking."""
        self._tags = 0

    def thought_elsewhere(self) -> None:
        """The thinking came beside the text: a closing tag alone means nothing."""
        self._lone, self._said = False, ""

    def feed(self, piece: str) -> list[Part]:
        """The parts that are sure with this piece."""
        self._held += piece
        return self._advance(is_over=False)

    def close(self) -> list[Part]:
        """What is left when nothing more comes."""
        parts = self._advance(is_over=True)
        if self._held:
            kind: Kind = "text"
            if self._state == "thinking":
                kind = "thinking"
            parts.append(Part(kind, self._held))
            self._held = ""
        return parts

    def _advance(self, *, is_over: bool) -> list[Part]:
        parts: list[Part] = []
        before = ("", "")
        while before != (before := (self._state, self._held)):
            parts += _STEPS[self._state](self, is_over)
        return list(filter(attrgetter("says_something"), parts))

    def _open(self, is_over: bool) -> list[Part]:
        text = self._held.lstrip()
        if text[: len(_OPEN)].lower() == _OPEN and self._tags < _MOST:
            self._tags += 1
            self._held, self._state = text[len(_OPEN) :], "thinking"
            self.thought_elsewhere()
        elif is_over or not _OPEN.startswith(text.lower()):
            self._state = "answer"
        return []

    def _open_again(self, is_over: bool) -> list[Part]:
        """The same behind what was thought: blanks before the answer are not part of it."""
        self._held = self._held.lstrip()
        return self._open(is_over)

    def _think(self, is_over: bool) -> list[Part]:
        if closing := _CLOSING.search(self._held):
            thought = self._held[: closing.start()]
            self._held = self._held[closing.end() :]
            self._state = "closed"
        else:
            size = len(self._held) - _count_begun(self._held)
            thought, self._held = self._held[:size], self._held[size:]
        return [Part("thinking", thought)]

    def _answer(self, is_over: bool) -> list[Part]:
        if not self._lone:
            text, self._held = self._held, ""
            return [Part("text", text)]
        closing = _CLOSING.search(self._held)
        if closing is None:
            begun = 0
            if not is_over:
                begun = _count_begun(self._held)
            return [self._take(len(self._held) - begun)]

        before, behind = self._take(closing.start()), self._held[len(_CLOSE) :]
        may_go_on = not is_over and _may_end_line(behind)
        if may_go_on:
            return [before]
        is_tag = _LONE.match(self._held) and not self._is_in_code()
        if not is_tag:
            return [before, self._take_tag()]
        self._held, self._state = behind, "closed"
        self.thought_elsewhere()
        return [before, Part("was_thinking")]

    def _is_in_code(self) -> bool:
        """Whether a fence in the text so far is still open."""
        return len(_FENCE.findall(self._said)) % 2 == 1

    def _take_tag(self) -> Part:
        """The closing tag as text: it ends nothing."""
        tag = self._take(len(_CLOSE))
        self._tags += 1
        if self._tags > _MOST:
            self.thought_elsewhere()
        return tag

    def _take(self, size: int) -> Part:
        text, self._held = self._held[:size], self._held[size:]
        self._said += text
        return Part("text", text)


_STEPS: Mapping[_State, Callable[[Splitter, bool], list[Part]]] = {
    "start": Splitter._open,
    "thinking": Splitter._think,
    "closed": Splitter._open_again,
    "answer": Splitter._answer,
}


def _may_end_line(text: str) -> bool:
    """Whether only blanks came behind a closing tag, and the next piece may end the line."""
    return not text.strip(" \t") and len(text) < _LONGEST_BLANK


def split_thinking(text: str) -> tuple[str, str]:
    """What was thought, and the answer; the text itself as the answer when nothing was."""
    splitter = Splitter()
    said: dict[Kind, str] = {"thinking": "", "text": "", "was_thinking": ""}
    for part in (*splitter.feed(text), *splitter.close()):
        said[part.kind] += part.text
        if part.kind == "was_thinking":
            said["thinking"], said["text"] = said["text"], ""
    return said["thinking"].strip(), said["text"]


def find_thinking(message: object) -> str:
    """The thinking that stands beside the text of a message or of a piece of one; else empty.

    A server may name the same twice; the first that says something counts.
    """
    details = field_of(message, "reasoning_details")
    named = map(partial(field_of, message), THINKING_FIELDS)
    found = chain(
        map(text_or_empty, named),
        [_join_thoughts(field_of(message, "content"))],
        [_join_texts(details, "text"), _join_texts(details, "summary")],
    )
    return next(filter(None, found), "")


def _join_thoughts(content: object) -> str:
    """Of Mistral: parts of type `thinking`, which hold texts, or a text."""
    said = ""
    for part in mappings_in(content):
        if part.get("type") == "thinking":
            thought = part.get("thinking")
            said += text_or_empty(thought) or _join_texts(thought, "text")
    return said


def _join_texts(parts: object, key: str) -> str:
    texts = (part.get(key) for part in mappings_in(parts))
    return "".join(map(text_or_empty, texts))


def _count_begun(text: str) -> int:
    """How many characters at the end may be the beginning of a closing tag."""
    tail = text[-len(_CLOSE) + 1 :].lower()
    while not _CLOSE.startswith(tail):
        tail = tail[1:]
    return len(tail)
