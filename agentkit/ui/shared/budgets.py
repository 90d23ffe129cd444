"""Where the budgets stand, as lines for the usage page, the settings and the chat."""

from __future__ import annotations

import streamlit as st

from agentkit.ledger.bill.course import Course, find_courses
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
    budget = course.standing.budget
    whose = "yours" if budget.owner else "all together"
    icon = ":material/warning:" if course.is_warned else ":material/savings:"
    told = f"{icon} **A {budget.scope}**, {whose}: {markdown.literal(describe(course))}"
    st.progress(min(course.standing.share, 1.0), told)


def describe(course: Course) -> str:
    """`$86.00 of $120.00, on course for $131.00 by 30 Nov`, as plain text."""
    standing = course.standing
    unit = standing.budget.unit
    parts = [f"{amount(unit, standing.used)} of {amount(unit, standing.limit)}"]
    if course.forecast is not None and standing.used:
        parts.append(f"on course for {amount(unit, course.forecast)}")
    if course.ends_at is not None:
        parts.append(f"begins anew {times.written(course.ends_at)}")
    if standing.unpriced and unit == "dollars":
        calls = figures.count(standing.unpriced, "call")
        parts.append(f"{calls} of unknown price not counted")
    return ", ".join(parts)


def amount(unit: Unit, value: float) -> str:
    """`$1.20` or `12,000 tokens`, as plain text."""
    if unit == "dollars":
        return figures.dollars(value)
    return figures.count(round(value), "token")
