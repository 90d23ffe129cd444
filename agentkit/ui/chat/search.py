"""The search that Ctrl-K opens on every page: over all messages, to a chat by its title, or to a
new chat; and the way to the message that was found.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from agentkit import runs
from agentkit.core.given import pick_filled
from agentkit.errors import AgentkitError, ConfigError
from agentkit.ledger import Chat, FoundMessage, StoredMessage
from agentkit.ledger.message_search import LONGEST, read_terms
from agentkit.messages import new_id
from agentkit.ui.chat.chat_list import open_chat
from agentkit.ui.composer import address
from agentkit.ui.shared import components, state
from agentkit.ui.steps.turns import Turn, read_turns
from agentkit.ui.text import markdown, times

_FOUND, _TO, _HIT = "search-found", "search-to", "search-hit"
_PROBLEM = "search-problem"
_NOTHING: dict[str, object] = {"asked": "", "groups": [], "told": ""}
_TITLES, _RECENT, _MESSAGES = 5, 8, 30
_NEW_CHAT: dict[str, object] = {"chat": "", "title": "New chat", "when": "", "snippet": []}


def draw_search() -> None:
    """To be called on every page: the dialog, and in the sidebar the button that opens it."""
    with st.sidebar:
        components.search_button()
    st.fragment(_draw)()


def _draw() -> None:
    found = st.session_state.get(_FOUND, _NOTHING)
    components.search(_act_on, {**found, "here": address.read_chat()})
    to = st.session_state.pop(_TO, None)
    if to is None:
        return
    if state.is_on("Chat"):
        st.rerun()
    st.switch_page(state.PAGES / "chat.py", query_params=to)


def _act_on(told: Mapping[str, Any]) -> None:
    """What is typed is looked for; what is chosen is gone to."""
    words = str(told["words"])
    if told["name"] == "go":
        _go(str(told["chat"]), str(told["message"]), words)
        return
    found = find_in(address.read_chat(), words) if told["only"] else find(words)
    st.session_state[_FOUND] = {"asked": told["asked"], **found}


def find(words: str) -> dict[str, object]:
    """What the dialog shows for these words: groups, and what is told below them; without words
    the last chats.
    """
    ledger, owner = state.workspace().ledger, state.owner()
    if not read_terms(words):
        recent = ledger.chats(owner, limit=_RECENT)
        return _pack({"Go to": [_NEW_CHAT], "Recent chats": list(map(_to_chat, recent))}, "")
    titles = ledger.chats(owner, words, _TITLES, in_title=True)
    messages = ledger.find_messages(owner, words, limit=_MESSAGES)
    groups = {
        "Chats": list(map(_to_chat, titles)),
        "Messages": list(map(_to_message, messages)),
    }
    return _pack(groups, _describe(words, len(messages), len(titles)))


def find_in(chat_id: str, words: str) -> dict[str, object]:
    """The same in one chat alone."""
    messages = state.workspace().ledger.find_messages(state.owner(), words, chat_id, _MESSAGES)
    told = ""
    if words.strip():
        told = _describe(words, len(messages), 0)
    return _pack({"Messages": list(map(_to_message, messages))}, told)


def _describe(words: str, messages: int, titles: int) -> str:
    """What the list itself does not say."""
    told = []
    if messages + titles == 0:
        told.append("No message has all these words.")
    if len(words) >= LONGEST:
        told.append(f"The first {LONGEST} letters were looked for.")
    if messages == _MESSAGES:
        told.append(f"The {_MESSAGES} newest are shown; more words narrow it down.")
    return " ".join(told)


def _to_chat(chat: Chat) -> dict[str, object]:
    when = times.day(chat.updated_at)
    return {"chat": chat.id, "title": chat.title, "when": when, "snippet": []}


def _to_message(found: FoundMessage) -> dict[str, object]:
    return {
        "chat": found.chat_id,
        "message": found.message_id,
        "title": found.title,
        "when": times.day(found.said_at),
        "snippet": list(map(list, found.snippet)),
    }


def _pack(groups: Mapping[str, list[dict[str, object]]], told: str) -> dict[str, object]:
    """As the browser takes it: groups that have something, and what is told below them."""
    some = [{"name": name, "found": found} for name, found in groups.items() if found]
    return {"groups": some, "told": told}


def _go(chat_id: str, message_id: str, words: str) -> None:
    if message_id:
        _prepare(chat_id, message_id, words)
    chat = chat_id or None
    if state.is_on("Chat"):
        open_chat(chat)
    address.remember(chat)
    st.session_state[_TO] = pick_filled({"chat": chat_id})


def _prepare(chat_id: str, message_id: str, words: str) -> None:
    """Let the chat show the message: its branch, as far back as it was said, and where it is."""
    try:
        thread = _show_branch(chat_id, message_id)
    except AgentkitError as error:
        st.session_state[_PROBLEM] = str(error)
        return
    run_of = {said.id: said.run_id or said.id for said in thread}
    turns = read_turns(thread)
    index = [turn.run_id for turn in turns].index(run_of[message_id])
    key = f"shown-{chat_id}"
    needed = sum(map(_count_messages, turns[index:]))
    st.session_state[key] = max(st.session_state.get(key, 0), needed)
    st.session_state[_HIT] = {
        "chat": chat_id,
        "message": message_id,
        "turn": turns[index].run_id,
        "terms": read_terms(words),
        "nonce": new_id(),
    }


def _show_branch(chat_id: str, message_id: str) -> list[StoredMessage]:
    """The branch with the message, which the chat shows from now on; raises NotFound, and
    ConfigError while another one is being answered.
    """
    ledger, owner = state.workspace().ledger, state.owner()
    thread = ledger.thread(owner, chat_id)
    if message_id in [said.id for said in thread]:
        return thread
    if runs.live(owner, chat_id=chat_id):
        raise ConfigError("It is in another branch, which can be shown when the answer has ended.")
    ledger.show_message(owner, chat_id, message_id)
    return ledger.thread(owner, chat_id)


def _count_messages(turn: Turn) -> int:
    """As a page that shows the last messages counts them."""
    return 1 + len(turn.inner) + (turn.answer is not None)


def leads_to(chat_id: str) -> bool:
    """Whether a hit in this chat was gone to last."""
    return bool(chat_id) and st.session_state.get(_HIT, {}).get("chat") == chat_id


def draw_hit(chat_id: str) -> None:
    """Put on the chat's page: brings the message of the hit into view, once."""
    if problem := st.session_state.pop(_PROBLEM, ""):
        # Not at once: a toast out of a fragment takes the place of the page's style.
        st.toast(markdown.literal(problem))
    if not leads_to(chat_id):  # whoever comes back later finds the end of the chat
        st.session_state.pop(_HIT, None)
    components.reveal(st.session_state.get(_HIT, {}))
