"""Where in a text JSON may stand: balanced brackets and fenced blocks, found in one pass."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from agentkit.parsers.base import MOST_TRIED, Span
from agentkit.parsers.decoding import decode_prefix

JSON_LANGUAGES = ("json", "json5", "jsonc")
NOWHERE = -1

# The full-width brackets are those of Chinese and Japanese keyboards.
_CLOSES = {"}": "{", "]": "[", "｝": "｛", "］": "［"}
_OPENERS = frozenset(_CLOSES.values())
_BRACKETS = r"\[\]{}［］｛｝"
_TICKS = r"(?!`{3}|~{3})[`~]"
_STRING = r'"(?:[^"\\]++|\\.)*+"'
_PLAIN = rf'[^"{_BRACKETS}`~]++|{_STRING}|{_TICKS}'
_PLAIN_WITHOUT_STRINGS = rf"[^{_BRACKETS}`~]++|{_TICKS}"


def _inside(plain: str) -> re.Pattern[str]:
    """How to get from one bracket to the next or to a fence; a pair that holds at most pairs is one
    step.
    """
    inner = rf"\{{(?:{plain})*+\}}|\[(?:{plain})*+\]"
    pair = rf"\{{(?:{plain}|{inner})*+\}}|\[(?:{plain}|{inner})*+\]"
    return re.compile(rf"(?:{plain}|{pair})*+", re.DOTALL)


_INSIDE, _INSIDE_WITHOUT_STRINGS = _inside(_PLAIN), _inside(_PLAIN_WITHOUT_STRINGS)
# Each alternative begins with a character of its own: the search is fast then. Short pairs such as
# [1] are one step.
_SHORT = rf"[^\"{_BRACKETS}`~]{{0,200}}+"
_OUTSIDE = re.compile(rf"(?P<pair>\[{_SHORT}\]|\{{{_SHORT}\}})|\[|\{{|［|｛|```|~~~")
_FENCE = re.compile(
    r"(?:`{3,}+|~{3,}+)[ \t]*+(?P<language>[\w+#.-]*+)(?P<sure>[ \t]*+(?:[\r\n{\[］｛]|\Z))?"
)

# A key of at most 200 characters with a colon behind it, or a key that is longer or cut off.
_QUOTED_KEY = (
    r"""(?:"(?:[^"\\]|\\.){0,200}+(?!"\s*+[^\s:：])|\\"[^"\\]{0,200}+(?!\\"\s*+[^\s:：])"""
    r"""|'[^'\n]{0,200}+(?!'\s*+[^\s:：])|[“”„＂‘’][^“”„＂‘’]{0,200}+(?![“”„＂‘’]\s*+[^\s:：]))"""
)
_OBJECT = re.compile(rf"[{{｛]\s*+{_QUOTED_KEY}|[\[［]\s*+[{{｛]\s*+{_QUOTED_KEY}", re.DOTALL)
_MAYBE = re.compile(
    r"[{｛]\s*+(?:[}｝]|//|/\*|#|[\w$-]{1,200}+\s*+[:：]|\Z)"
    r"|[\[［]\s*+(?:[{｛\[［\]］\"'“\d-]|true\b|false\b|null\b|\Z)"
)

_DOUBLE_QUOTED = re.compile(r'[{｛\[［]\s*+(?:[{｛\[［]\s*+)?+"')


@dataclass(slots=True)
class Block:
    """A piece of the text between two fences. The language is None outside of fenced blocks, and
    empty where none is named.
    """

    start: int
    end: int
    language: str | None
    spans: list[Span] = field(default_factory=list)
    """The outermost balanced pairs of brackets that begin as JSON, in order; none of them inside
    JSON that is cut off.
    """
    decoded: dict[int, tuple[Any]] = field(default_factory=dict)
    """The values of some of the spans, by where they begin; each in a tuple of its own."""
    cut: int = NOWHERE
    """Where JSON begins that is never closed."""


def is_object(text: str, at: int) -> bool:
    """Whether the bracket at that index begins as an object with a quoted key does, or a list of
    such objects.
    """
    return _OBJECT.match(text, at) is not None


def is_json(text: str, at: int) -> bool:
    """Whether the bracket at that index begins as JSON may; not so for {name} and [see below]."""
    return _MAYBE.match(text, at) is not None or is_object(text, at)


def scan(text: str, start: int = 0) -> list[Block]:
    """The blocks of the text from that index on, in order; takes linear time.

    Brackets that do not begin as JSON does are prose, unless they stand within others. Brackets and
    fences in JSON strings do not count; a fence elsewhere ends everything that is open in front of
    it.
    """
    return _Scan(text, start).run()


class _Scan:
    """The state of one pass: the block, the brackets that are open in it, and how to step to the
    next bracket.
    """

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.at = start
        self.blocks = [Block(start, len(text), None)]
        self.attempts = MOST_TRIED
        self.open: list[int] = []
        self.open_of = dict.fromkeys(_OPENERS, 0)
        self.inside = _INSIDE
        self.handlers = {
            **dict.fromkeys(_OPENERS, self._enter),
            **dict.fromkeys(_CLOSES, self._close),
            '"': self._end_at_string,
        }

    def run(self) -> list[Block]:
        while mark := self._next_mark():
            self.handlers.get(mark, self._read_fence)()
        self._end_block(len(self.text))
        return self.blocks

    def _next_mark(self) -> str:
        """The next character that matters, at `self.at`; "" at the end."""
        if self.open:
            stepped = self.inside.match(self.text, self.at)
            assert stepped is not None  # it matches nothing as well
            self.at = stepped.end()
        else:
            self._step_outside()
        return self.text[self.at : self.at + 1]

    def _step_outside(self) -> None:
        for found in _OUTSIDE.finditer(self.text, self.at):
            if not found.lastgroup:
                self.at = found.start()
                return
            if is_json(self.text, found.start()):
                self.blocks[-1].spans.append(found.span())
        self.at = len(self.text)

    def _enter(self) -> None:
        if self.open:
            self._push()
        elif not is_json(self.text, self.at):
            self.at += 1
        elif not self._decode():
            self._push()

    def _decode(self) -> bool:
        """Steps over valid JSON at once. Attempts that fail are counted: each may read up to the
        end of the text.
        """
        if not self.attempts or not is_object(self.text, self.at):
            return False
        try:
            value, end = decode_prefix(self.text, self.at)
        except (ValueError, RecursionError):
            self.attempts -= 1
            return False
        self.blocks[-1].spans.append((self.at, end))
        self.blocks[-1].decoded[self.at] = (value,)
        self.at = end
        return True

    def _push(self) -> None:
        self.open.append(self.at)
        self.open_of[self.text[self.at]] += 1
        self.at += 1

    def _close(self) -> None:
        opener = _CLOSES[self.text[self.at]]
        self.at += 1
        if not self.open_of[opener]:
            return
        begins = self._pop()
        while self.text[begins] != opener:
            begins = self._pop()
        self._drop_spans_behind(begins)
        self.blocks[-1].spans.append((begins, self.at))

    def _pop(self) -> int:
        begins = self.open.pop()
        self.open_of[self.text[begins]] -= 1
        return begins

    def _drop_spans_behind(self, index: int) -> None:
        spans = self.blocks[-1].spans
        while spans and spans[-1][0] > index:
            spans.pop()

    def _end_at_string(self) -> None:
        """JSON is cut off in a string without an end; other text is read again from its first
        bracket on, without regard to strings.
        """
        if _DOUBLE_QUOTED.match(self.text, self.open[0]):
            self.at = len(self.text)
            return
        self.inside = _INSIDE_WITHOUT_STRINGS
        while len(self.open) > 1:
            self._pop()
        self._drop_spans_behind(self.open[0])
        self.at = self.open[0] + 1

    def _read_fence(self) -> None:
        fence = _FENCE.match(self.text, self.at)
        if fence is None:
            self.at += 1
            return
        self._end_block(self.at)
        language = fence["language"].lower()
        # Behind a closing fence the text may go on in the same line: "```Hope this helps".
        names = language in JSON_LANGUAGES or (language and fence["sure"] is not None)
        if names or self.blocks[-1].language is None:
            self.at = fence.end("language")
            self.blocks.append(Block(self.at, len(self.text), language))
        else:
            self.at = fence.start("language")
            self.blocks.append(Block(self.at, len(self.text), None))

    def _end_block(self, end: int) -> None:
        block = self.blocks[-1]
        block.end = end
        if self.open:
            block.cut = self.open[0]
            self._drop_spans_behind(block.cut)
        self.open.clear()
        self.open_of = dict.fromkeys(_OPENERS, 0)
