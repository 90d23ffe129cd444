"""What is set in a chat and belongs to it: a refresh, another tab and a restart find it again.

What is waiting to be asked, what the next question is narrowed to, how much of the steps is shown,
what was being typed, which turns are told word for word, when the person is asked, how plans are
made and how one was changed that has not run yet, what all its questions are asked with, which
documents the next one is about, which pictures go with it, what may be asked next, and with which
questions chats over a collection begin. A chat that has not begun yet has the empty id; so
have teams that are being built.
"""

from __future__ import annotations

from typing import Any, Literal

from agentkit.errors import NotFound
from agentkit.ui.shared import state

Name = Literal[
    "queue",
    "not_asked",
    "narrowed",
    "level",
    "draft",
    "whole",
    "human_input",
    "settings",
    "mentions",
    "pictures",
    "followups",
    "starters",
    "planning",
    "plan",
    "teams",
]


def get(chat_id: str | None, name: Name) -> Any:
    """The value, None when there is none."""
    return state.workspace().ledger.settings(state.owner(), chat_id or "").get(name)


def put(chat_id: str | None, name: Name, value: object) -> None:
    """Keep the value, None for none; nothing happens in a chat that was deleted meanwhile."""
    if get(chat_id, name) == value:
        return
    try:
        state.workspace().ledger.set(state.owner(), chat_id or "", name, value)
    except NotFound:
        return


def exchange(chat_id: str | None, name: Name, before: object, after: object) -> bool:
    """Keep the value in place of another; False when it is no longer the one that it was."""
    ledger = state.workspace().ledger
    return ledger.exchange(state.owner(), chat_id or "", name, before, after)
