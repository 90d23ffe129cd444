"""What collections, question sets and tags may be called, and what texts may hold."""

from __future__ import annotations

from agentkit.errors import ConfigError

LONGEST_NAME = 120
LONGEST_TAG = 60
MOST_TAGS = 50
"""Tags that a document can have."""


def checked_name(name: str, of: str) -> str:
    """The name without white space around it; `of` says of what. Raises ConfigError when it cannot be one."""
    return _checked(name, f"the name of a {of}", LONGEST_NAME)


def checked_tag(tag: str) -> str:
    """The tag without white space around it; raises ConfigError when it cannot be one."""
    return _checked(tag, "a tag", LONGEST_TAG)


def utf8(text: str) -> str:
    """The text with `?` for half surrogate pairs, which a model's reply may hold, but no table, tokenizer or request."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _checked(text: str, what: str, longest: int) -> str:
    text = text.strip()
    if not text or len(text) > longest or not text.isprintable():
        raise ConfigError(f"{text!r} cannot be {what}; use 1 to {longest} printable characters.")
    return text
