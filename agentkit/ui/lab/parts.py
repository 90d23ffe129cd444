"""What the views of the retrieval lab share: the collection, the settings of a search, and the
index version.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import streamlit as st

from agentkit.core.given import join_filled
from agentkit.retrieval.ingest.versions import VersionStatus
from agentkit.retrieval.options import LIMITS, MODES, SearchOptions
from agentkit.ui.shared import state
from agentkit.ui.text import figures

AGENT = "Retrieval lab"
"""Who asked, of the calls that a search here takes."""
TRY, MEASURE, TEAMS, INDEX = "Try a query", "Measure", "Teams", "Index"
MODE_NAMES = {"hybrid": "Meaning and words", "dense": "Meaning", "lexical": "Words"}
_VIEW = "view"
_ABOUT_WEAK = (
    "Passages with a lower final score are left out; 0 keeps all. With *Meaning and words*, 0.25 is"
    " a good value to begin with: most questions that the documents do not answer then find"
    " nothing. Measure it on your own questions."
)
_ABOUT_MODES = (
    "*Meaning* compares embeddings (dense search), *Words* the words themselves (BM25, lexical"
    " search); together they are fused (hybrid search)."
)


def draw_views() -> str:
    """Which view is open, `TRY`, `MEASURE`, `TEAMS` or `INDEX`, as `?view=` in the address; only
    that one is to be drawn.
    """
    views = [TRY, MEASURE, TEAMS, INDEX]
    return st.segmented_control(
        "View",
        views,
        default=TRY,
        required=True,
        key=_VIEW,
        bind="query-params",
        label_visibility="collapsed",
    )


def open_view(name: str) -> None:
    """Open this view at the next drawing."""
    st.session_state[_VIEW] = name


# Settings


def draw_options(key: str, options: SearchOptions) -> SearchOptions:
    """The settings of a search to choose, at first these; `key` begins the keys of the widgets,
    which keep what is chosen.
    """
    rerankers = state.workspace().library.rerankers.names()
    for name, value in dataclasses.asdict(options).items():
        st.session_state.setdefault(f"{key}-{name}", value)
    mode = st.segmented_control(
        "Search by",
        MODES,
        format_func=MODE_NAMES.__getitem__,
        required=True,
        key=f"{key}-mode",
        help=_ABOUT_MODES,
        wrap=True,
        persist_state="session",
    )
    with st.grid(2, min_column_width=130):
        top_k = _number(key, "top_k", "Passages", "How many passages are given at most.")
        depth = _number(
            key,
            "depth",
            "Candidates",
            "How many chunks each stage looks at, at least; more are slower.",
        )
        collapse = _slider(
            key,
            "collapse",
            "Near-duplicates from",
            "Passages as alike as this (cosine) are shown once; 1 keeps all.",
        )
        diversity = _slider(
            key,
            "diversity",
            "Diversity",
            "How much passages must differ from better ones (MMR); 0 is not at all.",
        )
        min_score = _slider(key, "min_score", "Weak below", _ABOUT_WEAK)
    merge = st.toggle(
        "Merge neighbours",
        key=f"{key}-merge",
        help="Chunks that follow each other become one passage.",
        persist_state="session",
    )
    reranker, rerank_depth = _draw_reranker(key, rerankers, options)
    return SearchOptions(
        mode=mode or options.mode,
        top_k=top_k,
        depth=depth,
        merge=merge,
        collapse=collapse,
        diversity=diversity,
        reranker=reranker,
        rerank_depth=rerank_depth,
        min_score=min_score,
    )


def set_options(key: str, options: SearchOptions) -> None:
    """Let the widgets that `draw_options` drew under this key show these settings, from the next
    drawing on.
    """
    for name, value in dataclasses.asdict(options).items():
        st.session_state[f"{key}-{name}"] = value


def in_words(options: SearchOptions) -> str:
    """The settings in one line of plain text: the mode, the number of passages, and what is
    switched on.
    """
    return " · ".join(on for on, _ in _by_setting(options) if on)


def words_of(options: SearchOptions) -> list[str]:
    """Each setting in words, what is switched off included, always in the same order."""
    return [on or off for on, off in _by_setting(options)]


def _by_setting(options: SearchOptions) -> list[tuple[str, str]]:
    """Each setting as it is told when it is switched on, and when it is off."""
    reranked = f"{figures.count(options.rerank_depth)} reranked by {options.reranker}"
    return [
        (MODE_NAMES[options.mode], ""),
        (figures.count(options.top_k, "passage"), ""),
        (f"of {figures.count(options.depth, 'candidate')}", ""),
        ("neighbours merged" if options.merge else "", "neighbours apart"),
        (
            f"near-duplicates from {options.collapse:g}" if options.collapse < 1 else "",
            "near-duplicates kept",
        ),
        (f"diversity {options.diversity:g}" if options.diversity else "", "no diversity"),
        (reranked if options.reranker else "", "not reranked"),
        (f"weak below {options.min_score:g}" if options.min_score else "", "weak kept"),
    ]


def _draw_reranker(key: str, names: Sequence[str], options: SearchOptions) -> tuple[str, int]:
    """Which reranker, and how much it reads; one that is chosen stays in the list when it is no
    longer to be had.
    """
    chosen = st.session_state[f"{key}-reranker"]
    if not names and not chosen:
        st.caption("Reranker: none is installed.")
        return "", options.rerank_depth
    offered = dict.fromkeys(["", *names, chosen])
    about = (
        "A model that reads the question with each of the best passages once more: more exact, and"
        " slower."
    )
    reranker = st.selectbox(
        "Reranker",
        list(offered),
        format_func=lambda name: name or "None",
        key=f"{key}-reranker",
        help=about,
        persist_state="session",
    )
    if not reranker:
        return "", options.rerank_depth
    return reranker, _number(
        key,
        "rerank_depth",
        "Passages it reads",
        "How many of the best candidates the reranker reads.",
    )


def _number(key: str, name: str, label: str, about: str) -> int:
    low, high = LIMITS[name]
    return int(
        st.number_input(
            label,
            min_value=int(low),
            max_value=int(high),
            step=1,
            key=f"{key}-{name}",
            help=about,
            persist_state="session",
        )
    )


def _slider(key: str, name: str, label: str, about: str) -> float:
    low, high = LIMITS[name]
    return float(
        st.slider(
            label,
            float(low),
            float(high),
            step=0.01,
            key=f"{key}-{name}",
            help=about,
            persist_state="session",
        )
    )


# Index versions


def draw_version(key: str, listed: Sequence[VersionStatus]) -> str | None:
    """The id of the index version to search, None for the one that answers; asked for only where
    there are several.
    """
    if len(listed) < 2:
        return None
    names = {one.version.id: _version_name(one) for one in listed}
    answering = next((one.version.id for one in listed if one.version.active), None)
    if st.session_state.get(key) not in names:
        st.session_state[key] = answering
    about = "How the documents are cut and embedded. Versions are built and promoted under Index."
    chosen = st.selectbox(
        "Version",
        list(names),
        format_func=names.__getitem__,
        key=key,
        help=about,
        persist_state="session",
    )
    return None if chosen == answering else chosen


def _version_name(status: VersionStatus) -> str:
    version = status.version
    parts = [
        f"{version.embedder}, {figures.count(version.max_tokens)} tokens",
        f"overlap {figures.count(version.overlap)}" if version.overlap else "",
        "answers now" if version.active else "",
        f"{figures.count(status.missing, 'document')} missing" if status.missing else "",
    ]
    return join_filled(" · ", parts)


def advice(ways: Sequence[str]) -> str:
    """One sentence that names ways to find more."""
    text = ", or ".join(ways)
    return f"{text[:1].upper()}{text[1:]}."
