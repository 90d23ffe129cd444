"""The list of chats beside a chat: what stands out of each, and the way back to the open one."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from agentkit import runs
from agentkit.ledger import Chat
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, ROOT, open_page, settle, texts, until_asked


def _begun(workspace: ScriptableWorkspace, title: str) -> Chat:
    return workspace.ledger.create_chat(OWNER, title, "answer", "offline", "Kitchen")


def _label(app: AppTest, chat: Chat) -> str:
    return str(app.button(key=f"chat-{chat.id}").label)


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
    assert _label(app, asking) == "Letter :small[waiting for you]"
    assert _label(app, other) == "**Other**"
    run.answer("yes")
    settle(app)
    assert _label(app, asking) == "Letter :small[has finished]"
    app.button(key=f"chat-{asking.id}").click().run()
    assert _label(app, asking) == "**Letter**"
    app.button(key=f"chat-{other.id}").click().run()
    assert _label(app, asking) == "Letter"


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
