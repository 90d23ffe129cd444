"""Which of the JSON in a reply is the answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import filterfalse, islice, repeat
from json import JSONDecodeError
from operator import attrgetter, itemgetter
from typing import Any

from agentkit.errors import JsonParsingError, ResponseParsingError
from agentkit.parsers.base import MOST_TRIED, Span, excerpt, place
from agentkit.parsers.decoding import decode, decode_prefix, decode_strictly
from agentkit.parsers.reasoning import BLANK
from agentkit.parsers.spans import JSON_LANGUAGES, NOWHERE, Block, is_object, scan

_FIRST_FENCE = re.compile(
    r"[^{\[｛［`~]*+(?P<marks>```|~~~)(?:json[5c]?)?+[ \t\r]*+(?=[\n{\[])", re.IGNORECASE
)
_LAST_FENCE = re.compile(r"(?:```|~~~)[^{\[｛［`~]*+\Z")
_KEY_IN_FRONT = re.compile(r"""["']\s*+[:：]\s*+\Z""")
_KEY_BEHIND = re.compile(r"""[\s}\]]*+,\s*+(?:"[^"]{1,200}+"|'[^']{1,200}+')\s*+:""")


_FENCED_JSON = frozenset(("", *JSON_LANGUAGES))
"""What a fence around JSON names; empty where it names nothing."""
_MAYBE_JSON = frozenset((None, *_FENCED_JSON))
"""The same with what stands without a fence."""


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
    known not to be.

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
    problems: list[ResponseParsingError] = []
    for candidate in islice(_find_candidates(text, start), MOST_TRIED):
        try:
            value = _read_value(text, candidate)
        except JsonParsingError as error:
            if candidate.sure and not problems:
                raise
            problems.append(error)
            continue
        try:
            return accept(value)
        except Unrelated as unrelated:
            problems.append(unrelated.error)
    if problems:
        raise problems[0]
    raise JsonParsingError(
        "There is no JSON in the reply; reply with JSON in a fenced block (```json ... ```). The"
        f" reply: {excerpt(text)}",
        text,
    )


def _read_value(text: str, candidate: Candidate) -> Any:
    if candidate.flaw:
        raise JsonParsingError(f"{candidate.flaw} The reply: {excerpt(text)}", text)
    if candidate.decoded:
        return candidate.decoded[0]
    return decode(text, candidate.span)


def _find_candidates(text: str, start: int) -> Iterator[Candidate]:
    if whole := _find_whole(text, start):
        yield whole
        return
    blocks = scan(text, start)
    in_fences = map(_find_in_fence, repeat(text), reversed(blocks))
    fenced = list(islice(filter(None, in_fences), MOST_TRIED))
    taken = {found.span[0] for found in fenced}
    bare = _find_bare(text, list(filter(_may_be_json, blocks)), taken)
    unnamed = filterfalse(attrgetter("language"), blocks)
    cut = max(map(attrgetter("cut"), unnamed), default=NOWHERE)
    if cut not in taken and _is_behind_all(text, cut, fenced, bare):
        yield _cut_off(text, (cut, len(text)))
    # A fence that is cut off in front of a whole one is a false start; behind it, it is the answer.
    yield from fenced[:1]
    yield from filterfalse(attrgetter("flaw"), fenced[1:])
    yield from sorted(bare, key=lambda found: _rank(text, found.span))
    yield from _find_bare(text, list(filterfalse(_may_be_json, blocks)), taken)


def _may_be_json(block: Block) -> bool:
    """Unless its fence names another language."""
    return block.language in _MAYBE_JSON


def _is_behind_all(text: str, cut: int, fenced: list[Candidate], bare: list[Candidate]) -> bool:
    """Whether what is cut off there stands behind all that is whole; next to fences it has to be an
    object.
    """
    if fenced and not is_object(text, cut):
        return False
    _, end = max(map(attrgetter("span"), fenced or bare), key=itemgetter(1), default=(0, 0))
    return cut >= end


def _find_whole(text: str, start: int) -> Candidate | None:
    """The whole text, or the only fenced block with no brackets around it, if it is one JSON
    value.
    """
    end = len(text.rstrip(BLANK))
    if fence := _FIRST_FENCE.match(text, start, end):
        start, end = fence.end(), text.rfind(fence["marks"], fence.end(), end)
        if end < start or _LAST_FENCE.match(text, end) is None:
            return None
    decoded = _try_decode(text[start:end])
    if decoded is None:
        return None
    return Candidate((start, end), True, decoded=decoded)


def _try_decode(source: str) -> tuple[Any] | None:
    """The value of all that the source holds, in a tuple, as it may be None itself."""
    try:
        return (decode_strictly(source.strip(BLANK)),)
    except (ValueError, RecursionError):
        return None


def _find_in_fence(text: str, block: Block) -> Candidate | None:
    """The one value in a fenced block that is JSON by its language, or that names no language and
    begins with a bracket.
    """
    content = text[block.start : block.end].strip(BLANK)
    if block.language not in _FENCED_JSON or not content:
        return None
    begins = text.index(content, block.start)
    all_of_it = Candidate((begins, begins + len(content)), bool(block.language))
    decoded = _try_decode(content)
    if decoded is None:
        return _find_within(text, block, all_of_it)
    return replace(all_of_it, decoded=decoded)


def _find_within(text: str, block: Block, all_of_it: Candidate) -> Candidate:
    """The one value in a block that has something else in it, too."""
    begins, _ = all_of_it.span
    spans, is_cut = block.spans, block.cut != NOWHERE
    if not all_of_it.sure:
        spans = [span for span in spans if span[0] == begins]
        is_cut = block.cut == begins
    if is_cut:
        return _cut_off(text, (block.cut, block.end))
    if not spans:
        return all_of_it
    if len(spans) > 1:
        flaw = f"There are {len(spans):,} JSON values in one fenced block, but one is wanted."
        return Candidate(spans[0], True, flaw)
    return _make_candidate(text, block, spans[0], sure=True)


def _find_bare(text: str, blocks: list[Block], taken: set[int]) -> list[Candidate]:
    """JSON in these blocks that is not fenced as such, the last one first."""
    found = (
        _make_candidate(text, block, span, is_object(text, span[0]))
        for block in reversed(blocks)
        for span in reversed(block.spans)
        if span[0] not in taken
    )
    return list(islice(found, MOST_TRIED))


def _make_candidate(text: str, block: Block, span: Span, sure: bool) -> Candidate:
    return Candidate(span, sure, _find_flaw(text, span), block.decoded.get(span[0]))


def _rank(text: str, span: Span) -> int:
    """Objects before lists, which may be citations such as [1]; empty ones last."""
    is_empty = not text[span[0] + 1 : span[1] - 1].strip()
    return max(2 * is_empty, text[span[0]] not in "{｛")


def _cut_off(text: str, span: Span) -> Candidate:
    problem = ""
    try:
        decode_prefix(text, span[0])
    except JSONDecodeError as error:
        problem = f" ({error.msg} at {place(text, error.pos)})"
    except (ValueError, RecursionError):
        pass
    flaw = (
        f"The JSON that begins at {place(text, span[0])} is never closed{problem}: it is cut off,"
        " or a bracket or a quote is missing."
    )
    return Candidate(span, True, flaw)


def _find_flaw(text: str, span: Span) -> str:
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
