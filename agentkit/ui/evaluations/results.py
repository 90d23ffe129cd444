"""What teams scored on a question set: all evaluations in a table, two of them compared, and what
became of each question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import streamlit as st

from agentkit.core.given import list_missing
from agentkit.events import QuestionTried
from agentkit.ledger.evaluations import differences
from agentkit.ledger.evaluations.differences import Change, Differences, Pair
from agentkit.ledger.evaluations.results import (
    Evaluation,
    Sums,
    count_cited,
    count_right,
    find_team,
    measure_score,
)
from agentkit.retrieval.store.questions import QuestionSet
from agentkit.ui.evaluations import choosing, unfinished, words
from agentkit.ui.evaluations.beside import draw_way
from agentkit.ui.shared import downloads, state
from agentkit.ui.text import figures, markdown, times

if TYPE_CHECKING:
    import pandas

_BASE, _OTHER = "evaluation-base", "evaluation-other"
_ALL = ""
_SAME = "the same"
_ABOUT_SCORE = (
    "From 0 to 1, for each question: one figure (F1) of the share of its citations that are right"
    " and the share of the expected documents that it cites. Right is a citation of a document"
    " that the set expects."
)


def compare_newest() -> None:
    """Compare the newest with the one before it, from the next drawing on."""
    for key in (_BASE, _OTHER):
        st.session_state.pop(key, None)


def draw_results(chosen: QuestionSet) -> None:
    """All evaluations with the set, newest first, and two of them compared."""
    known = state.workspace().evaluations.history(state.owner(), chosen.id)
    history = [one for one in known if one.state != "running"]  # these are drawn by themselves
    if not known:
        st.caption("This set was put to no team yet.")
    if not history:
        return
    unfinished.draw_unfinished(known)
    st.subheader("Results", anchor=False)
    shown = _choose_team(history)
    numbers = {one.run_id: len(history) - place for place, one in enumerate(history)}
    base, other = _choose_pair(shown, numbers)
    _draw_figures(base.sums if base else None, other.sums)
    if base is None:
        _draw_alone(chosen, other)
    else:
        _draw_differences(chosen, base, other)
    _draw_history(chosen, shown, numbers)


def _choose_team(history: Sequence[Evaluation]) -> list[Evaluation]:
    """Those of one team in all its versions, or all."""
    teams = {find_team(one.began.team_id): one.began.team_name for one in history}
    if len(teams) < 2:
        return list(history)
    names = {_ALL: "All teams", **teams}
    key = "evaluation-team"
    choosing.keep_known(key, list(names))
    team = st.selectbox("Of", list(names), format_func=names.__getitem__, key=key, width=360)
    return [one for one in history if team in (_ALL, find_team(one.began.team_id))]


def _choose_pair(
    history: Sequence[Evaluation], numbers: Mapping[str, int]
) -> tuple[Evaluation | None, Evaluation]:
    """The one to look at, and the baseline that it is compared with, if there are two."""
    known = {one.run_id: one for one in history}
    if len(history) == 1:
        return None, history[0]

    def label(run_id: str) -> str:
        one = known[run_id]
        return (
            f"{numbers[run_id]}: {words.name_team(one.began)}, {times.format_time(one.started_at)}"
        )

    for key in (_BASE, _OTHER):
        choosing.keep_known(key, list(known))
    with st.container(horizontal=True, key="evaluation-pair"):
        base = st.selectbox("Baseline", list(known), 1, format_func=label, key=_BASE, width=420)
        other = st.selectbox(
            "Compared with it", list(known), 0, format_func=label, key=_OTHER, width=420
        )
    return (known[base] if base != other else None), known[other]


def _draw_figures(base: Sums | None, other: Sums) -> None:
    with st.grid(6, min_column_width=140, gap="small"):
        for label, value, before, about in _list_figures(base, other):
            change = None if before is None else value - before
            _draw_metric(label, value, change, about)


Figure = tuple[str, float, float | None, str]


def _list_figures(base: Sums | None, other: Sums) -> list[Figure]:
    """Name, value, that of the baseline, and what it means."""
    return [
        (name, read(other), None if base is None else read(base), about)
        for name, (read, about) in _FIGURES.items()
    ]


def _share_right(sums: Sums) -> float:
    return sums.right / sums.cited if sums.cited else 0.0


_FIGURES: Mapping[str, tuple[Any, str]] = {
    "Score": (lambda sums: sums.score, _ABOUT_SCORE),
    "Citations right": (_share_right, "Of all citations, those of an expected document."),
    "Documents found": (
        lambda sums: sums.recall,
        "Share of the expected documents that answers cite, by question.",
    ),
    "No evidence": (lambda sums: sums.no_evidence, "Answers that cite nothing."),
    "Failed": (lambda sums: sums.failed, "Questions that ended with an error; they score 0."),
    "UPDATE CONTEXT": (lambda sums: sums.updates, "So often an agent asked for other passages."),
    "Tokens a question": (
        lambda sums: (sums.input_tokens + sums.output_tokens) / max(1, sums.asked),
        "In and out together, of all calls of models.",
    ),
    "Time a question": (lambda sums: sums.mean_s, "From the question to the end of the answer."),
}
_FORMS: Mapping[str, str] = {
    "Score": "{:.2f}",
    "Citations right": "{:.0%}",
    "Documents found": "{:.0%}",
    "Tokens a question": "{:,.0f}",
    "Time a question": "{:,.1f} s",
}
_MORE_IS_WORSE = ("No evidence", "Failed", "UPDATE CONTEXT", "Tokens a question", "Time a question")


def _draw_metric(label: str, value: float, change: float | None, about: str) -> None:
    form = _FORMS.get(label, "{:,.0f}")
    told = None if change is None else _tell_change(form, change)
    is_none = told in (None, _SAME)
    worse: Literal["inverse", "normal"] = "inverse" if label in _MORE_IS_WORSE else "normal"
    st.metric(
        label,
        form.format(value),
        told,
        delta_color="off" if is_none else worse,
        delta_arrow="off" if is_none else "auto",
        help=about,
    )


def _tell_change(form: str, change: float) -> str:
    """With its sign; what is nothing as it is shown is called so."""
    size = form.format(abs(change))
    if size == form.format(0):
        return _SAME
    return f"-{size}" if change < 0 else f"+{size}"


def _draw_differences(chosen: QuestionSet, base: Evaluation, other: Evaluation) -> None:
    """What can be said of the two, and the questions, those that differ first."""
    found = differences.compare(base.results, other.results)
    st.markdown(f"**{markdown.literal(words.tell_difference(found))}**")
    counts = [f"{figures.count(found.count(change))} {change}" for change in get_args(Change)]
    left = ""
    if found.left_out:
        left = f"; {figures.count(found.left_out, 'question')} in one alone"
    st.caption(f"Questions: {', '.join(counts)}{left}. Select one to read both answers.")
    picked = _draw_table(chosen, to_compared_table(found), "compared")
    with st.container(horizontal=True):
        draw_way(base.run_id, "Run of the baseline")
        draw_way(other.run_id, "Run compared with it")
    if picked is not None:
        _draw_pair(found.pairs[picked], words.name_team(base.began), words.name_team(other.began))


def _draw_alone(chosen: QuestionSet, other: Evaluation) -> None:
    st.caption("Select a question to read its answer.")
    picked = _draw_table(chosen, to_table(other.results), "alone")
    draw_way(other.run_id)
    if picked is not None:
        with st.container(border=True):
            _draw_answer(other.results[picked], words.name_team(other.began))


def to_table(results: Sequence[QuestionTried]) -> pandas.DataFrame:
    """A row for each question."""
    import pandas

    return pandas.DataFrame([_to_row(one) for one in results])


def _to_row(tried: QuestionTried) -> dict[str, object]:
    return {
        "Question": tried.question,
        "Score": measure_score(tried),
        "Citations right": tell_right(tried),
        "Ended": tell_end(tried),
        "UPDATE CONTEXT": tried.updates,
        "Calls": tried.calls,
        "Tokens": tried.input_tokens + tried.output_tokens,
        "Cost": tried.cost,
        "Time": tried.seconds,
    }


def to_compared_table(found: Differences) -> pandas.DataFrame:
    """A row for each question of both, those that differ first."""
    import pandas

    rows = [_to_compared_row(pair) for pair in found.pairs]
    return pandas.DataFrame(rows, columns=_COMPARED)


_COMPARED = (
    *("Change", "Question", "Before", "After", "Citations right", "Ended"),
    *("Tokens", "Cost", "Time"),
)


def _to_compared_row(pair: Pair) -> dict[str, object]:
    before, after = pair.before, pair.after
    return {
        "Change": pair.change,
        "Question": after.question,
        "Before": measure_score(before),
        "After": measure_score(after),
        "Citations right": f"{tell_right(before)} → {tell_right(after)}",
        "Ended": _tell_both(tell_end(before), tell_end(after)),
        "Tokens": _count_tokens(after) - _count_tokens(before),
        "Cost": _subtract(after.cost, before.cost),
        "Time": after.seconds - before.seconds,
    }


def _subtract(after: float | None, before: float | None) -> float | None:
    """What became dearer; None where either is unknown."""
    if after is None or before is None:
        return None
    return after - before


def _count_tokens(tried: QuestionTried) -> int:
    return tried.input_tokens + tried.output_tokens


def _tell_both(before: str, after: str) -> str:
    if before == after:
        return after
    return f"{before} → {after}"


def tell_right(tried: QuestionTried) -> str:
    """How many of its citations are right, such as `2 of 3`."""
    return f"{count_right(tried)} of {count_cited(tried)}"


def tell_end(tried: QuestionTried) -> str:
    """How it ended; that somebody would have been asked is told, too."""
    if tried.status == "failed":
        return f"failed: {tried.error}"
    told = words.ENDS.get(tried.end, tried.end)
    if tried.asked:
        return f"{told}, nobody to ask"
    return told


def _draw_table(chosen: QuestionSet, frame: pandas.DataFrame, key: str) -> int | None:
    """The questions; gives the place of the one that is selected."""
    columns = st.column_config
    is_compared = "Change" in frame
    shown = st.dataframe(
        frame,
        hide_index=True,
        placeholder="unknown",
        key=f"questions-{key}",
        alt="Question by question: how many citations are right, and what it took",
        on_select="rerun",
        selection_mode="single-row",
        column_config={
            "Question": columns.TextColumn(width="large"),
            "Ended": columns.TextColumn(width="medium"),
            **{name: columns.NumberColumn(format="%.2f") for name in ("Score", "Before", "After")},
            "Tokens": columns.NumberColumn(format="%+d" if is_compared else "localized"),
            "Cost": columns.NumberColumn(format="$%+.4f" if is_compared else "$%.4f"),
            "Time": columns.NumberColumn(format="%+.1f s" if is_compared else "%.1f s"),
        },
    )
    downloads.draw_csv(f"{chosen.name} by question", frame, key=key)
    rows: list[int] = shown.selection.rows
    if rows and rows[0] < len(frame):
        return rows[0]
    return None


def _draw_pair(pair: Pair, before: str, after: str) -> None:
    """Both answers to a question."""
    st.markdown(f"**{markdown.literal(pair.after.question)}**")
    left, right = st.columns(2)
    with left, st.container(border=True):
        _draw_answer(pair.before, before)
    with right, st.container(border=True):
        _draw_answer(pair.after, after)


def _draw_answer(tried: QuestionTried, name: str) -> None:
    """An answer, which documents it cites, and the way to its run."""
    st.caption(f"{markdown.literal(name)} · {tell_right(tried)} citations right")
    if tried.error:
        st.error(markdown.literal(tried.error), icon=":material/error:")
    st.markdown(markdown.prose(tried.answer) or "*No answer.*")
    st.caption("".join(f"\n- {line}" for line in _list_documents(tried)))
    if tried.run_id:
        draw_way(tried.run_id)


def _list_documents(tried: QuestionTried) -> list[str]:
    """The documents that are cited, right or not, and those that are missing."""
    cited = [
        f":material/{'check' if name in tried.expected else 'close'}: {markdown.literal(name)}"
        for name in tried.cited
    ]
    missing = list_missing(tried.expected, tried.cited)
    return [*cited, *(f"expected and not cited: {markdown.literal(name)}" for name in missing)]


def _draw_history(
    chosen: QuestionSet, history: Sequence[Evaluation], numbers: Mapping[str, int]
) -> None:
    st.subheader("History", anchor=False)
    frame = to_history(history, numbers)
    columns = st.column_config
    st.dataframe(
        frame,
        hide_index=True,
        placeholder="",
        key=f"evaluations-{chosen.id}",
        alt=f"What teams scored on {chosen.name}, one evaluation a row, newest first",
        column_config={
            "No.": columns.NumberColumn(width="small"),
            "Team": columns.TextColumn(width="medium"),
            "Asked at": columns.DatetimeColumn(format="localized", timezone=times.zone()),
            "Score": columns.NumberColumn(format="%.2f"),
            "Tokens in": columns.NumberColumn(format="localized"),
            "Tokens out": columns.NumberColumn(format="localized"),
            "Time": columns.NumberColumn(format="%.1f s"),
        },
    )
    downloads.draw_csv(f"{chosen.name} evaluations", frame, key="evaluations")


def to_history(history: Sequence[Evaluation], numbers: Mapping[str, int]) -> pandas.DataFrame:
    """The evaluations as a table for people; times are aware, in UTC."""
    import pandas

    rows = []
    for one in history:
        sums = one.sums
        rows.append(
            {
                "No.": numbers[one.run_id],
                "Team": words.name_team(one.began),
                "Score": sums.score,
                "Citations right": f"{sums.right} of {sums.cited}",
                "Documents found": f"{sums.recall:.0%}",
                "No evidence": sums.no_evidence,
                "Failed": sums.failed,
                "UPDATE CONTEXT": sums.updates,
                "Calls": sums.calls,
                "Tokens in": sums.input_tokens,
                "Tokens out": sums.output_tokens,
                "Cost": words.tell_cost(sums),
                "Time": sums.seconds,
                "Questions": sums.asked,
                "State": words.tell_state(one),
                "Model": one.began.model_id,
                "Collection": one.began.collection,
                "Asked at": pandas.Timestamp(one.started_at, tz="UTC"),
            }
        )
    return pandas.DataFrame(rows)
