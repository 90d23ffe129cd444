"""Reasoning that a model puts in front of its answer: `<think>...</think>`."""

from __future__ import annotations

import re
from collections.abc import Collection

from agentkit.errors import TagNotFoundError
from agentkit.parsers.base import excerpt

NAMES = ("think", "thinking", "reasoning")
BLANK = " \t\r\n\ufeff\u200b\xa0"

_OPENING = re.compile(rf"<({'|'.join(NAMES)})>", re.IGNORECASE)
# Some servers drop the opening tag. In the middle of a line, or of a JSON string, the closing one
# is a word like any other.
_ORPHAN = re.compile(r"</think(?:ing)?>(?=[ \t]*+(?:[\r\n`~{\[<]|\Z))", re.IGNORECASE)
_BLANKS = re.compile(f"[{BLANK}]*+")


def find_answer(text: str, own: Collection[str] = ()) -> int:
    """Index where the answer behind the reasoning begins; 0 when there is none.

    own: names that the parser itself looks for; a tag of such a name is an answer. Raises
        TagNotFoundError for reasoning that is
    never closed: it may hold drafts of the answer, and none of them was meant.
    """
    names = set(map(str.lower, own))
    start = 0
    while opening := _OPENING.match(text, _skip_blanks(text, start)):
        name = opening[1].lower()
        if name in names:
            return start
        closing = re.compile(f"</{name}>", re.IGNORECASE).search(text, opening.end())
        if closing is None:
            raise TagNotFoundError(
                f"The reply is nothing but reasoning: {opening[0]} is never closed, so there is no"
                f" answer behind it. Close it with </{name}> and reply in the format asked for. The"
                f" reply: {excerpt(text)}",
                text,
                missing_begin_tag=False,
            )
        start = closing.end()
    if names.isdisjoint(NAMES):
        for orphan in _ORPHAN.finditer(text, start):
            start = orphan.end()
    return start


def _skip_blanks(text: str, start: int) -> int:
    blanks = _BLANKS.match(text, start)
    assert blanks is not None, "the pattern takes an empty text, too"
    return blanks.end()
