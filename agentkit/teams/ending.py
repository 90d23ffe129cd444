"""TERMINATE at the end of a message says that its sender is done; models dress it up, so it is read
with tolerance.
"""

from __future__ import annotations

import re

_WORD = "TERMINATE"
_DRESS = " \t*_`\"'(["
_LAST_WORD = re.compile(r"\W*+(\w++)([^\w\n]*+)")
"""In a text that is read from its end."""


def is_ending(text: str) -> bool:
    """Whether a text says TERMINATE at its end, in whatever dress: bold, quoted, with a full
    stop.
    """
    return _begin(text) is not None


def without_ending(text: str) -> str:
    """The text without the TERMINATE at its end, its dress, and the white space around the rest."""
    return text[: _begin(text)].strip()


def _begin(text: str) -> int | None:
    """Where the ending with its dress begins; None for none.

    In capitals, or in any spelling on a last line of its own: "The contract will terminate." ends
    no chat.
    """
    last = _LAST_WORD.match(text[::-1])
    if last is None:
        return None
    word = last[1][::-1]
    if word.upper() != _WORD:
        return None
    begins = len(text) - last.end()
    is_own_line = begins == 0 or text[begins - 1] == "\n"
    if is_own_line:
        return begins
    if word == _WORD:
        return len(text[: len(text) - last.end(1)].rstrip(_DRESS))
    return None
