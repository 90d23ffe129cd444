"""Where the budgets stand, as lines for the usage page, the settings and the chat."""

from __future__ import annotations

import streamlit as st

from agentkit.core.given import join_filled
from agentkit.ledger.bill.budgets import Standing
from agentkit.ledger.bill.course import Course, find_courses
from agentkit.ledger.spending import FAR_AHEAD
from agentkit.ledger.store import utc_now
from agentkit.reasons import Unit
from agentkit.ui.shared import state
from agentkit.ui.text import figures, markdown, times


def read_courses(chat_id: str = "") -> list[Course]:
    """The owner's budgets of a day and a month as they stand now, and with a chat its own."""
    purse = state.workspace().bill.purse(state.owner(), chat_id)
    return find_courses(purse.standings(), utc_now())


def draw_courses() -> None:
    """A line for each budget of the owner, with a bar."""
    courses = read_courses()
    if not courses:
        return
    with st.container(key="budget-courses", gap="small"):
        for course in courses:
            _draw_course(course)


def _draw_course(course: Course) -> None:
    standing = course.standing
    whose = _WHOSE[bool(standing.budget.owner)]
    icon = _ICONS[course.is_warned]
    scope = standing.budget.scope
    told = f"{icon} **A {scope}**, {whose}: {markdown.literal(describe(course))}"
    st.progress(min(standing.share, 1.0), told)


def describe(course: Course) -> str:
    """`$86.00 of $120.00, on course for $131.00, begins anew 30 Nov 2026, 23:00`, as plain text."""
    standing = course.standing
    unit = standing.budget.unit
    used, limit = amount(unit, standing.used), amount(unit, standing.limit)
    parts = [
        f"{used} of {limit}",
        _describe_forecast(course),
        _describe_end(standing),
        _describe_unknown(standing),
    ]
    return join_filled(", ", parts)


def _describe_forecast(course: Course) -> str:
    if not course.forecast:
        return ""
    unit = course.standing.budget.unit
    return f"on course for {amount(unit, course.forecast)}"


def _describe_end(standing: Standing) -> str:
    ends_at = standing.window.until
    if ends_at == FAR_AHEAD:
        return ""
    return f"begins anew {times.format_time(ends_at)}"


def _describe_unknown(standing: Standing) -> str:
    """How many calls a budget in dollars cannot count."""
    unknown = {"dollars": standing.unpriced}.get(standing.budget.unit)
    if not unknown:
        return ""
    calls = figures.count(unknown, "call")
    return f"{calls} of unknown price not counted"


def amount(unit: Unit, value: float) -> str:
    """`$1.20` or `12,000 tokens`, as plain text."""
    if unit == "dollars":
        return figures.dollars(value)
    return figures.count(round(value), "token")


_WHOSE = {True: "yours", False: "all together"}
_ICONS = {True: ":material/warning:", False: ":material/savings:"}
