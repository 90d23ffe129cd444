"""Plain text without any format: where sentences begin and end, and its first words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from itertools import compress, pairwise, starmap
from operator import lt

_SHORTENED = (
    "mr mrs ms dr prof st sr jr rev hon gen col lt sgt capt cmdr gov sen rep pres e.g i.e cf vs viz"
    " al ca approx fig figs eq eqs sec ch no nos vol vols p pp ed eds par para art dept est inc ltd"
    " co corp jan feb mar apr jun jul aug sep sept oct nov dec bzw z.b d.h u.a usw ggf nr abs ref"
    " refs resp max min temp tel ext univ mt ft op cit ibid"
)
_ABBREVIATIONS = frozenset(_SHORTENED.split())
# After an acronym or an initial, these words tell that a new sentence begins ("in the U.S. The law
# ...").
_FIRST_WORDS = (
    "the a an this that these those it its he she they we you i in on at by for from to with if"
    " when while as but and or so yet there here however moreover thus therefore what why who how"
    " where our their his her my after before since because although"
)
_STARTERS = frozenset(("", *_FIRST_WORDS.split()))
"""The end of the text counts among them."""
_END = re.compile(
    r"""(?<![.!?\u2026])(?P<dots>[.!?\u2026]++)
    (?P<close>["'\u201c\u201d\u2019)\]\u00bb*_]*+)(?=\s|\Z)  # Latin: needs white space
      | [\u3002\uff01\uff1f\uff61]+["'\u201d\u2019\u300d\u300f\uff09)]*          # CJK: needs none
      | \n""",
    re.VERBOSE,
)
_NO_WORD = re.compile(r"[^\w.]")
_NEXT_WORD = re.compile(r"\s*[\"'\u201c\u2018(\[\u00ab*_]*([^\W_]*)")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")
_ITEM = re.compile(
    r"[ \t]*(?:[-*+\u2022\u25aa\u2013\u25cf]\s|\(?\d{1,3}[.)]\s|\(?[a-zA-Z][.)]\s|[|#>]|\n|\Z)"
)
_NUMBERING = re.compile(r"\(?(?:\d{1,3}|[a-zA-Z])")


def shorten(text: str, most: int) -> str:
    """A text in one line, of a longer one its first words and dots; a long word is cut."""
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    words = line[: most + 1].rpartition(" ")[0]
    if len(words) < most // 2:
        words = line[:most]
    return f"{words.rstrip()}…"


def sentences(text: str) -> list[tuple[int, int]]:
    """Spans of the sentences, in order, without the white space around them; together they cover
    all other characters.

    A newline that only wraps a line does not end a sentence; a blank line, a list item, a table row
    and a title do.
    """
    spans = list(starmap(partial(_strip, text), pairwise([0, *_find_ends(text), len(text)])))
    return list(compress(spans, starmap(lt, spans)))


def _strip(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without the white space at its ends."""
    piece = text[start:end].lstrip()
    start = end - len(piece)
    return start, start + len(piece.rstrip())


def _find_ends(text: str) -> Iterator[int]:
    widths = _Widths(text)
    for match in _END.finditer(text):
        at = match.start()
        if text[at] == "\n":
            if widths.ends_line(at):
                yield at
        elif _ends_sentence(text, match):
            yield match.end()


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    if match["dots"] is None:  # CJK
        return True
    following = _NEXT_WORD.match(text, match.end())
    assert following is not None, "the pattern takes an empty text, too"
    word = following[1]
    if word[:1].islower():
        return False
    if match["dots"] != ".":
        return True
    at = match.start()
    before = _word_before(text, at)
    if before.lower() in _ABBREVIATIONS:
        return not word
    begins_line = _begins_line(text, at - len(before))
    if begins_line and _NUMBERING.fullmatch(before):
        return False  # "1." in front of a list item
    if word.lower() in _STARTERS:
        return True
    return _INITIALS.fullmatch(before) is None


def _word_before(text: str, at: int) -> str:
    return _NO_WORD.split(text[max(0, at - 24) : at])[-1]


def _begins_line(text: str, at: int) -> bool:
    before = text[max(0, at - 8) : at]
    indent = before[before.rfind("\n") + 1 :]
    if indent.strip(" \t("):
        return False
    follows_break = len(indent) < len(before)
    return follows_break or at < 8


class _Widths:
    """Tells a newline that wraps a line from one that ends it, by the width of the lines around."""

    def __init__(self, text: str) -> None:
        self.text = f"{text}\n\n"  # so that every line and every paragraph has an end
        self._block_end = -1
        self._widest = 0

    def ends_line(self, at: int) -> bool:
        text = self.text
        start = text.rfind("\n", 0, at) + 1
        line = text[start:at].strip()
        end = text.index("\n", at + 1)
        after = text[at + 1 : end].strip()
        if not line or not after:
            return True
        if " | " in f"{line}\n{after}":
            return True
        if line.endswith((":", ";", "|")):
            return True
        if _ITEM.match(text, at + 1):
            return True
        if after[0].islower():
            return False
        return len(line) < 0.6 * self._measure(start)

    def _measure(self, at: int) -> int:
        """Length of the longest line of the paragraph around `at`; each paragraph is measured
        once.
        """
        if at > self._block_end:
            self._block_end = self.text.index("\n\n", at)
            self._widest = max(map(len, self.text[at : self._block_end].split("\n")))
        return self._widest
