"""The list of chats beside a chat: what stands out of each, and the way back to the open one."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from streamlit.testing.v1 import AppTest

from agentkit import runs
from agentkit.ledger import Chat
from agentkit.ledger.store import utc_now
from tests.app import driver
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, ROOT, open_page, settle, texts, until_asked


def _begun(workspace: ScriptableWorkspace, title: str) -> Chat:
    return workspace.ledger.create_chat(OWNER, title, "answer", "offline", "Kitchen")


def _rows(app: AppTest) -> dict[str, dict[str, Any]]:
    """The rows of the list by title, each with the name of its group."""
    groups = driver.piece(app, "chat_list")["groups"]
    return {row["title"]: {**row, "group": one["name"]} for one in groups for row in one["chats"]}


def _act(app: AppTest, name: str, *chats: Chat, value: str = "") -> AppTest:
    """Choose something for chats, in the list."""
    ids = [chat.id for chat in chats]
    return driver.tell(app, "chat_list", "act", name=name, ids=ids, value=value)


def _said_at(workspace: ScriptableWorkspace, chat: Chat, days_ago: float) -> None:
    when = utc_now() - timedelta(days=days_ago)
    workspace.database.execute("update chats set updated_at = ? where id = ?", [when, chat.id])


def test_the_list_tells_who_waits_and_who_has_finished(workspace: ScriptableWorkspace) -> None:
    asking, other = _begun(workspace, "Letter"), _begun(workspace, "Other")
    run = runs.start(
        lambda: runs.ask_human("Writer", "Send it?"),
        kind="chat",
        title="Letter",
        owner=OWNER,
        chat_id=asking.id,
    )
    app = open_page("chat", chat=other.id)
    until_asked(app, run)
    assert _rows(app)["Letter"]["told"] == "Waiting for you"
    assert _rows(app)["Other"]["told"] == ""
    assert driver.piece(app, "chat_list")["current"] == other.id
    run.answer("yes")
    settle(app)
    assert _rows(app)["Letter"]["told"] == "Has finished"
    _act(app, "open", asking)
    assert app.query_params["chat"] == asking.id
    assert _rows(app)["Letter"]["told"] == ""
    _act(app, "open", other)
    assert _rows(app)["Letter"]["told"] == ""


def test_chats_stand_under_their_day_and_pinned_ones_before(
    workspace: ScriptableWorkspace,
) -> None:
    old = _begun(workspace, "Old")
    for title, days_ago in (("Days ago", 4.0), ("Day before", 1.0), ("Now", 0.0)):
        _said_at(workspace, _begun(workspace, title), days_ago)
    workspace.database.execute("update chats set updated_at = '2025-03-09' where id = ?", [old.id])
    app = open_page("chat")
    assert {title: row["group"] for title, row in _rows(app).items()} == {
        "Now": "Today",
        "Day before": "Yesterday",
        "Days ago": "Previous 7 days",
        "Old": "March 2025",
    }
    _act(app, "pin", old)
    assert list(_rows(app)) == ["Old", "Now", "Day before", "Days ago"]
    assert _rows(app)["Old"]["group"] == "Pinned"
    _act(app, "unpin", old)
    assert _rows(app)["Old"]["group"] == "March 2025"


def test_only_some_chats_are_listed_until_more_are_wanted(workspace: ScriptableWorkspace) -> None:
    made = [_begun(workspace, f"Chat {number}") for number in range(45)]
    app = open_page("chat", chat=made[0].id)
    assert list(_rows(app)) == [f"Chat {number}" for number in range(44, 4, -1)]
    assert driver.piece(app, "chat_list")["left"] == 5
    _act(app, "more")
    assert len(_rows(app)) == 45
    assert driver.piece(app, "chat_list")["left"] == 0


def test_a_chat_is_renamed(workspace: ScriptableWorkspace) -> None:
    chat = _begun(workspace, "Letter")
    app = _act(open_page("chat", chat=chat.id), "rename", chat)
    app.text_input(key="chat-title").set_value("  ")
    app.button(key="rename-chat").click().run()
    assert "The title is empty; type a name for this chat." in texts(app)
    app.text_input(key="chat-title").set_value("<b>Teas</b> of the 22nd")
    app.button(key="rename-chat").click().run()
    assert workspace.ledger.chat(OWNER, chat.id).title == "<b>Teas</b> of the 22nd"
    assert list(_rows(app)) == ["<b>Teas</b> of the 22nd"]


def test_chats_go_into_folders_and_come_out(workspace: ScriptableWorkspace) -> None:
    letter, other = _begun(workspace, "Letter"), _begun(workspace, "Other")
    app = _act(open_page("chat"), "new-folder", letter)
    for name, problem in ((" ", "The name of the folder is empty"), ("x" * 10_000, "10,000")):
        app.text_input(key="folder-name").set_value(name)
        app.button(key="make-folder").click().run()
        assert problem in texts(app)
    app.text_input(key="folder-name").set_value(" Post &  <i>tax</i> ")
    app.button(key="make-folder").click().run()
    assert driver.piece(app, "chat_list")["folders"] == ["Post & <i>tax</i>"]
    _act(app, "view", value="/Post & <i>tax</i>")
    assert list(_rows(app)) == ["Letter"]
    _act(app, "move", other, value="Post & <i>tax</i>")
    assert set(_rows(app)) == {"Letter", "Other"}
    _act(app, "move", letter, other)  # a folder goes with its last chat
    assert driver.piece(app, "chat_list")["folder"] == ""
    assert set(_rows(app)) == {"Letter", "Other"}


def test_an_archived_chat_is_brought_back(workspace: ScriptableWorkspace) -> None:
    letter, other = _begun(workspace, "Letter"), _begun(workspace, "Other")
    app = _act(open_page("chat", chat=letter.id), "archive", letter, other)
    assert _rows(app) == {}
    assert driver.piece(app, "chat_list")["note"] == "2 chats archived."
    assert driver.piece(app, "chat_list")["undo"]
    _act(app, "undo")
    assert set(_rows(app)) == {"Letter", "Other"}
    _act(app, "archive", other)
    _act(app, "view", value="archived")
    assert list(_rows(app)) == ["Other"]
    _act(app, "unarchive", other)
    assert driver.piece(app, "chat_list")["empty"].startswith("No chat is archived.")
    _act(app, "view", value="open")
    assert set(_rows(app)) == {"Letter", "Other"}


def test_deleted_chats_are_brought_back_or_go_for_good(workspace: ScriptableWorkspace) -> None:
    letter, other = _begun(workspace, "Letter"), _begun(workspace, "Other")
    app = _act(open_page("chat", chat=letter.id), "delete", letter, other)
    assert "chat" not in app.query_params
    assert app.title[0].value == "Chat"
    assert driver.piece(app, "chat_list")["note"] == "2 chats deleted."
    _act(app, "undo")
    assert set(_rows(app)) == {"Letter", "Other"}
    _act(app, "delete", letter, other)
    _act(app, "dismiss")
    assert driver.piece(app, "chat_list")["note"] == ""
    _act(app, "view", value="deleted")
    assert _rows(app)["Letter"]["group"] == "Gone for good in 7 days"
    _act(app, "restore", other)
    _act(app, "erase", letter)
    app.button(key="erase-chats").click().run()
    assert _rows(app) == {}
    assert [chat.title for chat in workspace.ledger.chats(OWNER)] == ["Other"]
    assert workspace.ledger.count_shelf(OWNER, "deleted") == 0


def test_what_was_deleted_in_another_tab_is_told(workspace: ScriptableWorkspace) -> None:
    letter = _begun(workspace, "Letter")
    app = open_page("chat")
    workspace.delete_chat(OWNER, letter.id)
    _act(app, "delete", letter)
    gone = "These chats were deleted elsewhere."
    assert driver.piece(app, "chat_list")["note"] == gone
    assert not driver.piece(app, "chat_list")["undo"]
    _act(app, "rename", letter)
    assert "There is no chat" in texts(app)
    _act(app, "open", letter)
    assert "There is no chat" in texts(app)


def test_chat_in_the_navigation_leads_back_to_the_open_chat(workspace: ScriptableWorkspace) -> None:
    chat = _begun(workspace, "Letter")
    app = open_page("chat", chat=chat.id)
    _to(_to(app, "documents"), "chat")
    assert app.title[0].value == "Letter"
    app.button(key="new-chat").click().run()
    assert app.title[0].value == "Chat"
    _to(_to(app, "documents"), "chat")
    assert app.title[0].value == "Chat"


def test_a_chat_that_was_deleted_meanwhile_is_not_gone_back_to(
    workspace: ScriptableWorkspace,
) -> None:
    chat = _begun(workspace, "Letter")
    app = _to(open_page("chat", chat=chat.id), "documents")
    workspace.delete_chat(OWNER, chat.id)
    _to(app, "chat")
    assert app.title[0].value == "Chat"
    assert "There is no chat" not in texts(app)


def _to(app: AppTest, name: str) -> AppTest:
    """Turn to a page as its link in the navigation does: nothing stands in its address."""
    app.query_params.clear()
    app.switch_page(str(ROOT / f"pages/{name}.py")).run()
    assert not app.exception, app.exception[0].stack_trace
    return app
