"""Characters that nobody sees, and that make code look like something else than what runs."""

from __future__ import annotations

import string
import unicodedata
from collections import Counter
from dataclasses import dataclass

_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Control and format characters (among them all that turn the direction of writing), halves of
characters, and separators of lines and paragraphs other than newlines.
"""
_IGNORABLE = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x2060, 0x206F),
    (0x2800, 0x2800),  # a cell of Braille without a dot
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0xE0000, 0xE0FFF),
)
"""The others that Unicode calls default ignorable (DerivedCoreProperties.txt), first and last of
each range.
"""
_DRAWN_AS_NOTHING = frozenset(
    chr(code) for first, last in _IGNORABLE for code in range(first, last + 1)
)
_PLAIN = frozenset(string.printable) - frozenset("\r\x0b\x0c")
"""ASCII that is seen, with spaces, tabs and newlines."""


@dataclass(frozen=True, slots=True)
class Revealed:
    """Text as a person can judge it."""

    text: str
    """The text with each character that is not seen written as ⟨U+202E⟩, and with \\n as line
    end.
    """
    lines: int
    """Its lines; empty ones at the end do not count."""
    unseen: int
    """How many characters are written so."""


def reveal(text: str) -> Revealed:
    """Write out what is not seen. Newlines and tabs stay; text that runs is the one given, never
    this one.
    """
    ended = text.replace("\r\n", "\n")
    times = Counter(ended)
    unseen = list(filter(_is_unseen, times))
    shown = ended.translate({ord(one): f"⟨U+{ord(one):04X}⟩" for one in unseen})
    lines = shown.rstrip("\n").count("\n") + 1
    return Revealed(shown, lines, sum(times[each] for each in unseen))


def _is_unseen(one: str) -> bool:
    if one in _PLAIN:
        return False
    return one in _DRAWN_AS_NOTHING or unicodedata.category(one) in _CATEGORIES
