"""The search that Ctrl-K opens on every page: over all messages, to a chat by its title, or to a
new chat; and the way to the message that was found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from agentkit import runs
from agentkit.errors import NotFound
from agentkit.ledger import Chat, FoundMessage
from agentkit.ledger.finding import LONGEST, read_terms
from agentkit.ui.chat import address
from agentkit.ui.chat.chat_list import open_chat
from agentkit.ui.shared import components, state
from agentkit.ui.steps.turns import Turn, stored_turns
from agentkit.ui.text import markdown, times

_FOUND, _TO, _HIT = "search-found", "search-to", "search-hit"
_PROBLEM = "search-problem"
_NOTHING: dict[str, object] = {"asked": "", "groups": [], "told": ""}
_TITLES, _RECENT, _MESSAGES = 5, 8, 30
_NEW_CHAT = {"chat": "", "title": "New chat", "when": "", "snippet": []}


def draw_search() -> None:
    """To be called on every page: the dialog, and in the sidebar the button that opens it."""
    with st.sidebar:
        components.search_button()
    st.fragment(_draw)()


def _draw() -> None:
    here = address.shown() if state.is_on("Chat") else ""
    components.search(_told, {**st.session_state.get(_FOUND, _NOTHING), "here": here})
    to = st.session_state.pop(_TO, None)
    if to is None:
        return
    if state.is_on("Chat"):
        st.rerun()
    st.switch_page(state.PAGES / "chat.py", query_params={"chat": to} if to else None)


def _told(told: Mapping[str, Any]) -> None:
    """What is typed is looked for; what is chosen is gone to."""
    words = str(told["words"])
    if told["name"] == "ask":
        chat_id = address.shown() if told["only"] else ""
        st.session_state[_FOUND] = {"asked": told["asked"], **find(words, chat_id)}
    else:
        _go(str(told["chat"]), str(told["message"]), words)


def find(words: str, chat_id: str = "") -> dict[str, object]:
    """What the dialog shows for these words, in all chats or in one: groups, and what is told
    below them.
    """
    ledger, owner = state.workspace().ledger, state.owner()
    if not read_terms(words):
        recent = [] if chat_id else ledger.chats(owner, limit=_RECENT)
        return {"groups": _to_groups(recent, [], is_all=not chat_id), "told": ""}
    titles = [] if chat_id else ledger.chats(owner, words, _TITLES, in_title=True)
    messages = ledger.find_messages(owner, words, chat_id, _MESSAGES)
    groups = _to_groups(titles, messages, is_all=False)
    return {"groups": groups, "told": _describe(words, len(messages), bool(groups))}


def _describe(words: str, messages: int, is_found: bool) -> str:
    told = [] if is_found else ["No message has all these words."]
    if len(words) >= LONGEST:
        told.append(f"The first {LONGEST} letters were looked for.")
    if messages == _MESSAGES:
        told.append(f"The {_MESSAGES} newest are shown; more words narrow it down.")
    return " ".join(told)


def _to_groups(
    chats: Sequence[Chat], messages: Sequence[FoundMessage], *, is_all: bool
) -> list[dict[str, object]]:
    titles = [
        {"chat": chat.id, "title": chat.title, "when": times.day(chat.updated_at), "snippet": []}
        for chat in chats
    ]
    said = [
        {
            "chat": found.chat_id,
            "message": found.message_id,
            "title": found.title,
            "when": times.day(found.said_at),
            "snippet": [list(part) for part in found.snippet],
        }
        for found in messages
    ]
    groups = {
        "Go to": [_NEW_CHAT] if is_all else [],
        "Recent chats" if is_all else "Chats": titles,
        "Messages": said,
    }
    return [{"name": name, "found": found} for name, found in groups.items() if found]


def _go(chat_id: str, message_id: str, words: str) -> None:
    if message_id:
        _prepare(chat_id, message_id, words)
    if state.is_on("Chat"):
        open_chat(chat_id or None)
    else:
        address.remember(chat_id or None)
    st.session_state[_TO] = chat_id


def _prepare(chat_id: str, message_id: str, words: str) -> None:
    """Let the chat show the message: its branch, as far back as it was said, and where it is."""
    ledger, owner = state.workspace().ledger, state.owner()
    try:
        thread = ledger.thread(owner, chat_id)
        if all(said.id != message_id for said in thread):
            if runs.live(owner, chat_id=chat_id):
                _tell("It is in another branch, which can be shown once the answer has ended.")
                return
            ledger.show_message(owner, chat_id, message_id)
            thread = ledger.thread(owner, chat_id)
    except NotFound as error:
        _tell(str(error))
        return
    turns = stored_turns(thread)
    index = next(number for number, turn in enumerate(turns) if _has(turn, message_id))
    key = f"shown-{chat_id}"
    needed = sum(map(_count_messages, turns[index:]))
    st.session_state[key] = max(st.session_state.get(key, 0), needed)
    before = st.session_state.get(_HIT, {}).get("nonce", 0)
    st.session_state[_HIT] = {
        "chat": chat_id,
        "message": message_id,
        "turn": turns[index].run_id,
        "terms": read_terms(words),
        "nonce": before + 1,
    }


def _tell(problem: str) -> None:
    """On the next page: a toast out of a fragment would take the place of the page's style."""
    st.session_state[_PROBLEM] = problem


def _has(turn: Turn, message_id: str) -> bool:
    said = [turn.question, *turn.inner, turn.answer]
    return any(one is not None and one.id == message_id for one in said)


def _count_messages(turn: Turn) -> int:
    """As a page that shows the last messages counts them."""
    return 1 + len(turn.inner) + (turn.answer is not None)


def leads_to(chat_id: str) -> bool:
    """Whether a hit in this chat was gone to last."""
    return bool(chat_id) and st.session_state.get(_HIT, {}).get("chat") == chat_id


def draw_hit(chat_id: str) -> None:
    """Put on the chat's page: brings the message of the hit into view, once."""
    if problem := st.session_state.pop(_PROBLEM, ""):
        st.toast(markdown.literal(problem))
    components.reveal(st.session_state[_HIT] if leads_to(chat_id) else {})
