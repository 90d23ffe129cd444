"""The words of the usage page: what measures, groups and their values are called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentkit.ledger.usage.sums import OTHERS, Measure
from agentkit.ui.runs import words as run_words
from agentkit.ui.steps import wording
from agentkit.ui.text import figures

MEASURES: dict[Measure, str] = {
    "cost": "Cost",
    "tokens": "Tokens",
    "calls": "Calls",
    "errors": "Errors",
}
UNITS: dict[Measure, tuple[str, str]] = {
    "cost": ("US dollars", "$,.4f"),
    "tokens": ("Tokens", ",.0f"),
    "calls": ("Calls", ",.0f"),
    "errors": ("Failed calls", ",.0f"),
}
"""What each is counted in, and how a chart writes it."""
GROUPS: dict[str, str] = {
    "model": "Model",
    "agent": "Agent",
    "team": "Team",
    "chat": "Chat",
    "purpose": "Purpose",
    "owner": "Owner",
    "provider": "Server",
    "collection": "Collection",
    "status": "Status",
}
_PURPOSES = {
    "chat": "Chat",
    "embedding": "Embedding",
    "rerank": "Reranking",
    "test": "Test",
    "follow-up": "Follow-ups",
}
_STATUSES = {
    "ok": "answered",
    "failed": "failed",
    "stopped": "stopped",
    "cached": "from the cache",
}
_NONE = {
    "agent": "no agent",
    "team": "no team",
    "chat": "outside chats",
    "collection": "no collection",
    "provider": "no server",
}
_NAMED: dict[str, Callable[[str], str]] = {
    "agent": wording.name_agent,
    "team": run_words.of_team,
    "purpose": lambda purpose: _PURPOSES.get(purpose, purpose),
    "status": lambda status: _STATUSES.get(status, status),
}


def of_value(group: str, value: str) -> str:
    """What people read of a group's key."""
    if value == OTHERS:
        return "all others"
    if not value:
        return _NONE.get(group, "none")
    return _NAMED.get(group, str)(value)


def change(now: float | None, before: float | None) -> str | None:
    """How much more or less than before: `+12 %`; None where that says nothing."""
    if not before or now is None:
        return None
    share = (now - before) / before
    if abs(share) < 0.005:
        return None
    return f"{share:+,.0%}".replace("%", " %") if abs(share) < 10 else f"× {now / before:,.0f}"


def seconds(value: Any) -> str:
    """A time, or that there is none."""
    return figures.seconds(value) if value is not None and value == value else "none yet"
