"""TERMINATE at the end of a message says that its sender is done; models dress it up, so it is read with tolerance."""

from __future__ import annotations

import re

# In capitals, or in any spelling on a last line of its own: "The contract will terminate." ends no chat.
_ENDING = re.compile(r"[ \t*_`\"'(\[]*(?<!\w)TERMINATE\W*\Z|(?:\A|\n)[^\w\n]*(?i:terminate)\W*\Z")


def is_ending(text: str) -> bool:
    """Whether a text says TERMINATE at its end, in whatever dress: bold, quoted, with a full stop."""
    return _ENDING.search(text) is not None


def without_ending(text: str) -> str:
    """The text without the TERMINATE at its end, its dress, and the white space around the rest."""
    return _ENDING.sub("", text).strip()
