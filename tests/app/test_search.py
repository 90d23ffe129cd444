"""The search over all chats: what it finds, and where a hit leads."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from agentkit.ledger import Chat
from tests.app import driver
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, texts
from tests.ledger.conftest import record, say


@pytest.fixture
def chat(workspace: ScriptableWorkspace) -> Chat:
    """A chat of 50 questions, with another branch after the first answer."""
    made = workspace.ledger.create_chat(OWNER, "Exercises", "answer", "offline", "Kitchen")
    before = None
    for number in range(50):
        asked, answered = f"q{number}", f"a{number}"
        said = [
            say(asked, before, f"Question {number}"),
            say(answered, asked, f"Übung {number} <b>macht</b> den Meister", "assistant"),
        ]
        record(workspace.ledger, said, chat_id=made.id)
        before = answered
    other = [say("qb", "a0", "Another way"), say("ab", "qb", "By kangaroo", "assistant")]
    record(workspace.ledger, other, chat_id=made.id)
    workspace.ledger.show_message(OWNER, made.id, "a49")
    workspace.database.execute("update chats set head_id = 'a49' where id = ?", [made.id])
    return made


def _search(app: AppTest, words: str, *, only: bool = False) -> dict[str, list[dict[str, Any]]]:
    """What is found, by the name of its group."""
    told = {"name": "ask", "words": words, "only": only, "asked": words}
    found = driver.piece(driver.tell(app, "search", "told", **told), "search")
    assert found["asked"] == words
    return {group["name"]: group["found"] for group in found["groups"]}


def _go(app: AppTest, words: str, found: dict[str, Any]) -> AppTest:
    going = {"chat": found["chat"], "message": found.get("message", "")}
    return driver.tell(app, "search", "told", name="go", words=words, only=False, **going)


def test_without_words_it_leads_to_a_new_chat_and_to_the_last_ones(
    workspace: ScriptableWorkspace, chat: Chat
) -> None:
    app = open_page("documents")
    found = _search(app, " ")
    assert [one["title"] for one in found["Go to"]] == ["New chat"]
    assert [one["title"] for one in found["Recent chats"]] == ["Exercises"]
    _go(app, "", found["Recent chats"][0])
    assert app.title[0].value == "Exercises"
    app = _go(open_page("chat", chat=chat.id), "", found["Go to"][0])
    assert app.title[0].value == "Chat"
    assert "chat" not in app.query_params


def test_a_hit_above_the_messages_shown_is_led_to(
    workspace: ScriptableWorkspace, chat: Chat
) -> None:
    app = open_page("chat")
    found = _search(app, 'MEISTER "ubung 7"')
    (hit,) = found["Messages"]
    marked = [text for text, is_marked in hit["snippet"] if is_marked]
    assert marked == ["Übung 7", "Meister"]
    _go(app, 'MEISTER "ubung 7"', hit)
    assert app.title[0].value == "Exercises"
    assert "Übung 7 " in texts(app)
    revealed = driver.piece(app, "reveal")
    assert (revealed["message"], revealed["terms"]) == ("a7", ["meister", "ubung 7"])
    assert driver.piece(app, "chat_page")["hit"]
    app.button(key="new-chat").click().run()
    driver.tell(app, "chat_list", "act", name="open", ids=[chat.id], value="")
    assert app.title[0].value == "Exercises"
    assert not driver.piece(app, "chat_page")["hit"], "it opens at its end then"
    assert driver.piece(app, "reveal") == {}


def test_a_hit_in_another_branch_is_led_to(workspace: ScriptableWorkspace, chat: Chat) -> None:
    app = open_page("chat", chat=chat.id)
    assert "kangaroo" not in texts(app)
    (hit,) = _search(app, "kangaroo", only=True)["Messages"]
    _go(app, "kangaroo", hit)
    assert "By kangaroo" in texts(app)
    assert workspace.ledger.chat(OWNER, chat.id).head_id == "ab"


def test_titles_and_other_chats_are_left_out_in_one_chat(
    workspace: ScriptableWorkspace, chat: Chat
) -> None:
    other = workspace.ledger.create_chat(OWNER, "Übung", "answer", "offline", "Kitchen")
    record(workspace.ledger, [say("o1", None, "Eine Übung")], chat_id=other.id)
    app = open_page("chat", chat=other.id)
    assert [one["title"] for one in _search(app, "ubung")["Chats"]] == ["Übung"]
    assert [one["chat"] for one in _search(app, "ubung")["Messages"]].count(chat.id) == 3
    only = _search(app, "ubung", only=True)
    assert list(only) == ["Messages"]
    assert [one["chat"] for one in only["Messages"]] == [other.id]


def test_what_is_not_there_or_too_long_is_told(workspace: ScriptableWorkspace, chat: Chat) -> None:
    app = open_page("chat")
    assert _search(app, "zebra") == {}
    assert driver.piece(app, "search")["told"] == "No message has all these words."
    assert _search(app, "Ü" * 10_000) == {}
    assert "The first 300 letters were looked for." in driver.piece(app, "search")["told"]


def test_a_hit_that_was_deleted_meanwhile_is_told(
    workspace: ScriptableWorkspace, chat: Chat
) -> None:
    app = open_page("chat")
    (hit,) = _search(app, "kangaroo")["Messages"]
    workspace.discard_chats(OWNER, [chat.id])
    _go(app, "kangaroo", hit)
    assert "There is no chat" in texts(app)
    assert "There is no chat" in app.toast[0].value
