"""The prompt library in the app: made, filled in, changed, brought back and deleted."""

from __future__ import annotations

from typing import Any

from streamlit.testing.v1 import AppTest

from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, settle, texts

TEXT = "What is said about {{topic}} in {{language:English}}?"


def click(app: AppTest, key: str) -> None:
    app.button(key=key).click().run()
    assert not app.exception, app.exception[0].stack_trace


def choose(app: AppTest, menu: str, what: str) -> None:
    found: Any = app.get_by_key(menu)
    found.set_value(what).run()
    assert not app.exception, app.exception[0].stack_trace


def test_a_prompt_is_made_filled_in_and_asked(kitchen: ScriptableWorkspace) -> None:
    app = open_page("chat")
    click(app, "prompts")
    assert "There are no prompts yet" in texts(app)
    click(app, "new-prompt")
    app.text_input(key="name-new").set_value("About")
    click(app, "save-prompt")
    assert "A prompt needs a text" in texts(app)
    app.text_area(key="text-new").set_value(TEXT)
    click(app, "save-prompt")
    [made] = kitchen.prompts.all(OWNER)
    click(app, f"prompt-{made.id}")
    click(app, "put-prompt")
    assert "Nothing is given for topic; fill in each variable." in texts(app)
    app.text_input(key=f"variable-{made.id}-1-0").set_value("green tea")
    click(app, "put-prompt")
    asked = "What is said about green tea in English?"
    assert kitchen.ledger.settings(OWNER, "")["draft"] == asked
    click(app, "prompts")
    click(app, f"prompt-{made.id}")
    app.text_input(key=f"variable-{made.id}-1-0").set_value("green tea")
    click(app, "ask-prompt")
    settle(app)
    [chat] = kitchen.ledger.chats(OWNER)
    assert chat.title == asked


def test_versions_are_looked_at_and_brought_back_and_a_prompt_deleted(
    kitchen: ScriptableWorkspace,
) -> None:
    made = kitchen.prompts.create(OWNER, "About <b>", TEXT)
    kitchen.prompts.change(OWNER, made.id, "About <b>", "How hot is it?")
    app = open_page("chat")
    click(app, "prompts")
    choose(app, f"prompt-menu-{made.id}", "Versions")
    assert [one.value for one in app.code] == ["How hot is it?", TEXT]
    click(app, "bring-back-1")
    assert kitchen.prompts.all(OWNER)[0].version == 3
    choose(app, f"prompt-menu-{made.id}", "Edit")
    app.text_area(key=f"text-{made.id}").set_value("And without variables?")
    click(app, "save-prompt")
    assert kitchen.prompts.all(OWNER)[0].version == 4
    click(app, f"prompt-{made.id}")
    assert kitchen.ledger.settings(OWNER, "")["draft"] == "And without variables?"
    click(app, "prompts")
    choose(app, f"prompt-menu-{made.id}", "Delete")
    assert "4 versions" in texts(app)
    click(app, "delete-prompt")
    assert kitchen.prompts.all(OWNER) == []
