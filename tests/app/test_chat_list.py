"""The list of chats beside a chat: what stands out of each, and the way back to the open one."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from agentkit import runs
from agentkit.ledger import Chat
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, settle, until_asked


def _begun(workspace: ScriptableWorkspace, title: str) -> Chat:
    return workspace.ledger.create_chat(OWNER, title, "answer", "offline", "Kitchen")


def _label(app: AppTest, chat: Chat) -> str:
    return str(app.button(key=f"chat-{chat.id}").label)


def test_the_list_tells_who_waits_and_who_has_finished(workspace: ScriptableWorkspace) -> None:
    asking, other = _begun(workspace, "Letter"), _begun(workspace, "Other")
    run = runs.start(
        lambda: runs.ask_human("Writer", "Send it?"), kind="chat", title="Letter", owner=OWNER, chat_id=asking.id
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
