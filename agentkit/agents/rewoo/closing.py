"""Where the input of an action ends: at which closing bracket, in linear time; what can be read in
two ways is refused.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

_CLOSING = {"[": "]", "［": "］"}
# Bounded, so that a text full of quotes is not searched over and over.
_QUOTED = re.compile(
    r'"(?:[^"\\\n]|\\.){0,200}"|“[^“”\n]{0,200}”|(?<!\w)\'(?:[^\'\\\n]|\\.){0,200}\'(?!\w)|[\[\]［］]'
)
_BRACKET = re.compile(r"[\[\]［］]")
_SPACE = re.compile(r"\s*")
_WHOLE = re.compile(r'"(?:[^"\\]|\\.)*+"|\'(?:[^\'\\]|\\.)*+\'|“[^“”]*+”', re.DOTALL)
_STRING = re.compile(
    r'\\.|"(?:[^"\\]|\\.)*+"|(?<!\w)\'(?:[^\'\\]|\\.)*+\'(?!\w)|“[^“”]*+”', re.DOTALL
)
_OPEN_QUOTE = re.compile(r'["“”]|(?<!\w)\'')
_LINE_CLOSED = re.compile(r"(?m)[\]］][ \t*`]*$")
_BEGINS_WHOLE = ("{", "[", '"', "“")
"""Inputs that begin so must be closed by their partners."""
_SLIP = "]］*` \t\n"
"""What may follow an action by a slip of the planner."""


class Ending(NamedTuple):
    """Where an input ends, None for nowhere; and whether it may as well end elsewhere."""

    place: int | None
    doubtful: bool = False


class _Way(NamedTuple):
    """A form in which the whole input can be written, so that it is sure where it ends."""

    begins: tuple[str, ...]
    find_end: Callable[[str, int], int]
    """The end of such a value that begins at a place; the end of the text where there is none."""


def _find_end_of_json(text: str, begin: int) -> int:
    try:
        _, end = json.JSONDecoder(strict=False).raw_decode(text, begin)
    except (ValueError, RecursionError):
        return len(text)
    return end


def _find_end_of_quoted(text: str, begin: int) -> int:
    """It may take several lines."""
    found = _WHOLE.match(text, begin)
    if found is None:
        return len(text)
    return found.end()


_WAYS = (
    _Way(("{", "[", '"'), _find_end_of_json),
    _Way(('"', "'", "“"), _find_end_of_quoted),
)


@dataclass(slots=True)
class Region:
    """The text from one mark to the next; what failed once in it is not tried again, so that
    reading stays linear.
    """

    text: str
    goes_on: bool = False
    """Whether a text in single quotes may be closed behind the next mark."""
    failed: set[_Way] = field(default_factory=set)
    patterns: tuple[re.Pattern[str], ...] = (_QUOTED, _BRACKET)

    def ending(self, start: int, opened: str, action: re.Pattern[str]) -> Ending:
        """Where the bracket that was opened before `start` is closed; the input does not go on into
        another `action`.

        JSON and texts in quotes are read as such, so that brackets in them do not count; elsewhere
        brackets nest, and those in quotes on one line do not count unless that leaves the bracket
        open. Where more are closed than opened in what follows on the line, as in `run[a ] b]`, the
        last one counts.
        """
        sure = self._find_sure_end(start, _CLOSING[opened])
        end = sure
        if sure is None:
            end = self._find_closing(start, opened)
        if end is None:
            return Ending(None)
        until = len(self.text)
        following = action.search(self.text, end + 1)
        if following is not None:
            until = following.start()
        rest_of_line, _, _ = self.text[end:until].partition("\n")
        line = end + len(rest_of_line)
        last, stray = self._find_strays(end, line, until, opened)
        if stray or last == sure:
            return Ending(last, stray)
        may_go_on = self._may_go_on(start, last, line, until)
        return Ending(last, may_go_on)

    def _find_sure_end(self, start: int, closing: str) -> int | None:
        begin = self._skip_space(start)
        for way in _WAYS:
            begins_so = self.text.startswith(way.begins, begin)
            if way in self.failed or not begins_so:
                continue
            end = self._skip_space(way.find_end(self.text, begin))
            if self.text.startswith(closing, end):
                return end
            self.failed.add(way)
        return None

    def _find_closing(self, start: int, opened: str) -> int | None:
        for pattern in self.patterns:
            end = self._find_balanced(start, opened, pattern)
            if end is not None:
                return end
            self.patterns = (_BRACKET,)
        return None

    def _find_balanced(self, start: int, opened: str, pattern: re.Pattern[str]) -> int | None:
        depth = 1
        for found in pattern.finditer(self.text, start):
            depth += _count_step(found[0], opened)
            if depth == 0:
                return found.start()
        return None

    def _find_strays(self, end: int, line: int, until: int, opened: str) -> tuple[int, bool]:
        """The last bracket on the line that closes the input, and whether one on a later line does
        so, too.
        """
        closed, depth = [end], 0
        for found in _BRACKET.finditer(self.text, end + 1, until):
            depth += _count_step(found[0], opened)
            if depth < 0:
                depth = 0
                closed.append(found.start())
        last = closed[bisect_left(closed, line, lo=1) - 1]
        if not self.text[end:last].strip(_SLIP):
            last = end
        behind = self.text[last : closed[-1]]
        return last, bool(behind.strip(_SLIP))

    def _may_go_on(self, start: int, end: int, line: int, until: int) -> bool:
        """Whether what was read as the input looks cut off, and as if it were closed later."""
        written = self.text[start:end].strip()
        rest = _STRING.sub("", written)
        if _OPEN_QUOTE.search(rest) is not None:
            return self._is_quote_open(written) or self._is_closed_within(end + 1, until)
        is_whole = written.startswith(_BEGINS_WHOLE)
        if is_whole and not _brackets_match(rest):
            return True
        has_more = self.text[end:line].strip(_SLIP + ".")
        if has_more or "\n" in written:
            return self._is_closed_within(line, until)
        return False

    def _is_quote_open(self, written: str) -> bool:
        """Whether an input in which a quote is open must have its partner elsewhere."""
        may_be_apostrophe = not self.goes_on
        if written.startswith("'") and not may_be_apostrophe:
            return True
        return written.startswith(_BEGINS_WHOLE)

    def _is_closed_within(self, start: int, until: int) -> bool:
        """Whether a line ends in a closing bracket there."""
        return _LINE_CLOSED.search(self.text, start, until) is not None

    def _skip_space(self, start: int) -> int:
        space = next(_SPACE.finditer(self.text, start))
        return space.end()


def _count_step(bracket: str, opened: str) -> int:
    """How much deeper a bracket leads: 1, -1, or 0 for one of another kind."""
    return (bracket == opened) - (bracket == _CLOSING[opened])


def _brackets_match(text: str) -> bool:
    """Whether no bracket of JSON is open at the end."""
    open_braces = text.count("{") - text.count("}")
    open_brackets = text.count("[") - text.count("]")
    return max(open_braces, open_brackets) <= 0
