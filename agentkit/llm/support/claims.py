"""What an answer claims with each of its markers `[n]`: the words that the marker stands behind."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

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
_LONGEST = 1_500  # characters of a claim; anything longer is hardly a sentence
_NUMBER = re.compile(r"\d+")
_BRACKET = re.compile(r"[\[\]]")
_AT_START = re.compile(r"(?:\A|[.!?\n])\s*\Z")
_GOES_ON = re.compile(r" [a-zäöü]")


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


@dataclass(slots=True)
class _Group:
    """Markers that stand together, and behind which letter of the clean answer."""

    place: int
    markers: list[Marker]


@dataclass(slots=True)
class _Draft:
    """A claim that further words and markers may be added to."""

    text: str
    markers: list[Marker] = field(default_factory=list)

    def add(self, words: str) -> None:
        """Add the words that follow."""
        self.text = f"{self.text} {words}".strip()


def find_claims(answer: str) -> list[Claim]:
    """The claims of an answer in order; what is code has no markers."""
    found: list[Claim] = []
    clean, groups = _take_out_markers(answer)
    places = list(map(attrgetter("place"), groups))
    before = -1
    for start, end in sentences(clean):
        own = groups[bisect_right(places, before) : bisect_right(places, end)]
        before = end
        if own:
            found += _cut_sentence(clean, start, end, own)
    return found


def strip_markers(text: str) -> str:
    """The words of a sentence without its markers and the signs of Markdown."""
    return _strip_markup(MARKER.sub("", text))


def _take_out_markers(answer: str) -> tuple[str, list[_Group]]:
    """The answer without markers, and the groups of them that stood in it."""
    hidden = _CODE.sub(lambda code: _BRACKET.sub(" ", code[0]), answer)
    clean, at = "", 0
    groups: list[_Group] = []
    for match in MARKER.finditer(hidden):
        clean += hidden[at : match.start()]
        at = match.end()
        if _begins_sentence(clean, hidden, at):
            clean += _STANDS_FOR_IT
        elif hidden.startswith(_PUNCTUATION, at):
            clean = clean.rstrip()
        markers = [Marker(int(number), match.start()) for number in _NUMBER.findall(match[1])]
        groups.append(_Group(len(clean.rstrip()), markers))
    return clean + hidden[at:], groups


def _begins_sentence(before: str, text: str, at: int) -> bool:
    """Whether a marker is the first word of a sentence: `[2] says that ...`."""
    if _GOES_ON.match(text, at) is None:
        return False
    return _AT_START.search(before[-_AROUND:]) is not None


def _cut_sentence(clean: str, start: int, end: int, groups: Sequence[_Group]) -> Iterator[Claim]:
    """Cut at the markers inside; words that say nothing alone belong to the next marker."""
    begin, waiting = start, list[Marker]()
    ready: list[_Draft] = []
    for group in groups:
        said = _strip_markup(clean[begin : max(begin, group.place)])
        if len(stems(said)) >= 2:
            ready.append(_Draft(said, waiting + group.markers))
            waiting = []
        elif ready and not waiting:
            ready[-1].add(said)
            ready[-1].markers += group.markers
        else:
            waiting += group.markers
            continue
        begin = max(begin, group.place)

    rest = _strip_markup(clean[begin:end])
    if waiting or not ready:
        ready.append(_Draft(rest, waiting))
    else:
        ready[-1].add(rest)
    for draft in ready:
        if draft.markers:
            yield Claim(draft.text[-_LONGEST:], tuple(draft.markers))


def _strip_markup(text: str) -> str:
    return " ".join(_MARKUP.sub(" ", text).split()).strip(" |")
