"""What a reasoning model thinks before it answers, told apart from the answer: by field or by tag.

Servers send it beside the text (`reasoning_content` of DeepSeek and vLLM, `reasoning` of OpenRouter
and Ollama, a part of the content of Mistral), or in front of the answer as `<think>...</think>`, of
which some templates give the model the opening tag, so that only the closing one comes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from agentkit.messages import THINKING_FIELDS, field_of

_OPEN = "<think>"
_CLOSE = "</think>"
_CLOSING = re.compile(_CLOSE, re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
_LONE = re.compile(r"</think>[ \t]*(?=[\r\n]|\Z)", re.IGNORECASE)
_MOST = 100  # tags that are looked at; what has more of them is no thinking, and takes long
_LONGEST_BLANK = 64  # characters behind a closing tag that may still turn out to end its line

Kind = Literal["text", "thinking", "was_thinking"]


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a reply; `was_thinking` says it of all the text that came before, and has none."""

    kind: Kind
    text: str = ""


class Splitter:
    """Tells the thinking in a growing text from the answer; tags may come in pieces.

    Thinking begins with `<think>` at the beginning, never in the middle: there it is a word. Where
    nothing was thought so far, a `</think>` at the end of a line outside of fenced code says that
    all before it was thinking.
    """

    def __init__(self) -> None:
        self._held = ""
        self._state: Literal["start", "thinking", "closed", "answer"] = "start"
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
        rest, self._held = self._held, ""
        kind: Kind = "thinking" if self._state == "thinking" else "text"
        return [*parts, Part(kind, rest)] if rest else parts

    def _advance(self, *, is_over: bool) -> list[Part]:
        parts: list[Part] = []
        before = ("", "")
        while before != (before := (self._state, self._held)):
            match self._state:
                case "start" | "closed":
                    self._open(is_over)
                case "thinking":
                    parts += self._think()
                case "answer":
                    parts += self._answer(is_over)
        return [part for part in parts if part.text or part.kind == "was_thinking"]

    def _open(self, is_over: bool) -> None:
        text = self._held.lstrip()
        if text[: len(_OPEN)].lower() == _OPEN and self._tags < _MOST:
            self._tags += 1
            self._held, self._state = text[len(_OPEN) :], "thinking"
            self.thought_elsewhere()
        elif is_over or not _OPEN.startswith(text.lower()):
            self._held = text if self._state == "closed" else self._held
            self._state = "answer"

    def _think(self) -> list[Part]:
        if closing := _CLOSING.search(self._held):
            thought = self._held[: closing.start()]
            self._held = self._held[closing.end() :]
            self._state = "closed"
        else:
            size = len(self._held) - _begun(self._held)
            thought, self._held = self._held[:size], self._held[size:]
        return [Part("thinking", thought)]

    def _answer(self, is_over: bool) -> list[Part]:
        if not self._lone:
            text, self._held = self._held, ""
            return [Part("text", text)]
        closing = _CLOSING.search(self._held)
        if closing is None:
            return [self._said_up_to(len(self._held) - (0 if is_over else _begun(self._held)))]
        at, behind = closing.start(), self._held[closing.end() :]
        blank = not behind.strip(" \t") and len(behind) < _LONGEST_BLANK
        if blank and not is_over:
            return [self._said_up_to(at)]
        said = self._said_up_to(at)
        if not _LONE.match(self._held) or len(_FENCE.findall(self._said)) % 2:
            self._tags += 1
            said_too = self._said_up_to(len(_CLOSE))
            if self._tags > _MOST:
                self.thought_elsewhere()
            return [said, said_too]
        self._held, self._state = behind, "closed"
        self.thought_elsewhere()
        return [said, Part("was_thinking")]

    def _said_up_to(self, size: int) -> Part:
        text, self._held = self._held[:size], self._held[size:]
        self._said += text
        return Part("text", text)


def split(text: str) -> tuple[str, str]:
    """What was thought, and the answer; the text itself as the answer when nothing was."""
    splitter = Splitter()
    thinking = answer = ""
    for part in (*splitter.feed(text), *splitter.close()):
        if part.kind == "was_thinking":
            thinking, answer = answer, ""
        elif part.kind == "thinking":
            thinking += part.text
        else:
            answer += part.text
    return thinking.strip(), answer


def thought_in(message: object) -> str:
    """The thinking that stands beside the text of a message or of a piece of one; else empty.

    A server may name the same twice; the first that says something counts.
    """
    for key in THINKING_FIELDS:
        value = field_of(message, key)
        if isinstance(value, str) and value:
            return value
    return _in_parts(field_of(message, "content")) or _in_details(message)


def _in_parts(content: object) -> str:
    """Of Mistral: parts of type `thinking`, which hold texts, or a text."""
    parts = content if isinstance(content, list | tuple) else ()
    inner = [
        part.get("thinking")
        for part in parts
        if isinstance(part, Mapping) and part.get("type") == "thinking"
    ]
    return "".join(each if isinstance(each, str) else _texts(each) for each in inner)


def _in_details(message: object) -> str:
    details = field_of(message, "reasoning_details")
    return _texts(details, "text") or _texts(details, "summary")


def _texts(parts: object, key: str = "text") -> str:
    given = parts if isinstance(parts, Sequence) and not isinstance(parts, str | bytes) else ()
    texts = [part.get(key) for part in given if isinstance(part, Mapping)]
    return "".join(text for text in texts if isinstance(text, str))


def _begun(text: str) -> int:
    """How many characters at the end may be the beginning of a closing tag."""
    tail = text[-len(_CLOSE) + 1 :].lower()
    return next((n for n in range(len(tail), 0, -1) if _CLOSE.startswith(tail[-n:])), 0)
