"""Where the input of an action ends: at which closing bracket, in linear time; what can be read in
two ways is refused.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
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


@dataclass(slots=True)
class Region:
    """The text from one mark to the next; what failed once in it is not tried again, so that
    reading stays linear.
    """

    text: str
    goes_on: bool = False
    """Whether a text in single quotes may be closed behind the next mark."""
    tries_json: bool = True
    tries_whole: bool = True
    tries_quotes: bool = True

    def ending(self, start: int, opened: str, action: re.Pattern[str]) -> Ending:
        """Where the bracket that was opened before `start` is closed; the input does not go on into
        another `action`.

        JSON and texts in quotes are read as such, so that brackets in them do not count; elsewhere
        brackets nest, and those in quotes on one line do not count unless that leaves the bracket
        open. Where more are closed than opened in what follows on the line, as in `run[a ] b]`, the
        last one counts.
        """
        closing = _CLOSING[opened]
        sure = self._find_sure_end(start, closing)
        end = self._find_closing(start, opened) if sure is None else sure
        if end is None:
            return Ending(None)
        following = action.search(self.text, end + 1)
        until = following.start() if following else len(self.text)
        line = end + len(self.text[end:until].partition("\n")[0])
        last, stray = self._find_strays(end, line, until, opened)
        doubtful = stray or (last != sure and self._may_go_on(start, last, line, until))
        return Ending(last, doubtful)

    def _find_sure_end(self, start: int, closing: str) -> int | None:
        after_json = self._find_after_json(start, closing)
        return self._find_after_whole(start, closing) if after_json is None else after_json

    def _find_after_json(self, start: int, closing: str) -> int | None:
        begin = self._skip_space(start)
        if not (self.tries_json and self.text.startswith(("{", "[", '"'), begin)):
            return None
        try:
            end = self._skip_space(json.JSONDecoder(strict=False).raw_decode(self.text, begin)[1])
        except (ValueError, RecursionError):
            end = len(self.text)
        self.tries_json = self.text[end : end + 1] == closing
        return end if self.tries_json else None

    def _find_after_whole(self, start: int, closing: str) -> int | None:
        """Behind an input that is one text in quotes, which may take several lines."""
        begin = self._skip_space(start)
        if not (self.tries_whole and self.text.startswith(('"', "'", "“"), begin)):
            return None
        found = _WHOLE.match(self.text, begin)
        end = self._skip_space(found.end()) if found else len(self.text)
        self.tries_whole = self.text[end : end + 1] == closing
        return end if self.tries_whole else None

    def _find_closing(self, start: int, opened: str) -> int | None:
        end = self._find_balanced(start, opened, _QUOTED) if self.tries_quotes else None
        self.tries_quotes = end is not None
        return self._find_balanced(start, opened, _BRACKET) if end is None else end

    def _find_balanced(self, start: int, opened: str, pattern: re.Pattern[str]) -> int | None:
        depth = 1
        for found in pattern.finditer(self.text, start):
            depth += (found[0] == opened) - (found[0] == _CLOSING[opened])
            if depth == 0:
                return found.start()
        return None

    def _find_strays(self, end: int, line: int, until: int, opened: str) -> tuple[int, bool]:
        """The last bracket on the line that closes the input, and whether one on a later line does
        so, too.
        """
        last, after, depth = end, end, 0
        for found in _BRACKET.finditer(self.text, end + 1, until):
            depth += (found[0] == opened) - (found[0] == _CLOSING[opened])
            if depth < 0:
                depth, after = 0, found.start()
                last = after if after < line else last
        last = last if self.text[end:last].strip(_SLIP) else end
        return last, bool(self.text[last:after].strip(_SLIP))

    def _may_go_on(self, start: int, end: int, line: int, until: int) -> bool:
        """Whether what was read as the input looks cut off, and as if it were closed later."""
        written = self.text[start:end].strip()
        rest = _STRING.sub("", written)
        is_open = _OPEN_QUOTE.search(rest) is not None
        if is_open and self.goes_on and written.startswith("'"):  # else it may be an apostrophe
            return True
        is_complete = not is_open and _brackets_match(rest)
        if written.startswith(_BEGINS_WHOLE) and not is_complete:
            return True
        if is_open:
            return _LINE_CLOSED.search(self.text, end + 1, until) is not None
        ends_there = "\n" not in written and not self.text[end:line].strip(_SLIP + ".")
        return not ends_there and _LINE_CLOSED.search(self.text, line, until) is not None

    def _skip_space(self, start: int) -> int:
        space = _SPACE.match(self.text, start)
        return space.end() if space else start


def _brackets_match(text: str) -> bool:
    """Whether no bracket of JSON is open at the end."""
    return text.count("{") <= text.count("}") and text.count("[") <= text.count("]")
