"""What an answer claims with each of its markers `[n]`: the words that the marker stands behind."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from agentkit.core.text import sentences
from agentkit.llm.offline.words import stems

MARKER = re.compile(r"\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\](?!\()")
_CODE = re.compile(r"(?s)(```|~~~).*?(?:\1|\Z)|(`+)[^`\n](?:.*?[^`\n])?\2(?!`)")
_MARKUP = re.compile(
    r"\*\*|__|(?<!\w)[*_]|[*_](?!\w)|`|\]\([^()\s]{0,500}\)"
    r"|(?m:^\s*(?:[-*+•]|\d{1,3}[.)]|#{1,6}|>)\s+)"
)
_PUNCTUATION = tuple(".,;:!?")
_STANDS_FOR_IT = "It"
"""Where a sentence begins with its marker, so that it begins like one."""
_AROUND = 12  # characters before a marker that tell whether it begins a sentence
_LONGEST = 1_500  # characters of a claim; what is longer is no sentence
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Marker:
    """One number in the brackets of an answer; `at` is where the bracket opens."""

    number: int
    at: int


@dataclass(frozen=True, slots=True)
class Claim:
    """Words of an answer with the markers that stand for them."""

    text: str
    markers: tuple[Marker, ...]


def claims(answer: str) -> list[Claim]:
    """The claims of an answer in order; what is code has no markers."""
    found: list[Claim] = []
    clean, groups = _without_markers(answer)
    places = [place for place, _ in groups]
    spans = sentences(clean)
    for number, (start, end) in enumerate(spans):
        after = spans[number - 1][1] if number else -1
        own = groups[bisect_right(places, after) : bisect_right(places, end)]
        if own:
            found += _of_sentence(clean, start, end, own)
    return found


def _without_markers(answer: str) -> tuple[str, list[tuple[int, list[Marker]]]]:
    """The answer without markers, and behind which word of it each group of them stood."""
    hidden = _CODE.sub(lambda code: re.sub(r"[\[\]]", " ", code[0]), answer)
    clean, at = "", 0
    groups: list[tuple[int, list[Marker]]] = []
    for match in MARKER.finditer(hidden):
        clean += hidden[at : match.start()]
        at = match.end()
        if _leads(clean, hidden, at):
            clean += _STANDS_FOR_IT
        elif hidden[at : at + 1] in _PUNCTUATION:
            clean = clean.rstrip()
        markers = [Marker(int(number), match.start()) for number in _NUMBER.findall(match[1])]
        groups.append((len(clean.rstrip()), markers))
    return clean + hidden[at:], groups


def _leads(before: str, text: str, at: int) -> bool:
    """Whether a marker is the first word of a sentence: `[2] says that ...`."""
    return (
        re.search(r"(?:\A|[.!?\n])\s*\Z", before[-_AROUND:]) is not None
        and re.match(r" [a-zäöü]", text[at : at + 2]) is not None
    )


def _of_sentence(
    clean: str, start: int, end: int, groups: list[tuple[int, list[Marker]]]
) -> Iterator[Claim]:
    """Cut at the markers inside; words that say nothing alone belong to the next marker."""
    begin, waiting = start, list[Marker]()
    ready: list[tuple[str, list[Marker]]] = []
    for place, markers in groups:
        said = _said(clean[begin : max(begin, place)])
        if len(stems(said)) >= 2:
            ready.append((said, waiting + markers))
            waiting = []
        elif ready and not waiting:
            ready[-1][1].extend(markers)
            ready[-1] = (f"{ready[-1][0]} {said}" if said else ready[-1][0], ready[-1][1])
        else:
            waiting += markers
            continue
        begin = max(begin, place)
    rest = _said(clean[begin:end])
    if waiting or not ready:
        ready.append((rest, waiting))
    elif rest:
        ready[-1] = (f"{ready[-1][0]} {rest}", ready[-1][1])
    yield from (Claim(text[-_LONGEST:], tuple(markers)) for text, markers in ready if markers)


def bare(text: str) -> str:
    """The words of a sentence without its markers and the signs of Markdown."""
    return _said(MARKER.sub("", text))


def _said(text: str) -> str:
    return " ".join(_MARKUP.sub(" ", text).split()).strip(" |")
