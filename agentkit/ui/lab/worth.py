"""What figures of a measurement are worth: between which values they lie, and whether a change is
more than chance.
"""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from agentkit.core.intervals import FEWEST, Verdict
from agentkit.retrieval.evaluation import comparing
from agentkit.retrieval.evaluation.comparing import Difference, Interval, find_intervals
from agentkit.retrieval.store.questions import Measurement, QuestionResult
from agentkit.ui.shared import state
from agentkit.ui.text import figures

NAMES = {
    "ndcg_10": "nDCG@10",
    "recall_1": "Recall@1",
    "recall_5": "Recall@5",
    "recall_10": "Recall@10",
    "recall_100": "Recall@100",
    "mrr_10": "MRR@10",
    "hit_rate": "Hit rate",
}
_SHOWN = ("ndcg_10", "recall_10", "mrr_10", "hit_rate")
_WORTH: Mapping[Verdict, str] = {
    "none": "no question in both",
    "same": "no question differs",
    "few": f"fewer than {FEWEST} questions differ, too few to tell it from chance",
    "open": "within chance",
    "better": "better by more than chance",
    "worse": "worse by more than chance",
}
_ICONS: Mapping[Verdict, str] = {
    "better": ":material/trending_up:",
    "worse": ":material/trending_down:",
}


def read_results(measured: Measurement) -> tuple[QuestionResult, ...]:
    """What became of each question; a measurement never changes, so it is read once."""
    return _read_once(state.owner(), measured.id)


@st.cache_resource(max_entries=300, show_spinner=False)
def _read_once(owner: str, measurement_id: str) -> tuple[QuestionResult, ...]:
    return state.workspace().library.questions.measurement(owner, measurement_id).results


def compare(base: Measurement | None, other: Measurement) -> Mapping[str, Difference]:
    """How each figure differs from the baseline; nothing without one."""
    if base is None:
        return {}
    return comparing.compare(read_results(base), read_results(other))


def is_beyond_chance(found: Mapping[str, Difference], name: str) -> bool:
    """Whether the figure got better or worse, as far as the questions tell."""
    return name in found and found[name].verdict in _ICONS


def find_margin(measured: Measurement) -> float | None:
    """How far around it nDCG@10 lies with 95 % confidence; None where one question was asked."""
    results = read_results(measured)
    return find_intervals(results)["ndcg_10"].margin


def tell_verdict(base: Measurement | None, one: Measurement) -> str:
    """What the change of nDCG@10 to the baseline is worth; nothing of the baseline itself."""
    if base is None or base.id == one.id:
        return ""
    return _WORTH[compare(base, one)["ndcg_10"].verdict]


def draw_worth(
    base: Measurement | None, other: Measurement, found: Mapping[str, Difference]
) -> None:
    """The intervals of the figures in words, or, with a baseline, what their changes are worth."""
    if base is None:
        st.caption(tell_intervals(other))
        return
    lines = [f"\n- {_mark(found[name])}{NAMES[name]} {tell(found[name])}" for name in _SHOWN]
    st.markdown("".join(lines))
    st.caption(tell_intervals(other))


def tell_intervals(measured: Measurement) -> str:
    """Between which values the figures lie."""
    found = find_intervals(read_results(measured))
    if found["ndcg_10"].ends is None:
        return "One question alone does not tell how sure the figures are."
    asked = figures.count(found["ndcg_10"].questions, "question")
    lie = ", ".join([_tell_ends(NAMES[name], found[name]) for name in _SHOWN])
    return f"With 95 % confidence, over {asked}: {lie}."


def _tell_ends(name: str, interval: Interval) -> str:
    """Between which values a figure lies; a share is never beyond 0 and 1."""
    margin = interval.margin or 0.0
    low = max(0.0, interval.mean - margin)
    high = min(1.0, interval.mean + margin)
    return f"{name} {low:.2f} to {high:.2f}"


def _mark(found: Difference) -> str:
    icon = _ICONS.get(found.verdict, ":material/trending_flat:")
    return f"{icon} "


def tell(found: Difference) -> str:
    """`-0.07 over 40 questions: within chance (95 %: -0.16 to +0.02)`."""
    interval = found.interval
    asked = figures.count(interval.questions, "question")
    told = f"{interval.mean:+.2f} over {asked}: **{_WORTH[found.verdict]}**"
    if interval.ends is None:
        return told
    return f"{told} (95 %: {figures.ends(*interval.ends)})"
