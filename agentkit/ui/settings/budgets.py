"""What may be spent: the budgets in force, where each stands, and a form for another one."""

from __future__ import annotations

from typing import TypeVar

import streamlit as st

from agentkit.errors import AgentkitError
from agentkit.ledger.bill.budgets import Budget, Scope
from agentkit.ledger.bill.course import Course
from agentkit.reasons import Unit
from agentkit.ui.shared import budgets as wording
from agentkit.ui.shared import dialogs, state
from agentkit.ui.text import markdown, times

K = TypeVar("K", bound=str)
_SET, _REMOVE = "Set a budget", "Remove the budget?"
_UNITS: dict[Unit, str] = {"dollars": "US dollars", "tokens": "Tokens"}
_SCOPES: dict[Scope, str] = {
    "question": "A question",
    "chat": "A chat",
    "day": "A day",
    "month": "A month",
}
_WHOSE = {"": "Everybody together", "mine": "Me"}


def draw_budgets() -> None:
    """Each budget with where it stands, and how to set another."""
    courses = wording.read_courses()
    stood = {one.standing.budget.id: one for one in courses}
    with st.container(border=True, gap="xsmall", key="budgets"):
        entries = state.workspace().bill.budgets.entries(state.owner())
        if not entries:
            st.caption("No budget is set: questions may take what they need.")
        for budget in entries:
            _draw_budget(budget, stood.get(budget.id))
        st.button(
            _SET,
            key="set-budget",
            icon=":material/add:",
            on_click=dialogs.ask,
            args=(_SET,),
        )
    st.caption(
        "A budget warns when it is nearly used up, and stops before the call of a language model"
        " that would go beyond it. It holds for the command line and for Python as well."
    )
    name, subject = dialogs.read_open()
    if name == _SET:
        _set_budget()
    elif name == _REMOVE:
        _remove(subject)


def _draw_budget(budget: Budget, course: Course | None) -> None:
    with st.container(
        horizontal=True, vertical_alignment="center", key=f"budget-{budget.id}", wrap=False
    ):
        with st.container(gap=None, width="stretch"):
            st.markdown(f"**{_name(budget)}** :small[{_describe(budget)}]")
            if course is not None:
                st.caption(markdown.literal(wording.describe(course)))
        st.button(
            f"Remove *{_name(budget)}*",
            key=f"remove-budget-{budget.id}",
            type="tertiary",
            icon=":material/delete:",
            on_click=dialogs.ask,
            args=(_REMOVE, budget),
        )


def _name(budget: Budget) -> str:
    """As Markdown."""
    return markdown.literal(f"{wording.amount(budget.unit, budget.amount)} a {budget.scope}")


def _describe(budget: Budget) -> str:
    whose = "of yours" if budget.owner else "of all together"
    zone = ""
    if budget.scope in ("day", "month"):
        zone = f", of the days of {budget.zone}"
    return markdown.literal(f"{whose}, warns at {budget.warn_at:.0%}{zone}")


@dialogs.dialog(_REMOVE)
def _remove(budget: Budget) -> None:
    st.markdown(
        f"**{_name(budget)}** :small[{_describe(budget)}] no longer warns nor stops anything."
    )
    if dialogs.confirm("remove-budget", "Remove"):
        try:
            state.workspace().bill.budgets.remove(budget.id)
        except AgentkitError as error:
            st.error(markdown.literal(str(error)), icon=":material/error:")
            return
        dialogs.close()
        st.rerun()


@dialogs.dialog(_SET)
def _set_budget() -> None:
    with st.form("budget", border=False):
        scope = _choose("Of", _SCOPES, "month", "budget-scope")
        whose = _choose("Whose calls", _WHOSE, "mine", "budget-whose")
        with st.container(horizontal=True, vertical_alignment="top"):
            most = st.number_input(
                "Most",
                value=None,
                min_value=0.0,
                key="budget-amount",
                placeholder="120",
                width="stretch",
            )
            unit = _choose("In", _UNITS, "dollars", "budget-unit")
        warn = st.slider("Warn at", 10, 100, 80, 5, format="%d %%", key="budget-warn")
        may_raise = st.checkbox(
            "May be raised for all chats from a chat",
            value=True,
            key="budget-may-raise",
            help="For one chat it always can be raised, by a click where it stops an answer.",
        )
        saved = st.form_submit_button("Save", type="primary", key="save-budget")
    st.caption(
        "It takes the place of a budget of the same kind. Calls of unknown price cannot be counted"
        " in dollars: they go on, and are told of."
    )
    if not saved:
        return
    if not most:
        st.error("Enter an amount above 0.", icon=":material/error:")
        return
    owner = state.owner() if whose == "mine" else ""
    _save(Budget(scope, unit, most, owner, warn / 100, times.zone(), may_raise))


def _choose(label: str, options: dict[K, str], default: K, key: str) -> K:
    chosen = st.segmented_control(
        label,
        list(options),
        format_func=options.__getitem__,
        default=default,
        required=True,
        key=key,
    )
    return chosen or default


def _save(budget: Budget) -> None:
    try:
        state.workspace().bill.budgets.enter(budget, state.owner())
    except AgentkitError as error:
        st.error(markdown.literal(str(error)), icon=":material/error:")
    else:
        dialogs.close()
        st.rerun()
