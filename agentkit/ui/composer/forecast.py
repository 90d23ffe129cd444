"""What the next answer will probably take, in words, and afterwards beside what it took."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from agentkit.ledger.bill.forecasts import FEWEST, Forecast, Range, find_forecast
from agentkit.ledger.queries import Totals
from agentkit.teams import Question
from agentkit.ui.shared import state
from agentkit.ui.text import figures

_READ = "forecast-read"
_UNKNOWN = (
    f"How many calls the next answer takes, and what it costs, is not known yet: that needs"
    f" {FEWEST} earlier answers of this team and model."
)


def read(question: Question, head_id: str | None) -> Forecast | None:
    """Looked up once for each answer of a chat and each choice."""
    key = (question.chat_id, head_id, question.team_id, question.model_id)
    known = st.session_state.get(_READ)
    if known is None or known[0] != key:
        found = find_forecast(
            state.workspace().ledger, state.owner(), question.team_id, question.model_id
        )
        known = st.session_state[_READ] = (key, found)
    read_before: Forecast | None = known[1]
    return read_before


def in_short(found: Forecast) -> str:
    """`about 2 to 3 calls, $0.0020 to $0.0031`."""
    parts = [f"about {_calls(found.calls)}"]
    if found.cost and found.cost[1]:
        parts.append(_to(found.cost, figures.dollars))
    return ", ".join(parts)


def describe(found: Forecast | None) -> str:
    """The forecast for the next answer as a sentence."""
    if found is None:
        return _UNKNOWN
    return (
        f"The next answer: {in_short(found)}{_price(found)}, as the middle half of the last"
        f" {found.runs:,} answers of this team and model."
    )


def compare(question_extra: Mapping[str, Any], took: Totals) -> str:
    """What was forecast for an answer, and what came of it; empty where nothing was."""
    found = Forecast.from_json(question_extra.get("forecast"))
    if found is None:
        return ""
    paid = ""
    if took.cost and not took.unpriced:
        paid = f", {figures.dollars(took.cost)}"
    return (
        f"forecast {in_short(found).removeprefix('about ')}; took"
        f" {figures.count(took.answered, 'call')}{paid}"
    )


def _price(found: Forecast) -> str:
    if found.cost is None:
        return ", price unknown"
    return "" if found.cost[1] else ", nothing to pay"


def _calls(calls: Range) -> str:
    low, high = round(calls[0]), round(calls[1])
    if low == high:
        return figures.count(low, "call")
    return f"{low:,} to {high:,} calls"


def _to(range_: Range, words: Callable[[float], str]) -> str:
    low, high = map(words, range_)
    return low if low == high else f"{low} to {high}"
