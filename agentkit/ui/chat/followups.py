"""Up to three questions below the last answer, which a click asks."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial

import streamlit as st

from agentkit.errors import AgentkitError
from agentkit.ledger import Chat
from agentkit.llm import Model
from agentkit.ui.composer import composer
from agentkit.ui.shared import dialogs, kept, state
from agentkit.ui.steps.turns import Turn
from agentkit.ui.text import markdown
from agentkit.workspace import Workspace, followups

_POLL_S = 1.0
_FRESH = timedelta(minutes=10)
"""How old an answer may be for which a model is asked: looking into an old chat costs nothing."""
_lock = threading.Lock()
_drafting: set[str] = set()
"""Ids of the answers for which a model drafts questions."""


def draw_followups(chat: Chat, turn: Turn) -> None:
    """What may be asked after the last turn of a chat, unless that is switched off."""
    workspace = state.workspace()
    way = workspace.settings.followups
    answer, question = turn.answer, turn.question
    if way == "off" or turn.status != "complete":
        return
    if answer is None or question is None:
        return
    model = None
    if way == "model":
        model = _find_model(workspace, chat)
    if model:
        _draw_drafted(chat, turn, model)
    else:
        _draw_chips(chat, answer.id, from_headings(turn.run_id, question.content))


def to_question(heading: str) -> str:
    """The question about what stands under a heading."""
    return f"What is said about “{heading}”?"


@st.cache_data(max_entries=200, show_spinner=False)
def from_headings(run_id: str, asked: str) -> list[str]:
    """The questions that the headings of what was found give; a run that has ended stays so."""
    ledger, owner = state.workspace().ledger, state.owner()
    return [to_question(one) for one in followups.find_headings(ledger, owner, run_id, asked)]


def _find_model(workspace: Workspace, chat: Chat) -> Model | None:
    """The chat's model, if it can draft questions."""
    try:
        model = workspace.model(chat.model)
    except AgentkitError:
        return None
    return model if model.is_language_model else None


def _draw_drafted(chat: Chat, turn: Turn, model: Model) -> None:
    assert turn.answer is not None  # looked at before
    answer_id = turn.answer.id
    drafted = _read_drafted(chat.id, answer_id)
    if drafted is not None:
        _draw_chips(chat, answer_id, drafted)
        return
    said_at = getattr(turn.answer, "created_at", None)
    if said_at is None or datetime.now(UTC).replace(tzinfo=None) - said_at > _FRESH:
        return
    asked = turn.question.content if turn.question else ""
    work = partial(followups.draft, state.workspace(), chat.id, model, asked, turn.answer.content)
    _begin(chat.id, answer_id, work)
    st.fragment(_wait, run_every=_POLL_S)(chat.id, answer_id)


def _read_drafted(chat_id: str, answer_id: str) -> list[str] | None:
    """The questions that were drafted for this answer; None where none are there yet."""
    found = kept.get(chat_id, "followups")
    if not isinstance(found, dict) or found.get("answer") != answer_id:
        return None
    return [str(one) for one in found.get("questions", ())]


def _begin(chat_id: str, answer_id: str, work: Callable[[], list[str]]) -> None:
    """Let questions be drafted, once for an answer, on a thread of its own."""
    with _lock:
        if answer_id in _drafting:
            return
        _drafting.add(answer_id)
    ledger, owner = state.workspace().ledger, state.owner()

    def keep() -> None:
        questions: list[str] = []
        with suppress(Exception):  # whatever a model's client raises: it is not asked again
            questions = work()
        try:
            told = {"answer": answer_id, "questions": questions}
            ledger.set(owner, chat_id, "followups", told)
        except AgentkitError:  # the chat was deleted, or the app is being closed
            return
        finally:
            with _lock:
                _drafting.discard(answer_id)

    context = contextvars.copy_context()
    threading.Thread(
        target=context.run, args=(keep,), name="agentkit-followups", daemon=True
    ).start()


def _wait(chat_id: str, answer_id: str) -> None:
    """Draw the page anew once they are there."""
    if _read_drafted(chat_id, answer_id) is not None:
        dialogs.redraw()


def _draw_chips(chat: Chat, answer_id: str, questions: list[str]) -> None:
    if not questions:
        return
    drawn = object()
    with st.container(horizontal=True, gap="small", key="followups"):
        for number, question in enumerate(questions):
            st.button(
                markdown.literal(question),
                key=f"follow-{number}-{answer_id}",
                icon=":material/subdirectory_arrow_right:",
                help="Ask this",
                on_click=composer.ask,
                args=(chat, question, drawn),
            )
