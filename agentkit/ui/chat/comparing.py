"""Two versions of a turn side by side, with all that follows them: what differs in words, and in
what they took.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from agentkit.core.given import join_filled
from agentkit.ledger import queries
from agentkit.ledger.aligning import How, Piece, compare_texts
from agentkit.ledger.queries import Totals
from agentkit.ui.chat.actions import Rows
from agentkit.ui.shared import dialogs, state
from agentkit.ui.steps.turns import Turn, read_turns
from agentkit.ui.text import figures, markdown

_TURNS = 10  # of a branch that are compared
DIFFERS = "≠"
"""Stands in a table beside what is not the same of two versions."""
Part = tuple[str, bool]
"""A piece of a text, and whether it differs from the other one."""


@dataclass(frozen=True, slots=True)
class Side:
    """A turn of one of the two branches, and what it took."""

    version: int
    turn: Turn
    took: Totals
    passages: int

    @property
    def question(self) -> str:
        """What was asked."""
        return self.turn.asked.text

    @property
    def answer(self) -> str:
        """What was answered; empty for nothing."""
        return self.turn.answer.content if self.turn.answer else ""


@dialogs.dialog("Compare versions", width="large")
def draw_comparison(rows: Rows, question_id: str) -> None:
    """The version that the chat shows, beside the one before it or another one."""
    beside = rows.tree.siblings(question_id)
    if len(beside) < 2:
        st.caption("There is no other version any more.")
        return
    here = beside.index(question_id)
    branches = [_read_branch(rows, version_id) for version_id in beside]
    names = [
        f"Version {number} · {_name_whom(rows, branch[0])}"
        for number, branch in enumerate(branches, 1)
    ]
    left, right = st.columns(2)
    other = here - 1 if here else 1
    first = _choose(left, "Left", names, min(here, other), question_id)
    second = _choose(right, "Right", names, max(here, other), question_id)
    marks = st.toggle("Mark what differs", value=True, key="mark-differences")
    sides = [_read_sides(branches[version], version + 1) for version in (first, second)]
    for one, two in zip_longest(*(branch[:_TURNS] for branch in sides)):
        _draw_pair(rows, one, two, marks=marks)
    left_out = max(map(len, sides)) - _TURNS
    if left_out > 0:
        st.caption(f"{figures.count(left_out, 'later turn')} more.")


def _choose(
    place: DeltaGenerator, label: str, names: Sequence[str], at: int, question_id: str
) -> int:
    chosen: int = place.selectbox(
        label,
        range(len(names)),
        index=at,
        format_func=names.__getitem__,
        key=f"compare-{label}-{question_id}",
    )
    return chosen


def _read_branch(rows: Rows, question_id: str) -> list[Turn]:
    """The turns from a question on to the newest end after it."""
    ledger, owner = state.workspace().ledger, state.owner()
    thread = ledger.thread(owner, rows.chat.id, rows.tree.newest_end(question_id))
    ids = [said.id for said in thread]
    return read_turns(thread[ids.index(question_id) :])


def _read_sides(turns: Sequence[Turn], version: int) -> list[Side]:
    """The turns of a branch, with what they took."""
    ledger, owner = state.workspace().ledger, state.owner()
    answers = [turn.answer.id for turn in turns if turn.answer]
    took = queries.of_messages(ledger, owner, answers)
    found = queries.passages(ledger, owner, [turn.run_id for turn in turns])
    return [
        Side(
            version,
            turn,
            took.get(turn.answer.id if turn.answer else "", Totals()),
            found[turn.run_id],
        )
        for turn in turns
    ]


def _draw_pair(rows: Rows, one: Side | None, two: Side | None, *, marks: bool) -> None:
    """A turn of each branch, and below them what they took."""
    with st.container(border=True):
        left, right = st.columns(2)
        if one is None or two is None:
            _draw_alone(rows, left, one)
            _draw_alone(rows, right, two)
            return
        asked, answered = (
            find_differences(one.question, two.question),
            find_differences(one.answer, two.answer),
        )
        for nth, (place, side) in enumerate(((left, one), (right, two))):
            with place:
                _draw_side(rows, side, asked[nth], answered[nth], marks=marks)
        if one.answer == two.answer:
            st.caption(":material/check: Both answers are the same, word for word.")
        table = tabulate(one, two, [f"Version {side.version}" for side in (one, two)])
        with st.container(key=f"compared-{one.turn.run_id}"):
            st.markdown(table)
        if DIFFERS in table:
            st.caption(f"{DIFFERS} marks what differs.")


def _draw_alone(rows: Rows, place: DeltaGenerator, side: Side | None) -> None:
    """A turn that has none beside it."""
    with place:
        if side is None:
            st.caption("This branch has no such turn.")
        else:
            _draw_side(rows, side, [], [], marks=False)


def _draw_side(
    rows: Rows, side: Side, asked: list[Part], answered: list[Part], *, marks: bool
) -> None:
    whom = markdown.literal(_name_whom(rows, side.turn))
    st.caption(f"Version {side.version} · {whom}")
    st.markdown(markdown.mark_parts(asked if marks else [(side.question, False)]))
    if not side.answer:
        st.caption("There is no answer.")
    elif marks:
        st.markdown(markdown.mark_parts(answered))
    else:
        st.markdown(markdown.prose(side.answer))


def _name_whom(rows: Rows, turn: Turn) -> str:
    """The team and the model that answered."""
    found = state.find_team(turn.asked.team_id)
    title = found.title if found else turn.asked.team_id
    model = rows.models.get(str(turn.extra.get("model", "")), "")
    return join_filled(" · ", (title, model))


def tabulate(one: Side, two: Side, names: Sequence[str]) -> str:
    """What both took, as a table with these names above the columns, in Markdown; what differs has
    a sign.
    """
    lines = [f"| | {names[0]} | {names[1]} |", "|:--|:--|:--|"]
    for label, figure in _FIGURES.items():
        left, right = figure(one), figure(two)
        sign = "" if left == right else f" {DIFFERS}"
        lines.append(f"| {label}{sign} | {left} | {right} |")
    return "\n".join(lines)


def _cite(side: Side) -> str:
    names = dict.fromkeys(str(one["document"]) for one in side.turn.citations)
    return ", ".join(map(markdown.literal, names)) or "none"


_FIGURES: dict[str, Callable[[Side], str]] = {
    "Tokens in": lambda side: figures.count(side.took.prompt_tokens),
    "Tokens out": lambda side: figures.count(side.took.completion_tokens),
    "Cost": lambda side: markdown.literal(figures.cost(side.took)),
    "Time": lambda side: figures.seconds(side.took.seconds),
    "Passages found": lambda side: figures.count(side.passages),
    "Sources cited": _cite,
}
"""What is told of a turn, in the order of the table."""


def find_differences(one: str, other: str) -> tuple[list[Part], list[Part]]:
    """Both texts in parts; too long ones differ as a whole."""
    pieces = compare_texts(one, other)
    return _take_parts(pieces, "removed"), _take_parts(pieces, "added")


def _take_parts(pieces: Sequence[Piece], own: How) -> list[Part]:
    """What one of the two texts consists of."""
    return [(piece.text, piece.how == own) for piece in pieces if piece.how in ("same", own)]
