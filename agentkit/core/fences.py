"""A text that is nothing but one fenced block: models wrap their arguments and programs so."""

from __future__ import annotations

import re

_OPENING = re.compile(r"\s*+```(\w*+)[ \t]*+\n")


def unfenced(text: str) -> tuple[str, str] | None:
    """Language (may be empty) and content of the one block that is all of the text; None for other
    texts.
    """
    opening = _OPENING.match(text)
    whole = text.rstrip()
    if opening is None or len(whole) < opening.end() + 3 or not whole.endswith("```"):
        return None
    content = whole[opening.end() : -3].rstrip(" \t").removesuffix("\n")
    return opening[1], content
