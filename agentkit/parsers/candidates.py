"""Which of the JSON in a reply is the answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import filterfalse, islice
from json import JSONDecodeError
from typing import Any

from agentkit.errors import JsonParsingError, ResponseParsingError
from agentkit.parsers.base import MOST_TRIED, Span, excerpt, place
from agentkit.parsers.decoding import decode, decode_prefix, decode_strictly
from agentkit.parsers.reasoning import BLANK
from agentkit.parsers.spans import JSON_LANGUAGES, Block, is_object, scan

_OF_JSON = (*JSON_LANGUAGES, "")
_FIRST_FENCE = re.compile(
    r"[^{\[｛［`~]*+(?P<marks>```|~~~)(?:json[5c]?)?+[ \t\r]*+(?=[\n{\[])", re.IGNORECASE
)
_LAST_FENCE = re.compile(r"(?:```|~~~)[^{\[｛［`~]*+\Z")
_KEY_IN_FRONT = re.compile(r"""["']\s*+[:：]\s*+\Z""")
_KEY_BEHIND = re.compile(r"""[\s}\]]*+,\s*+(?:"[^"]{1,200}+"|'[^']{1,200}+')\s*+:""")


class Unrelated(Exception):
    """JSON that has nothing of what is wanted; `error` says so to the model when nothing better is
    found.
    """

    def __init__(self, error: ResponseParsingError) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(frozen=True, slots=True)
class Candidate:
    """A piece of the text that may be the answer; `sure` when it must be JSON, `flaw` when it is
    known to be none.

    `decoded` holds its value when that is known already.
    """

    span: Span
    sure: bool
    flaw: str = ""
    decoded: tuple[Any] | None = None


def read_json(text: str, start: int, accept: Callable[[Any], object]) -> Any:
    """What `accept` makes of the JSON in the text from start on.

    In this order: a text that is one JSON value; the blocks fenced as JSON, the last one first (in
    front of the answer there may be an example); objects without a fence, the last one first; lists
    without a fence. Where `accept` raises Unrelated the next is tried. Raises JsonParsingError when
    there is no JSON, or when the answer is malformed, cut off or one of several in the same block:
    what stands in front of it is not taken instead.
    """
    first: ResponseParsingError | None = None
    for candidate in islice(_candidates(text, start), MOST_TRIED):
        try:
            value = _value(text, candidate)
        except JsonParsingError as error:
            if candidate.sure and first is None:
                raise
            first = first or error
            continue
        try:
            return accept(value)
        except Unrelated as unrelated:
            first = first or unrelated.error
    raise first or JsonParsingError(
        "There is no JSON in the reply; reply with JSON in a fenced block (```json ... ```). The"
        f" reply: {excerpt(text)}",
        text,
    )


def _value(text: str, candidate: Candidate) -> Any:
    if candidate.flaw:
        raise JsonParsingError(f"{candidate.flaw} The reply: {excerpt(text)}", text)
    if candidate.decoded:
        return candidate.decoded[0]
    return decode(text, candidate.span)


def _candidates(text: str, start: int) -> Iterator[Candidate]:
    if whole := _whole(text, start):
        yield whole
        return
    blocks = scan(text, start)
    in_fences = (_in_fence(text, block) for block in reversed(blocks))
    fenced = list(islice(filter(None, in_fences), MOST_TRIED))
    taken = {found.span[0] for found in fenced}
    bare = _bare(text, list(filter(_may_be_json, blocks)), taken)
    cut = _last_cut(blocks)
    last = max((found.span[1] for found in fenced or bare), default=0)
    counts = not fenced or is_object(text, cut)
    if counts and cut >= last and cut not in taken:
        yield _cut_off(text, (cut, len(text)))
    # A fence that is cut off in front of a whole one is a false start; behind it, it is the answer.
    yield from fenced[:1]
    yield from (found for found in fenced[1:] if not found.flaw)
    yield from sorted(bare, key=lambda found: _rank(text, found.span))
    yield from _bare(text, list(filterfalse(_may_be_json, blocks)), taken)


def _may_be_json(block: Block) -> bool:
    """Unless its fence names another language."""
    return block.language is None or block.language in _OF_JSON


def _last_cut(blocks: list[Block]) -> int:
    """Where the last value without an end begins, -1 for none."""
    unnamed = [block for block in blocks if block.language in (None, "")]
    return max((block.cut for block in unnamed if block.cut is not None), default=-1)


def _whole(text: str, start: int) -> Candidate | None:
    """The whole text, or the only fenced block with no brackets around it, if it is one JSON
    value.
    """
    ends = len(text.rstrip(BLANK))
    if fence := _FIRST_FENCE.match(text, start, ends):
        start, ends = fence.end(), text.rfind(fence["marks"], fence.end(), ends)
        if _LAST_FENCE.match(text, ends) is None:
            return None
    decoded = _strictly(text[start:ends].strip(BLANK)) if ends > start else None
    return Candidate((start, ends), True, decoded=decoded) if decoded else None


def _strictly(content: str) -> tuple[Any] | None:
    try:
        return (decode_strictly(content),)
    except (ValueError, RecursionError):
        return None


def _in_fence(text: str, block: Block) -> Candidate | None:
    """The one value in a fenced block that is JSON by its language, or that names no language and
    begins with a bracket.
    """
    if block.language is None or block.language not in _OF_JSON:
        return None
    content = text[block.start : block.end].strip(BLANK)
    if not content:
        return None
    begins, named = text.index(content, block.start), block.language != ""
    all_of_it = Candidate((begins, begins + len(content)), named)
    if content.startswith('"') and (decoded := _strictly(content)):
        return replace(all_of_it, decoded=decoded)
    if block.cut is not None and (named or block.cut == begins):
        return _cut_off(text, (block.cut, block.end))
    spans = [span for span in block.spans if named or span[0] == begins]
    if len(spans) > 1:
        return Candidate(
            spans[0],
            True,
            f"There are {len(spans):,} JSON values in one fenced block, but one is wanted.",
        )
    if spans:
        return _candidate(text, block, spans[0], sure=True)
    return all_of_it


def _bare(text: str, blocks: list[Block], taken: set[int]) -> list[Candidate]:
    """JSON in these blocks that is not fenced as such, the last one first."""
    spans = ((block, span) for block in reversed(blocks) for span in reversed(block.spans))
    found = islice(((block, span) for block, span in spans if span[0] not in taken), MOST_TRIED)
    return [_candidate(text, block, span, is_object(text, span[0])) for block, span in found]


def _candidate(text: str, block: Block, span: Span, sure: bool) -> Candidate:
    decoded = (block.decoded[span[0]],) if span[0] in block.decoded else None
    return Candidate(span, sure, _flaw(text, span), decoded)


def _rank(text: str, span: Span) -> int:
    """Objects before lists, which may be citations such as [1]; empty ones last."""
    if not text[span[0] + 1 : span[1] - 1].strip():
        return 2
    return 0 if text[span[0]] in "{｛" else 1


def _cut_off(text: str, span: Span) -> Candidate:
    try:
        decode_prefix(text, span[0])
        problem = ""
    except JSONDecodeError as error:
        problem = f" ({error.msg} at {place(text, error.pos)})"
    except (ValueError, RecursionError):
        problem = ""
    begins = f"The JSON that begins at {place(text, span[0])}"
    return Candidate(
        span,
        True,
        f"{begins} is never closed{problem}: it is cut off, or a bracket or a quote is missing.",
    )


def _flaw(text: str, span: Span) -> str:
    """Why a balanced pair of brackets is only a part of what was meant, because a bracket is
    missing or too many.
    """
    if _KEY_IN_FRONT.search(text, max(0, span[0] - 40), span[0]):
        return f"The JSON around the key in front of {place(text, span[0])} has no opening bracket."
    if _KEY_BEHIND.match(text, span[1]):
        return (
            f"The JSON ends at {place(text, span[1])}, but goes on behind that: there is a closing"
            " bracket too many."
        )
    return ""
