"""A look-up, whole: how was searched, its stages, every passage with its scores and whether the
answer cites it, and what was found but not given.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from agentkit.core import bus
from agentkit.core.given import list_known
from agentkit.errors import AgentkitError, ConfigError
from agentkit.events import Event, Retrieved
from agentkit.ledger.comparing import Place, find_cited, place_of
from agentkit.ledger.queries import RunTotals
from agentkit.ledger.spans import Span, Trace
from agentkit.retrieval import Hit
from agentkit.retrieval.options import SearchOptions
from agentkit.retrieval.types import Scope
from agentkit.teams.question import Question
from agentkit.ui.lab import hits as lab_hits
from agentkit.ui.lab import parts as lab
from agentkit.ui.runs import question
from agentkit.ui.runs.parts import draw_text
from agentkit.ui.shared import state
from agentkit.ui.shared.state import PAGES
from agentkit.ui.steps import request, wording
from agentkit.ui.text import figures, markdown

_SHOWN = 50
_BEYOND = 40
"""So many passages more than were given are looked at for what was not."""
_LEFT_OUT = {"weak": "below the threshold", "duplicate": "nearly the same as another"}


@dataclass(frozen=True, slots=True)
class NotGiven:
    """A passage that the search finds and that was not given, and why."""

    hit: Hit
    why: str


def draw_lookup(run: RunTotals, trace: Trace, span: Span, event: Retrieved) -> None:
    """The look-up of this event."""
    options = read_options(event)
    how = lab.in_words(options) if options else event.mode
    st.caption(markdown.literal(f"In {event.collection or 'what was found before'} · {how}"))
    if event.fallback:
        st.warning(markdown.literal(wording.why_words(event.fallback)), icon=":material/cloud_off:")
    stages = [
        f"{stage.replace('_', ' ')} {figures.milliseconds(seconds)}"
        for stage, seconds in event.timings.items()
    ]
    if stages:
        st.caption(markdown.literal(" · ".join(stages)))
    draw_text("Query", event.query, f"query-{span.seq}")
    _draw_hits(event, find_cited(trace))
    _draw_left_out(event)
    _draw_ways(trace, span, event, options)


def read_options(event: Retrieved) -> SearchOptions | None:
    """How was searched; None where the event does not say it, or names what this version does not
    have.
    """
    try:
        return SearchOptions.from_json(json.dumps(event.options)) if event.options else None
    except (ConfigError, TypeError):
        return None


def _draw_hits(event: Retrieved, cited: Mapping[Place, int]) -> None:
    st.markdown(f"**{figures.count(len(event.hits), 'passage')} given**")
    for hit in event.hits[:_SHOWN]:
        marker = cited.get(place_of(hit))
        sign = f":green-badge[cited as {marker}]" if marker else ":gray-badge[not cited]"
        _draw_hit(hit, sign)
    if len(event.hits) > _SHOWN:
        st.caption(f"and {figures.count(len(event.hits) - _SHOWN)} more in what is stored")


def _draw_hit(hit: Mapping[str, Any], sign: str) -> None:
    where = f"p. {hit['page']}" if hit.get("page") else hit.get("place")
    told = (hit.get("document"), where, hit.get("heading"))
    source = ", ".join(str(part) for part in told if part)
    with st.container(border=True, gap="xsmall"):
        rank = f"{hit.get('rank', '')} · " if hit.get("rank") else ""
        st.markdown(f"**{rank}{markdown.literal(source)}** {sign}")
        scores = lab_hits.list_scores(hit.get("scores", {}))
        st.caption(markdown.literal(" · ".join([f"score {hit.get('score', 0):.3f}", *scores])))
        request.draw_cut(str(hit.get("text", "")))


def _draw_left_out(event: Retrieved) -> None:
    told = [
        f"{figures.count(event.left_out[why])} {word}"
        for why, word in _LEFT_OUT.items()
        if event.left_out.get(why)
    ]
    if told:
        st.caption(f"Found and not given: {', '.join(told)}")


# What can be done with it


def _draw_ways(trace: Trace, span: Span, event: Retrieved, options: SearchOptions | None) -> None:
    known = [one.name for one in state.workspace().library.collections(state.owner())]
    if options is None or event.collection.split(", ")[0] not in known:
        st.caption("It cannot be searched again: its collection or its settings are gone.")
        question.draw_adding(event.query, trace, span)
        return
    names = list_known(event.collection.split(", "), known)
    folded = st.expander(
        "What was not given, and why",
        icon=":material/visibility_off:",
        key=f"not-given-{span.seq}",
        on_change="rerun",
    )
    if folded.open:
        with folded:
            _draw_not_given(event, names, options, _read_scope(trace))
    st.page_link(
        PAGES / "retrieval_lab.py",
        label="Try it in the retrieval lab with these settings",
        icon=":material/science:",
        query_params={
            "collection": names[0],
            "q": event.query,
            "settings": json.dumps(options.to_dict()),
        },
    )
    question.draw_adding(event.query, trace, span)


def _read_scope(trace: Trace) -> Scope:
    """What the run's question was narrowed to."""
    first = question.find_asked(trace)
    return Question.from_message(first).scope if first else Scope()


def _draw_not_given(
    event: Retrieved, names: list[str], options: SearchOptions, scope: Scope
) -> None:
    try:
        missed = find_not_given(event, names, options, scope)
    except AgentkitError as error:
        st.error(markdown.literal(str(error)), icon=":material/error:")
        return
    st.caption("The same search once more, over what the collection holds now.")
    for one in missed:
        _draw_hit(one.hit.to_json(), f":orange-badge[{markdown.literal(one.why)}]")
    if not missed:
        st.caption("Nothing else is found: other words or another collection may help.")


def find_not_given(
    event: Retrieved, names: list[str], options: SearchOptions, scope: Scope
) -> list[NotGiven]:
    """What the same search finds besides, best first, with the threshold and all cuts off."""
    given = [Hit.from_json(hit) for hit in event.hits]
    most = min(1_000, options.top_k + _BEYOND)
    wide = replace(options, top_k=most, min_score=0.0, collapse=1.0, diversity=0.0)
    workspace, heard = state.workspace(), list[Event]()
    with bus.listening(heard.append), workspace.counted(state.owner(), lab.AGENT):
        found = workspace.library.retrieve(
            state.owner(), names, event.query, options=wide, scope=scope
        )
    others = (hit for hit in found if not any(lab_hits.same_place(hit, one) for one in given))
    return [NotGiven(hit, _why(hit, options)) for hit in others]


def _why(hit: Hit, options: SearchOptions) -> str:
    """Why a passage of this score and rank was not given."""
    if hit.score < options.min_score:
        return f"below the threshold: {hit.score:.3f} of {options.min_score:g}"
    if hit.rank > options.top_k:
        return f"rank {hit.rank:,}, and {options.top_k:,} were asked for"
    return "nearly the same as another, or new since"
