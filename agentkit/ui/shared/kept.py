"""What is set in a chat and belongs to it: a refresh, another tab and a restart find it again.

What is waiting to be asked, what the next question is narrowed to, how much of the steps is shown,
and what was being typed. A chat that has not begun yet has the empty id.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from agentkit.errors import NotFound
from agentkit.retrieval import Source
from agentkit.ui.shared import state

Name = Literal["queue", "not_asked", "narrowed", "level", "draft"]


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


def source_to_json(source: Source) -> list[str]:
    """A file that goes along with a question."""
    return [source.name, str(source.path), source.origin]


def source_of(given: list[str]) -> Source:
    """What `source_to_json` made."""
    name, path, origin = given
    return Source(name, Path(path), origin)
