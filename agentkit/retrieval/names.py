"""What collections, question sets and tags may be called, what documents and files are called."""

from __future__ import annotations

import re
import unicodedata
from pathlib import PurePosixPath

from agentkit.errors import ConfigError

LONGEST_NAME = 120
LONGEST_TAG = 60
MOST_TAGS = 50
"""Tags that a document can have."""
_LONGEST_SHOWN = 1_000
_LONGEST_FILE_NAME = 120
_SURROGATES = re.compile("[\ud800-\udfff]")
_UNSHOWN = frozenset({"Cc", "Zl", "Zp"})
"""Categories of characters that steer what shows them: control, new line, new paragraph."""
_TURNING = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})
"""Directions that let what follows be read in another order than it stands in."""
_MARKS = frozenset("\u061c\u200e\u200f")
_NOT_IN_FILES = re.compile(r'[<>:"/\\|?*]')
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)", re.IGNORECASE)
"""What Windows takes for a device, whatever stands behind the dot."""


def check_name(name: str, of: str) -> str:
    """The name without white space around it; `of` says of what. Raises ConfigError when it cannot
    be one.
    """
    return _check(name, f"the name of a {of}", LONGEST_NAME)


def check_tag(tag: str) -> str:
    """The tag without white space around it; raises ConfigError when it cannot be one."""
    return _check(tag, "a tag", LONGEST_TAG)


def utf8(text: str) -> str:
    """The text with `?` for half surrogate pairs, which a model's reply may hold, but no table,
    tokenizer or request.
    """
    return text.encode("utf-8", "replace").decode("utf-8")


def to_shown_name(given: str) -> str:
    """The name of a document as it is kept and shown, of any text: it is data, and never a path.

    Without control and bidirectional characters; a half surrogate pair becomes a question mark in
    a rhombus. A name of nothing else is `unnamed`; of a very long one the end is kept.
    """
    plain = "".join(
        map(_show_character, _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", given))
    ).strip()
    if len(plain) > _LONGEST_SHOWN:
        plain = "\N{HORIZONTAL ELLIPSIS}" + plain[1 - _LONGEST_SHOWN :]
    return plain or "unnamed"


def _show_character(character: str) -> str:
    if character in "\t\n\r":
        return " "
    steers = unicodedata.category(character) in _UNSHOWN or character in _MARKS
    turns = unicodedata.bidirectional(character) in _TURNING
    if steers or turns:
        return ""
    return character


def storable(text: str) -> str:
    """The text with half surrogate pairs escaped, which a path may hold but no table."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def file_name(name: str, ending: str = "", *, default: str = "file") -> str:
    """A name for a file that every system can store, with this ending or else its own."""
    plain = _NOT_IN_FILES.sub("_", to_shown_name(name))
    own = ""
    if not ending:
        own = _short_ending(plain)
    stem = plain.removesuffix(own).strip(" .").encode()[:_LONGEST_FILE_NAME]
    made = (stem.decode("utf-8", "ignore").strip(" .") or default) + own + ending
    if _DEVICES.match(made):
        return f"_{made}"
    return made


def _short_ending(name: str) -> str:
    """The ending of a name with its dot; empty when it is too long for one."""
    ending = PurePosixPath(name).suffix
    if len(ending.encode()) > _LONGEST_FILE_NAME // 4:
        return ""
    return ending


def _check(text: str, what: str, longest: int) -> str:
    text = text.strip()
    if not text or len(text) > longest or not text.isprintable():
        raise ConfigError(f"{text!r} cannot be {what}; use 1 to {longest} printable characters.")
    return text
