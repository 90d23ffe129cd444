"""A text that is nothing but one fenced block: models wrap their arguments and programs so."""

from __future__ import annotations

import re

_OPENING = re.compile(r"\s*+```(\w*+)[ \t]*+\n")


def read_fenced(text: str) -> tuple[str, str] | None:
    """Language (may be empty) and content of the one block that is all of the text; None for other
    texts.
    """
    opening = _OPENING.match(text)
    if opening is None:
        return None
    whole = text.rstrip()
    has_end = whole.endswith("```") and len(whole) >= opening.end() + 3
    if not has_end:
        return None
    content = whole[opening.end() : -3].rstrip(" \t").removesuffix("\n")
    return opening[1], content
