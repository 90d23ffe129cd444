"""The tab of quality: what answers cite, whether that bears them out, what people think of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from agentkit.ledger.usage import quality
from agentkit.ledger.usage.quality import Side
from agentkit.ui.evaluations import watch as teams_watch
from agentkit.ui.lab import watch
from agentkit.ui.shared import state
from agentkit.ui.text import figures, times
from agentkit.ui.usage import exporting, opening, plots, words
from agentkit.ui.usage.view import View

if TYPE_CHECKING:
    import pandas

_NARROWED = ("agents", "providers", "statuses", "purposes")
_SIDES: dict[Side, str] = {"team": "Team", "model": "Model", "collection": "Collection"}
_LINES = {"supported": "Borne out", "citing": "Citing a passage"}
_COLUMNS = {
    "answers": "Answers",
    "cited": "Cite something",
    "supported": "Borne out",
    "up": "Thumbs up",
    "down": "Thumbs down",
}
_POOR = {
    "answer": "Answer",
    "thumb": "Thumb",
    "comment": "Comment",
    "doubtful": "Doubtful",
    "team": "Team",
    "created_at": "When",
}
_FEW = 20
"""Of fewer answers a share says little, which is told."""


def draw_quality(view: View) -> None:
    """Figures of all answers, over time, by what answered, and the poor ones."""
    ledger = state.workspace().ledger
    watch.draw_notices()
    teams_watch.draw_notices()
    if any(getattr(view.calls, name) for name in _NARROWED):
        st.caption("Agent, server, status and purpose belong to calls: they narrow nothing here.")
    sums = quality.sum_up(ledger, view.calls)
    if not sums.get("answers"):
        st.info("No question was answered in these days.", icon=":material/filter_alt_off:")
        return
    _draw_numbers(sums)
    shares = quality.over_time(ledger, view.calls, view.zone, view.hours)
    plots.draw_lines(view, shares, _LINES, f"Shares of answers by {view.name_step()}", "Share")
    _draw_sides(view)
    _draw_poor(quality.find_poor(ledger, view.calls))


def _draw_numbers(sums: dict[str, Any]) -> None:
    answers, rated = sums["answers"], sums["up"] + sums["down"]
    supported = sums["supported"]
    shown = {
        "Answers": (figures.count(answers), "Whole ones, of chats that are still there."),
        "Cite something": (_share(sums["citing"], answers), "Of all answers."),
        "Borne out": (
            "none checked" if supported is None else _percent(supported),
            f"Of {figures.count(sums['markers'], 'citation')} that were checked when the answers"
            f" were made; {figures.count(sums['doubtful'])} are doubtful.",
        ),
        "Thumbs up": (_share(sums["up"], rated), f"Of {figures.count(rated, 'rated answer')}."),
    }
    with st.grid(4, min_column_width=150, gap="small"):
        for label, (text, about) in shown.items():
            st.metric(label, text, help=about, border=True)


def _draw_sides(view: View) -> None:
    side = st.segmented_control(
        "By",
        [*_SIDES],
        default="team",
        required=True,
        format_func=_SIDES.__getitem__,
        key="usage-quality-side",
    )
    found = quality.by_side(state.workspace().ledger, view.calls, side)
    frame = found.assign(
        key=[words.of_value(side, name) for name in found.key],
        cited=found.citing / found.answers,
    )
    columns = {"key": _SIDES[side], **_COLUMNS}
    share: Any = st.column_config.NumberColumn
    shares = {name: share(_COLUMNS[name], format="percent") for name in ("cited", "supported")}
    st.dataframe(
        frame,
        hide_index=True,
        placeholder="",
        column_order=[*columns],
        column_config={**columns, **shares},
        alt=f"Quality of answers by {side}",
    )
    if (found.answers < _FEW).any():
        st.caption(f"Shares of fewer than {_FEW} answers say little.")
    exporting.draw_table(frame.copy, "quality")


def _draw_poor(frame: pandas.DataFrame) -> None:
    """Answers to look into; a chosen one leads to its run."""
    st.subheader("To look into", anchor=False)
    if not len(frame):
        st.caption("No answer of these days was found poor, and no citation is doubtful.")
        return
    named = frame.assign(
        team=frame.team.map(lambda name: words.of_value("team", name)),
        created_at=frame.created_at.dt.tz_localize("UTC"),
    )
    when: Any = st.column_config.DatetimeColumn
    wide: Any = st.column_config.TextColumn
    shown: Any = st.dataframe(
        named,
        hide_index=True,
        placeholder="",
        column_order=[*_POOR],
        column_config={
            **_POOR,
            "answer": wide(_POOR["answer"], width="large"),
            "created_at": when(_POOR["created_at"], format="D MMM, HH:mm", timezone=times.zone()),
        },
        on_select="rerun",
        selection_mode="single-row",
        key=opening.table_key("quality"),
        alt="Answers that were found poor or are doubtful",
    )
    st.caption("Select an answer to see how it came about.")
    opening.open_call(frame, shown)
    exporting.draw_table(frame.copy, "poor-answers")


def _share(part: int, whole: int) -> str:
    return _percent(part / whole) if whole else "none"


def _percent(share: float) -> str:
    return f"{share:.1%}".replace("%", " %")
