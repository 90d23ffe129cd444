"""How the team that plans first works in a chat: chosen beside the composer, and kept with the
chat.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, Literal

import streamlit as st

from agentkit.errors import WrongArgument
from agentkit.teams.planning_settings import MOST_REPLANS, PlanLanguage, Planning
from agentkit.ui.shared import kept

_USUAL = Planning(seen_first=True)
_LANGUAGES: dict[PlanLanguage | Literal[""], str] = {
    "": "As the question",
    "en": "English",
    "zh": "中文",
}
"""What the languages of the prompts are called."""
_SEEN = "See each plan before it runs"
_SEEN_HELP = (
    "On: a plan waits until you let it run, by a click or Ctrl+Enter; you can change it first. Off:"
    " it runs at once, and you can watch its steps."
)


def read_chosen(chat_id: str | None) -> Planning:
    """How plans are made and run in this chat: seen first, where nothing was chosen."""
    stored: Any = kept.get(chat_id, "planning")
    if not isinstance(stored, Mapping):
        return _USUAL
    known = {name: stored[name] for name in Planning.__dataclass_fields__ if name in stored}
    try:
        return replace(_USUAL, **known)
    except (WrongArgument, TypeError):  # a newer version allows more
        return _USUAL


def follow(chat_id: str) -> None:
    """A new chat has become this one; the next new one plans as usual."""
    kept.put(chat_id, "planning", kept.get(None, "planning"))
    kept.put(None, "planning", None)


def draw(chat_id: str | None) -> None:
    """The choices."""
    now = read_chosen(chat_id)
    _begin("seen_first", chat_id, now.seen_first)
    st.toggle(_SEEN, help=_SEEN_HELP, **_bind_choice("seen_first", chat_id))
    limits = st.columns(3, gap="small")
    _draw_number(limits[0], "Most steps", "most_steps", chat_id, now.most_steps)
    _draw_number(limits[1], "Most look-ups", "most_lookups", chat_id, now.most_lookups)
    _begin("replans", chat_id, now.replans)
    limits[2].number_input(
        "Plans again",
        min_value=0,
        max_value=MOST_REPLANS,
        help="How often it may be planned again when steps have failed.",
        **_bind_choice("replans", chat_id),
    )
    _begin("language", chat_id, now.language or "")
    st.selectbox(
        "Language of the prompts",
        list(_LANGUAGES),
        format_func=_LANGUAGES.__getitem__,
        **_bind_choice("language", chat_id),
    )


def _draw_number(place: Any, label: str, name: str, chat_id: str | None, now: int | None) -> None:
    _begin(name, chat_id, now)
    place.number_input(
        label, min_value=1, step=1, placeholder="Any number", **_bind_choice(name, chat_id)
    )


def _begin(name: str, chat_id: str | None, value: object) -> None:
    """Show what is kept, also when another tab has changed it."""
    st.session_state[_key(name, chat_id)] = value


def _bind_choice(name: str, chat_id: str | None) -> dict[str, Any]:
    """The key of a choice, and what keeps it when it changes."""
    return {"key": _key(name, chat_id), "on_change": _keep, "args": (name, chat_id)}


def _keep(name: str, chat_id: str | None) -> None:
    value = st.session_state[_key(name, chat_id)]
    change: dict[str, Any] = {name: None if value == "" else value}  # no language of its own
    kept.put(chat_id, "planning", asdict(replace(read_chosen(chat_id), **change)))


def _key(name: str, chat_id: str | None) -> str:
    return f"plan-{name}-{chat_id or 'new'}"
