"""What a question set scored: every measurement in a table, two of them compared, and what became
of each question.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import streamlit as st

from agentkit.errors import AgentkitError
from agentkit.retrieval.evaluation.comparing import Difference
from agentkit.retrieval.store.questions import Measurement, QuestionResult, QuestionSet
from agentkit.ui.lab import parts, worth
from agentkit.ui.lab.worth import NAMES
from agentkit.ui.shared import downloads, state
from agentkit.ui.text import figures, times

if TYPE_CHECKING:
    import pandas

_ABOUT = {
    "ndcg_10": (
        "How good the order of the first 10 documents is, by grade; 1 is the best there can be."
    ),
    "recall_10": "Share of the expected documents that are among the first 10.",
    "recall_100": (
        "Share of the expected documents that are among the documents of the first 100 passages."
    ),
    "mrr_10": "One divided by the rank of the first expected document; 0 beyond rank 10.",
    "hit_rate": "Share of the questions for which a chat gets a passage of an expected document.",
}
_SHOWN = ("ndcg_10", "recall_10", "recall_100", "mrr_10", "hit_rate")
_BASE, _OTHER = "measurement-base", "measurement-other"
_CHANGES = ("better", "worse", "same")


def compare_newest() -> None:
    """Compare the newest measurement with the one before it again, from the next drawing on."""
    for key in (_BASE, _OTHER):
        st.session_state.pop(key, None)


def draw_results(chosen: QuestionSet) -> None:
    """All that the set scored so far, newest first, and the comparison of two; nothing while
    nothing was measured.
    """
    history = state.workspace().library.questions.history(state.owner(), chosen.id)
    if not history:
        if chosen.questions:
            st.caption("Nothing was measured with this set yet.")
        return
    st.subheader("Results", anchor=False)
    numbers = {one.id: len(history) - place for place, one in enumerate(history)}
    base, other = _draw_pair(history, numbers)
    found = worth.compare(base, other)
    _draw_figures(base, other, found)
    worth.draw_worth(base, other, found)
    _draw_table(chosen, history, numbers, base)
    _draw_questions(chosen, base, other)


def _draw_pair(
    history: Sequence[Measurement], numbers: dict[str, int]
) -> tuple[Measurement | None, Measurement]:
    """The measurement to look at, and the baseline that it is compared with, if there are two."""
    known = {one.id: one for one in history}
    if len(history) == 1:
        return None, history[0]

    named = name_by_what_differs(history, _versions({one.collection for one in history}))

    def label(measurement_id: str) -> str:
        one = known[measurement_id]
        name = named[measurement_id]
        return f"{numbers[measurement_id]}: {name}, {times.format_time(one.created_at)}"

    for key in (_BASE, _OTHER):
        if st.session_state.get(key) not in known:
            st.session_state.pop(key, None)
    with st.container(horizontal=True, key="measurement-pair"):
        base = st.selectbox(
            "Baseline", list(known), index=1, format_func=label, key=_BASE, width=420
        )
        other = st.selectbox(
            "Compared with it", list(known), index=0, format_func=label, key=_OTHER, width=420
        )
    return (known[base] if base != other else None), known[other]


def name_by_what_differs(
    history: Sequence[Measurement], versions: Mapping[str, str]
) -> dict[str, str]:
    """What tells each measurement from the others, by its id; of equal ones the way of searching.

    `versions` has the index versions in words, by id.
    """
    facts = {
        one.id: [
            *parts.words_of(one.options),
            one.collection,
            versions.get(one.version_id, "a removed index version"),
        ]
        for one in history
    }
    differ = [len(set(column)) > 1 for column in zip(*facts.values(), strict=True)]
    shown = differ if any(differ) else [True]
    return {
        measurement_id: " · ".join(fact for fact, show in zip(told, shown, strict=False) if show)
        for measurement_id, told in facts.items()
    }


def _draw_figures(
    base: Measurement | None, other: Measurement, found: Mapping[str, Difference]
) -> None:
    """The figures; a change that may be chance has no colour and no arrow."""
    with st.grid(6, min_column_width=130, gap="small"):
        for name in _SHOWN:
            change = None
            if base:
                change = f"{other.figures[name] - base.figures[name]:+.3f}"
            arrow: Literal["auto", "off"] = "off"
            colour: Literal["normal", "off"] = "off"
            if worth.is_beyond_chance(found, name):
                arrow, colour = "auto", "normal"
            value, about = f"{other.figures[name]:.3f}", _ABOUT[name]
            st.metric(NAMES[name], value, change, delta_color=colour, delta_arrow=arrow, help=about)
        slower = None
        if base:
            slower = f"{(other.figures['p50_s'] - base.figures['p50_s']) * 1_000:+,.0f} ms"
        about = "Median time of a search with these settings."
        st.metric(
            "Median time",
            f"{other.figures['p50_s'] * 1_000:,.0f} ms",
            slower,
            delta_color="inverse",
            help=about,
        )


def _draw_table(
    chosen: QuestionSet,
    history: Sequence[Measurement],
    numbers: dict[str, int],
    base: Measurement | None,
) -> None:
    frame = table(history, numbers, base)
    columns = st.column_config
    st.dataframe(
        frame if base else frame.drop(columns=["Change", "Worth"]),
        hide_index=True,
        placeholder="",
        key=f"measurements-{chosen.id}",
        alt=f"What {chosen.name} scored, one measurement a row, newest first",
        column_config={
            "No.": columns.NumberColumn(width="small"),
            "Measured": columns.DatetimeColumn(format="localized", timezone=times.zone()),
            "Settings": columns.TextColumn(width="medium"),
            **{name: columns.NumberColumn(format="%.3f") for name in NAMES.values()},
            "± 95 %": columns.NumberColumn(
                format="%.3f",
                help="With 95 % confidence, nDCG@10 lies this far around it at most.",
            ),
            "Change": columns.NumberColumn(format="%+.3f", help="Of nDCG@10, to the baseline"),
            "Worth": columns.TextColumn(help="What the change is worth, over the same questions"),
            "Median ms": columns.NumberColumn("Median time", format="%.0f ms"),
            "95 % ms": columns.NumberColumn("95 % within", format="%.0f ms"),
            "Questions": columns.NumberColumn(format="localized"),
        },
    )
    downloads.draw_csv(f"{chosen.name} measurements", frame, key="measurements")


def table(
    history: Sequence[Measurement], numbers: dict[str, int], base: Measurement | None
) -> pandas.DataFrame:
    """The measurements as a table for people; times are aware, in UTC."""
    import pandas

    versions = _versions({one.collection for one in history})
    rows = [
        {
            "No.": numbers[one.id],
            "Settings": parts.in_words(one.options),
            "nDCG@10": one.figures["ndcg_10"],
            "± 95 %": worth.find_margin(one),
            "Change": (
                one.figures["ndcg_10"] - base.figures["ndcg_10"]
                if base and one.id != base.id
                else None
            ),
            "Worth": worth.tell_verdict(base, one),
            **{name: one.figures[key] for key, name in NAMES.items() if key != "ndcg_10"},
            "Median ms": one.figures["p50_s"] * 1_000,
            "95 % ms": one.figures["p95_s"] * 1_000,
            "Collection": one.collection,
            "Version": versions.get(one.version_id, "removed since"),
            "Questions": int(one.figures["questions"]),
            "Measured": pandas.Timestamp(one.created_at, tz="UTC"),
        }
        for one in history
    ]
    return pandas.DataFrame(rows)


def _draw_questions(chosen: QuestionSet, base: Measurement | None, other: Measurement) -> None:
    """What became of each question; with a baseline, which got better and which worse."""
    now = worth.read_results(other)
    before = worth.read_results(base) if base else ()
    frame = by_question(before, now)
    label = "Question by question"
    if base:
        counts = Counter(frame["Change"])
        label += ": " + ", ".join(
            f"{figures.count(counts[change])} {change}" for change in _CHANGES
        )
    with st.expander(label, icon=":material/list:", key=f"by-question-{chosen.id}"):
        if base and len(frame) < max(len(before), len(now)):
            st.caption(
                f"The set was changed in between: {figures.count(len(frame), 'question')} in both"
                " are compared."
            )
        if base:
            names = ["all", *_CHANGES]
            show = st.segmented_control(
                "Show", names, default="all", required=True, key="by-question-show", wrap=True
            )
            if show != "all":
                frame = frame[frame["Change"] == show]
        st.dataframe(
            frame,
            hide_index=True,
            placeholder="not found",
            key="by-question",
            alt="Ranks of the expected documents by question",
            column_config={
                "Question": st.column_config.TextColumn(width="large"),
                "Expected documents": st.column_config.TextColumn(width="medium"),
                **{
                    name: st.column_config.NumberColumn(format="%.3f")
                    for name in frame.columns
                    if name.startswith("nDCG")
                },
            },
        )
        st.caption("The rank is that of the first expected document, by its best passage.")
        downloads.draw_csv(f"{chosen.name} by question", frame, key="by-question")


def by_question(
    before: Sequence[QuestionResult], now: Sequence[QuestionResult]
) -> pandas.DataFrame:
    """A row for each question of `now`, or, when there is a `before`, for each that is in both,
    with what changed.
    """
    import pandas

    if not before:
        rows = [
            {**_describe_asked(one), "Rank": one.best_rank, "nDCG@10": one.ndcg_10, "Hit": one.hit}
            for one in now
        ]
        return pandas.DataFrame(rows).astype({"Rank": "Int64"})
    old = {one.question: one for one in before}
    pairs = [(old[one.question], one) for one in now if one.question in old]
    columns = [
        "Question",
        "Expected documents",
        "Change",
        "Rank before",
        "Rank after",
        "nDCG@10 before",
        "nDCG@10 after",
    ]
    rows = [
        {
            **_describe_asked(after),
            "Change": _change(earlier, after),
            "Rank before": earlier.best_rank,
            "Rank after": after.best_rank,
            "nDCG@10 before": earlier.ndcg_10,
            "nDCG@10 after": after.ndcg_10,
        }
        for earlier, after in pairs
    ]
    return pandas.DataFrame(rows, columns=columns).astype(
        {"Rank before": "Int64", "Rank after": "Int64"}
    )


def _describe_asked(result: QuestionResult) -> dict[str, str]:
    return {"Question": result.question, "Expected documents": ", ".join(result.ranks)}


def _change(before: QuestionResult, after: QuestionResult) -> str:
    """By nDCG, and where that is the same by the rank of the first expected document, which may be
    beyond 10.
    """
    old, new = (
        (round(one.ndcg_10, 9), -(one.best_rank if one.best_rank is not None else float("inf")))
        for one in (before, after)
    )
    if new == old:
        return "same"
    return "better" if new > old else "worse"


def _versions(collections: set[str]) -> dict[str, str]:
    """The index versions of these collections in words, by id; a collection may be gone."""
    found = {}
    for name in sorted(collections):
        try:
            listed = state.workspace().library.versions.listed(state.owner(), name)
        except AgentkitError:
            continue
        for one in listed:
            found[one.version.id] = (
                f"{one.version.embedder}, {figures.count(one.version.max_tokens)} tokens"
                + (f", overlap {figures.count(one.version.overlap)}" if one.version.overlap else "")
            )
    return found
