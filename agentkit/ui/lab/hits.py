"""What searches of the retrieval lab found: the time of every stage, the passages with all scores,
two searches compared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING
from zlib import crc32

import streamlit as st

from agentkit.events import Retrieved
from agentkit.llm.offline.words import stems, words
from agentkit.retrieval import Hit
from agentkit.retrieval.options import SearchOptions
from agentkit.retrieval.types import Scope
from agentkit.teams.citing import describe_source
from agentkit.ui.lab import marks
from agentkit.ui.lab import parts as lab
from agentkit.ui.lab.marks import Marking
from agentkit.ui.shared import components, passage
from agentkit.ui.shared.components import Part
from agentkit.ui.steps import wording
from agentkit.ui.text import figures, markdown

if TYPE_CHECKING:
    import pandas
    from streamlit.delta_generator import DeltaGenerator

PER_PAGE = 10
_UNSPACED = "\u0e00"  # from here on, scripts write without spaces
_SCORES = {"dense": "meaning", "lexical": "words", "fused": "fused", "rerank": "reranked"}
_LEFT_OUT = {"weak": "with weak evidence", "duplicate": "nearly the same as another"}
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Side:
    """A search to try: its letter, and what it is told."""

    letter: str
    options: SearchOptions
    version_id: str | None = None
    """None for the version that answers."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found, and the event that tells how."""

    side: Side
    hits: list[Hit]
    event: Retrieved


def draw_found(
    marking: Marking, scope: Scope, found: Sequence[Found], columns: Sequence[DeltaGenerator]
) -> None:
    """Summaries at the foot of the sides' columns; below them the passages, long lists by the
    page, each with whether it answers the question.
    """
    for one in found:
        with columns["AB".index(one.side.letter)]:
            _draw_summary(one, scope)
    longest = max((len(one.hits) for one in found), default=0)
    if len(found) == 2 and longest:
        st.caption(_overlap(*found))
    lists: Sequence[DeltaGenerator] = [st.container()]
    if len(columns) == 2:
        lists = st.columns(2, gap="large")
    asked = [(one.event.query, one.side) for one in found]
    first = _choose_first(longest, f"hits-page-{crc32(repr((asked, scope)).encode())}")
    for one in found:
        beside = [other.hits for other in found if other is not one]
        with lists["AB".index(one.side.letter)]:
            _draw_list(marking, one, first, *beside)


def _choose_first(longest: int, key: str) -> int:
    """The place of the first hit that is shown, where there are several pages of them; another
    query, scope or setting has another key, and begins anew.
    """
    pages = ceil(longest / PER_PAGE)
    if pages <= 1:
        return 0
    return (st.pagination(pages, key=key) - 1) * PER_PAGE


def _draw_list(
    marking: Marking, one: Found, first: int, others: Sequence[Hit] | None = None
) -> None:
    """A page of what one side found, and all of it as a table."""
    if others is not None:
        st.caption(f"**{one.side.letter}** · {lab.MODE_NAMES[one.side.options.mode]}")
    for hit in one.hits[first : first + PER_PAGE]:
        _draw_hit(marking, one.side, hit, others)
    if one.hits:
        _draw_table(one)


def _draw_summary(found: Found, scope: Scope) -> None:
    event = found.event
    left_out = [
        f"{figures.count(event.left_out[what])} {why}"
        for what, why in _LEFT_OUT.items()
        if event.left_out.get(what)
    ]
    with st.container(gap="xsmall"):
        if event.fallback:
            st.warning(
                markdown.literal(wording.why_words(event.fallback)), icon=":material/cloud_off:"
            )
        st.markdown(
            f"**{figures.count(len(found.hits), 'passage')}** in"
            f" {figures.milliseconds(event.seconds)}"
        )
        st.caption(
            " · ".join(
                f"{stage.replace('_', ' ')} {figures.milliseconds(seconds)}"
                for stage, seconds in event.timings.items()
            )
        )
        if left_out:
            st.caption(f"Left out: {', '.join(left_out)}")
        if not found.hits:
            st.info(_advice(found, scope), icon=":material/search_off:")


def _advice(found: Found, scope: Scope) -> str:
    """Why nothing may have been found, and what to loosen."""
    options = found.side.options
    is_judged = options.reranker or not found.event.fallback
    ways: list[str] = []
    if options.min_score and is_judged:
        ways.append(f"lower “Weak below” from {options.min_score:g}")
    if scope != Scope():
        ways.append("clear the filters")
    if options.mode == "lexical":
        ways.append("search by meaning, too")
    if not ways:
        ways = ["ask in other words"]
    return f"Nothing was found. {lab.advice(ways)}"


def _draw_hit(marking: Marking, side: Side, hit: Hit, others: Sequence[Hit] | None) -> None:
    with st.container(border=True, gap="xsmall", key=f"hit-{side.letter}-{hit.rank}"):
        moved = ""
        if others is not None:
            moved = f" {_describe_move(shift(hit, others))}"
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(
                f"**{hit.rank}** · **{markdown.literal(describe_source(replace(hit, heading='')))}"
                f"** · {hit.score:.3f}{moved}",
                width="stretch",
            )
            marks.draw_verdict(marking, hit, f"mark-{side.letter}-{hit.rank}")
        if hit.heading:
            st.caption(markdown.literal(hit.heading))
        st.caption(_describe_scores(hit))
        components.draw_marked_text(
            mark_words(_as_read(hit), marking.question), key=f"text-{side.letter}-{hit.rank}"
        )
        if hit.also_in:
            st.caption(
                ":material/content_copy: Nearly the same in"
                f" {', '.join(map(markdown.literal, hit.also_in))}"
            )


def _as_read(hit: Hit) -> str:
    """The passage, the lines of a page joined to paragraphs: where they broke on paper means
    nothing here.
    """
    return passage.unwrap(hit.text) if hit.page else hit.text


def list_scores(scores: Mapping[str, float]) -> list[str]:
    """`meaning 0.712 (rank 1)`, `words 12.400 (rank 3)` and `fused 0.831`, of those there are."""
    parts = []
    for name, word in _SCORES.items():
        if name in scores:
            rank = scores.get(f"{name}_rank")
            parts.append(
                f"{word} {scores[name]:.3f}"
                + (f" (rank {int(rank):,})" if rank is not None else "")
            )
    return parts


def _describe_scores(hit: Hit) -> str:
    parts = list_scores(hit.scores)
    if len(hit.chunk_ids) > 1:
        parts.append(f"{figures.count(len(hit.chunk_ids))} chunks merged")
    return " · ".join(parts)


def _draw_table(found: Found) -> None:
    with st.expander("All scores as a table", type="compact", icon=":material/table:"):
        score = st.column_config.NumberColumn(format="%.3f")
        about = {name: score for name in ("Score", "Cosine", "BM25", "Fused", "Reranked")}
        st.dataframe(
            table(found.hits),
            hide_index=True,
            key=f"scores-{found.side.letter}",
            column_config=about,
            alt=f"Scores of the {figures.count(len(found.hits), 'passage')} by stage",
        )


def table(hits: Sequence[Hit]) -> pandas.DataFrame:
    """The hits with the score and rank of every stage, one a row; stages without a part in any of
    them are left out.
    """
    import pandas

    rows = [
        {
            "Rank": hit.rank,
            "Document": hit.document,
            "Page": hit.page,
            "Heading": hit.heading,
            "Score": hit.score,
            "Cosine": hit.scores.get("dense"),
            "Cosine rank": hit.scores.get("dense_rank"),
            "BM25": hit.scores.get("lexical"),
            "BM25 rank": hit.scores.get("lexical_rank"),
            "Fused": hit.scores.get("fused"),
            "Reranked": hit.scores.get("rerank"),
        }
        for hit in hits
    ]
    return pandas.DataFrame(rows).dropna(axis="columns", how="all")


# What two searches have in common


def same_place(one: Hit, other: Hit) -> bool:
    """Whether the hits share text of a document, also when it was cut or merged differently."""
    return one.document_id == other.document_id and one.start < other.end and other.start < one.end


def shift(hit: Hit, others: Sequence[Hit]) -> int | None:
    """How many ranks higher the hit stands here than among the others; None when it is not among
    them.
    """
    return next((other.rank - hit.rank for other in others if same_place(hit, other)), None)


def _overlap(one: Found, other: Found) -> str:
    shared = sum(shift(hit, other.hits) is not None for hit in one.hits)
    letters = f"{one.side.letter} are also among those of {other.side.letter}"
    text = (
        f":material/join_inner: {shared:,} of {figures.count(len(one.hits), 'passage')} of"
        f" {letters}."
    )
    same = (one.side.options, one.side.version_id) == (other.side.options, other.side.version_id)
    return (
        f"{text} Both sides search alike: change something under “Settings {other.side.letter}”."
        if same
        else text
    )


def _describe_move(ranks: int | None) -> str:
    if ranks is None:
        return ":primary-badge[new]"
    if not ranks:
        return ":gray-badge[same rank]"
    if ranks > 0:
        return f":primary-badge[▲ {ranks:,}]"
    return f":gray-badge[▼ {-ranks:,}]"


# Words of the query


def mark_words(text: str, query: str) -> list[Part]:
    """The text in parts, with the words marked that the query has, too, whatever their endings."""
    wanted = set(stems(query)) or set(words(query))
    pairs: set[str] = set()
    for word in _WORD.findall(query):
        if word >= _UNSPACED:
            pairs.update(_pairs(word))
    marked: list[tuple[int, int]] = []
    for match in _WORD.finditer(text):
        marked += _spans(match, wanted, pairs)
    return _parts(text, marked)


def _spans(match: re.Match[str], wanted: set[str], pairs: set[str]) -> list[tuple[int, int]]:
    """Where in this run of letters the query's words stand; in scripts without spaces, pairs of its
    characters.
    """
    word, at = match.group(), match.start()
    if word >= _UNSPACED:
        return [
            (at + n, at + n + 1)
            for n, character in enumerate(word)
            if not pairs.isdisjoint((character, word[n : n + 2], word[max(0, n - 1) : n + 1]))
        ]
    if wanted.intersection(stems(word) or words(word)):
        return [match.span()]
    return []


def _pairs(word: str) -> list[str]:
    if len(word) > 1:
        return [word[n : n + 2] for n in range(len(word) - 1)]
    return [word]


def _parts(text: str, spans: Sequence[tuple[int, int]]) -> list[Part]:
    parts: list[Part] = []
    at = 0
    for start, end in spans:
        parts += [(text[at:start], ""), (text[start:end], "passage")]
        at = end
    return [part for part in [*parts, (text[at:], "")] if part[0]]
