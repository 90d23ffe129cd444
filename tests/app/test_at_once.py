"""What happens between two looks of one run of the page, or is not stored yet."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from agentkit import runs
from agentkit.core import bus
from agentkit.events import MessageSent
from agentkit.ledger import Chat
from agentkit.runs import Run
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, texts

QUESTION, NEXT = "How hot for green tea?", "And for black tea?"


@pytest.fixture
def chat(workspace: ScriptableWorkspace) -> Chat:
    """A chat whose question was asked once, and not answered."""
    made = workspace.ledger.create_chat(OWNER, "Tea", "answer", "offline", "Kitchen")
    first = MessageSent("first", None, "user", "team", "user", QUESTION)
    runs.start(
        lambda: bus.emit(first), kind="chat", owner=OWNER, chat_id=made.id, ledger=workspace.ledger
    ).result()
    return made


@pytest.fixture
def go_on() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def answering(chat: Chat, go_on: threading.Event) -> Run[None]:
    """A run that asks the question again, and of which nothing is stored."""

    def work() -> None:
        bus.emit(MessageSent("again", None, "user", "team", "user", QUESTION))
        assert go_on.wait(120)

    return runs.start(work, kind="chat", owner=OWNER, chat_id=chat.id)


def test_a_question_that_is_asked_again_stands_there_once(
    chat: Chat, go_on: threading.Event
) -> None:
    run = answering(chat, go_on)
    app = open_page("chat", chat=chat.id)
    assert not run.ended
    assert texts(app).count(QUESTION) == 1


def test_an_answer_that_ends_while_the_page_is_drawn_lets_the_next_question_be_asked(
    workspace: ScriptableWorkspace, chat: Chat, go_on: threading.Event
) -> None:
    run = answering(chat, go_on)
    app = open_page("chat", chat=chat.id)
    app.chat_input[0].set_value(NEXT).run()
    assert f"Asked after this answer: {NEXT}" in texts(app)

    def end() -> None:
        go_on.set()
        assert run.wait(60)

    workspace.looked_at = end
    app.run()
    for next_one in runs.live(OWNER):
        assert next_one.wait(60)
    assert NEXT in [said.content for said in workspace.ledger.thread(OWNER, chat.id)]
