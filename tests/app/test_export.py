"""The dialogs for exporting and importing a chat."""

from __future__ import annotations

import json

import pytest
from streamlit.testing.v1 import AppTest

from agentkit.errors import NotFound
from agentkit.ui.chat import export
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, texts


@pytest.fixture
def chat_id(kitchen: ScriptableWorkspace) -> str:
    """A chat about tea."""
    run = kitchen.ask(OWNER, "How hot is green tea?", collection="Kitchen")
    run.result()
    return run.chat_id or ""


def exported(workspace: ScriptableWorkspace, chat_id: str, form: export.Form) -> bytes:
    with export.make_file(workspace, OWNER, chat_id, form) as file:
        return file.read()


def choose_file(app: AppTest, content: bytes, name: str = "tea.chat.json") -> None:
    app.button(key="import-chat").click().run()
    app.file_uploader(key="chat-file").set_value([(name, content, "application/json")]).run()
    app.button(key="import").click().run()
    assert not app.exception, app.exception[0].stack_trace


def test_a_chat_is_exported_in_each_form(kitchen: ScriptableWorkspace, chat_id: str) -> None:
    app = open_page("chat", chat=chat_id)
    app.button(key="export-chat").click().run()
    assert "their sources as footnotes" in texts(app)
    app.segmented_control(key="export-form").set_value("json").run()
    assert "It can be imported again" in texts(app)
    assert not app.exception
    assert b"[^1]: tea" in exported(kitchen, chat_id, "md")
    assert b'<a href="#source-1-1">[1]</a>' in exported(kitchen, chat_id, "html")
    assert json.loads(exported(kitchen, chat_id, "json"))["version"] == 1
    assert list((kitchen.settings.data / "exports").iterdir()) == []
    with pytest.raises(NotFound):
        exported(kitchen, "gone", "md")


def test_a_chat_is_imported_and_opened(kitchen: ScriptableWorkspace, chat_id: str) -> None:
    content = exported(kitchen, chat_id, "json")
    kitchen.delete_chat(OWNER, chat_id)
    app = open_page("chat")
    choose_file(app, content)
    [copy] = kitchen.ledger.chats(OWNER)
    assert app.query_params["chat"] == copy.id
    assert "Green tea is steeped at 80 degrees" in texts(app)
    assert not app.file_uploader
    assert list((kitchen.settings.data / "uploads").iterdir()) == []


def test_what_is_no_chat_is_told_in_the_dialog(kitchen: ScriptableWorkspace) -> None:
    app = open_page("chat")
    app.button(key="import-chat").click().run()
    app.button(key="import").click().run()
    assert "There is no file to import" in texts(app)
    choose_file(app, b'{"format": "agentkit chat", "version": 7}', "newer.json")
    assert "newer.json was written by a newer version of agentkit" in texts(app)
    choose_file(app, b"{", "cut.json")
    assert "cut.json is not JSON, or was cut off" in texts(app)
    assert kitchen.ledger.count_chats(OWNER) == 0
    assert list((kitchen.settings.data / "uploads").iterdir()) == []
