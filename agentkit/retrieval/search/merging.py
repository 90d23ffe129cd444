"""From ranked chunks to the passages that are given: near-duplicates collapsed, variety, neighbours
merged.

Variety is maximal marginal relevance (Carbonell and Goldstein 1998, "The use of MMR,
diversity-based reranking").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING

from agentkit.documents import places
from agentkit.retrieval.search.candidates import Candidate
from agentkit.retrieval.store.chunk_table import IndexRow
from agentkit.retrieval.types import Hit

if TYPE_CHECKING:
    import numpy as np

MOST_CHUNKS = 3
"""Chunks in a passage at most: a longer one would crowd out what else was found."""
_GAP = 200
"""Characters of white space between two chunks that may become one, at most."""
_SAME_WORDS = 0.9
"""Share of words (of all that either text has) that near-duplicates have in common, at least."""
_WORD = re.compile(r"\w+")
_TURNS = frozenset(
    {
        "no",
        "not",
        "never",
        "without",
        "except",
        "nicht",
        "kein",
        "keine",
        "keinen",
        "keiner",
        "nie",
        "ohne",
        "außer",
        "non",
        "ne",
        "pas",
        "jamais",
        "sans",
        "nunca",
        "sin",
    }
)
"""Words that turn what is said around; texts that differ in one of them say different things."""


@dataclass(eq=False, slots=True)
class Passage:
    """A chunk, or neighbouring ones of a document, to be given as one; `text` is the document's
    from `start` to `end`.
    """

    best: Candidate
    document_id: str
    document: str
    page: int | None
    heading: str
    place: str
    start: int
    end: int
    text: str
    first: int
    """Number of its first chunk in the document."""
    ids: tuple[int, ...]
    also_in: list[str] = field(default_factory=list)
    """Names of documents that say nearly the same."""
    twins: int = 0
    """Chunks that were left out because they say nearly the same."""

    @classmethod
    def of(cls, candidate: Candidate, row: IndexRow) -> Passage:
        """The passage that the chunk alone is; `row` is what the table of chunks shows of it."""
        return cls(
            candidate,
            row["document_id"],
            row["document"],
            row["page"],
            row["heading"],
            row["place"],
            row["start"],
            row["end"],
            row["text"],
            row["ordinal"],
            (candidate.id,),
        )

    def to_hit(self, rank: int) -> Hit:
        """The passage as it is given."""
        return Hit(
            rank,
            self.best.score,
            self.best.id,
            self.document_id,
            self.document,
            self.page,
            self.heading,
            self.place,
            self.start,
            self.end,
            self.text,
            self.best.scores,
            self.ids,
            tuple(self.also_in),
        )


def collapse(found: Sequence[Passage], alike: np.ndarray, least: float) -> list[int]:
    """The numbers of those that stay, when near-duplicates of better ones are left out; the better
    ones are told their names.

    `alike` (n, n) has the cosines, best passage first. The texts must be alike too, since a vector
    hardly shows that a number differs; the same words are enough, since titles and headings are in
    the vectors.
    """
    import numpy as np

    texts = [" ".join(one.text.casefold().split()) for one in found]
    kinds = {text: kind for kind, text in enumerate(texts)}
    kind = np.array([kinds[text] for text in texts])
    is_same = (alike >= least) | (kind[:, None] == kind)
    pairs = np.argwhere(np.tril(is_same, -1)).tolist()
    stay = dict.fromkeys(range(len(found)))
    for worse, better in pairs:
        both_stay = worse in stay and better in stay
        if both_stay and same_content(texts[worse], texts[better]):
            del stay[worse]
            _note_twin(found[better], found[worse])
    return list(stay)


def same_content(one: str, two: str) -> bool:
    """Whether two texts have nearly the same words, and the same numbers and negations in the same
    order.
    """
    return _say_the_same(_WORD.findall(one.casefold()), _WORD.findall(two.casefold()))


def _say_the_same(one: Sequence[str], two: Sequence[str]) -> bool:
    if one == two:
        return True
    if _list_decisive(one) != _list_decisive(two):
        return False
    first, second = set(one), set(two)
    return len(first & second) >= _SAME_WORDS * len(first | second)


def _list_decisive(words: Sequence[str]) -> list[str]:
    """The words that tell one text from another that is nearly the same."""
    return [word for word in words if _is_decisive(word)]


def _is_decisive(word: str) -> bool:
    """Whether a text says something else without this word, however long it is."""
    return word in _TURNS or not word.isalpha()


def diversify(
    scores: Sequence[float], alike: np.ndarray, diversity: float
) -> tuple[list[int], list[float]]:
    """The order in which each is good and differs from those before it, and the value that each was
    chosen by.

    `alike` (n, n) has the cosines. The scores count as shares of the best, so that any kind of
    score will do.
    """
    import numpy as np

    relevance = np.asarray(scores, dtype=np.float64)
    highest = relevance.max(initial=0.0)
    if highest > 0:
        relevance = relevance / highest
    nearest = np.zeros(len(relevance))
    left = np.ones(len(relevance), dtype=bool)
    order: list[int] = []
    values: list[float] = []
    for _ in range(len(relevance)):
        gain = np.where(left, (1 - diversity) * relevance - diversity * nearest, -np.inf)
        best = int(gain.argmax())
        order.append(best)
        values.append(float(gain[best]))
        left[best] = False
        nearest = np.maximum(nearest, alike[best])
    return order, values


def merge(ranked: Sequence[Passage], most: int) -> list[Passage]:
    """The first `most` passages, best first, in which neighbours are one; the text of those is
    still to be read.

    A merged passage stands where the better one stood. Neighbours follow each other on one page and
    under one top heading.
    """
    merged: list[Passage] = []
    starts: dict[tuple[str, int], Passage] = {}
    ends: dict[tuple[str, int], Passage] = {}
    for one in ranked:
        if len(merged) == most:
            break
        merged.append(one)
        for other in (
            ends.get((one.document_id, one.first)),
            starts.get((one.document_id, one.first + len(one.ids))),
        ):
            if other is not None and _can_join(one, other):
                # `other` ranks higher than what it takes in, unless that has just taken in the
                # neighbour on its other side
                first, second = sorted((one, other), key=merged.index)
                merged.remove(second)
                _join(first, second)
                one = first
        starts[one.document_id, one.first] = one
        ends[one.document_id, one.first + len(one.ids)] = one
    return merged


def trim(passages: Sequence[Passage]) -> None:
    """Cut from passages what chunks repeat of the ones before them, where that is in another
    passage.
    """
    in_order = sorted(passages, key=lambda one: (one.document_id, one.start, one.end))
    for before, one in pairwise(in_order):
        if before.document_id == one.document_id and one.start < before.end < one.end:
            _cut_beginning(one, before.end)


def _cut_beginning(passage: Passage, end: int) -> None:
    """Cut what stands before this place of the document, unless only white space would be left."""
    text = passage.text[end - passage.start :]
    kept = text.lstrip()
    if kept:
        passage.start, passage.text = end + len(text) - len(kept), kept


def _can_join(one: Passage, other: Passage) -> bool:
    first, second = sorted((one, other), key=lambda passage: passage.first)
    return (
        len(one.ids) + len(other.ids) <= MOST_CHUNKS
        and first.best.part.version.id == second.best.part.version.id
        and second.start - first.end <= _GAP
        and _section_of(first) == _section_of(second)
    )


def _section_of(passage: Passage) -> tuple[int | None, str, str]:
    """What neighbours have in common, as the splitter has it for sections of one chunk."""
    return passage.page, passage.heading.split(" > ", 1)[0], places.container(passage.place)


def _join(better: Passage, worse: Passage) -> None:
    first, second = sorted((better, worse), key=lambda passage: passage.first)
    better.heading, better.place, better.ids, better.first, better.start, better.end = (
        _common_heading(first.heading, second.heading),
        places.join(first.place, second.place),
        first.ids + second.ids,
        first.first,
        first.start,
        max(first.end, second.end),
    )
    better.also_in = [
        name for name in dict.fromkeys(better.also_in + worse.also_in) if name != better.document
    ]
    better.twins += worse.twins


def _common_heading(one: str, two: str) -> str:
    """What two paths of headings have in common."""
    pairs = zip(one.split(" > "), two.split(" > "), strict=False)
    return " > ".join(first for first, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _note_twin(better: Passage, worse: Passage) -> None:
    """Note who says nearly the same."""
    better.twins += 1 + worse.twins
    if worse.document not in (better.document, *better.also_in):
        better.also_in.append(worse.document)
