"""Budgets in a chat: which are nearly used up, and how to raise one that stopped an answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from operator import itemgetter

import streamlit as st

from agentkit.errors import AgentkitError, NotFound
from agentkit.events import LimitTold
from agentkit.ledger import queries
from agentkit.ledger.bill.budgets import Budget
from agentkit.ledger.store import utc_now
from agentkit.reasons import end_from_json
from agentkit.teams import Question
from agentkit.ui.composer import composer
from agentkit.ui.shared import state
from agentkit.ui.shared.budgets import amount, describe, read_courses
from agentkit.ui.steps.turns import Turn
from agentkit.ui.text import markdown

_MORE = 1.5
"""How far a click raises a budget: by half, and beyond what the next call needs."""


def is_stopped(turn: Turn) -> bool:
    """Whether a budget ended it."""
    end = end_from_json(turn.extra.get("end"))
    return end is not None and end.kind == "budget"


def draw_warnings(chat_id: str) -> None:
    """A line for each budget that is nearly used up, or will be."""
    for course in read_courses(chat_id):
        if course.is_warned:
            scope = course.standing.budget.scope
            st.caption(
                f":material/savings: Budget of a {scope}: {markdown.literal(describe(course))}."
            )


def draw_raising(chat_id: str, turn: Turn, chosen: Question) -> None:
    """The ways to raise the budget that stopped this turn, if it is in force."""
    told = _find_told(turn.run_id)
    budget = _find_budget(told.budget) if told else None
    if told is None or budget is None or turn.question is None:
        return
    question = replace(chosen, text=turn.question.content, again=turn.question.id)
    limit = find_higher(told)
    shown = markdown.literal(amount(budget.unit, limit))
    row = f"raise-{turn.run_id}"
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key=row):
        st.button(
            f"Raise to {shown} for this chat",
            key=f"raise-chat-{turn.run_id}",
            type="primary",
            icon=":material/trending_up:",
            help="The question is asked again at once.",
            on_click=_raise_for_chat,
            args=(budget.id, chat_id, limit, question),
        )
        if budget.may_raise:
            st.button(
                "For all chats",
                key=f"raise-all-{turn.run_id}",
                icon=":material/done_all:",
                help=f"The budget is {shown} a {budget.scope} from now on; the question is asked"
                " again at once.",
                on_click=_raise_for_all,
                args=(budget.id, limit, question),
            )
        st.page_link(state.PAGES / "settings.py", label="Budgets", icon=":material/savings:")


def find_higher(told: LimitTold) -> float:
    """The limit to which a click raises it, in two digits."""
    wanted = max(told.limit, told.used) * _MORE
    step = 10.0 ** (math.floor(math.log10(wanted)) - 1)
    return round(math.ceil(wanted / step) * step, 9)


def _find_told(run_id: str) -> LimitTold | None:
    """What was told of the budget that was used up."""
    told = queries.told(state.workspace().ledger, state.owner(), [run_id], LimitTold)
    events = map(itemgetter(1), told)
    return next(filter(_is_of_budget, events), None)


def _is_of_budget(told: LimitTold) -> bool:
    """Whether a budget was used up."""
    return told.reached and bool(told.budget)


def _find_budget(budget_id: str) -> Budget | None:
    try:
        return state.workspace().bill.budgets.find(budget_id)
    except NotFound:
        return None


def _raise_for_chat(budget_id: str, chat_id: str, limit: float, question: Question) -> None:
    budgets = state.workspace().bill.budgets
    _raise(partial(budgets.raise_for_chat, budget_id, chat_id, limit, utc_now()), question)


def _raise_for_all(budget_id: str, limit: float, question: Question) -> None:
    budgets = state.workspace().bill.budgets
    _raise(partial(budgets.raise_for_all, budget_id, limit, state.owner()), question)


def _raise(step: Callable[[], object], question: Question) -> None:
    """Raise a budget, and ask again."""
    try:
        step()
    except AgentkitError as error:
        st.toast(markdown.literal(str(error)), icon=":material/error:")
        return
    composer.send(question)
