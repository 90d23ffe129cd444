"""An app that is killed in the middle of an answer: the person finds again all that was on the
page.
"""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page

from agentkit.api import Workspace
from agentkit.settings import Settings
from tests.browser import driver, papers
from tests.browser.expecting import expect
from tests.browser.serving import App, serving
from tests.servers.openai_server import Answer, OpenAIServer, words

pytestmark = [pytest.mark.walk, pytest.mark.usefixtures("ferry")]

BEGUN = f"{papers.FERRY} [1] Then the pier is"
WHOLE = f"{BEGUN} empty."
DRAFT = "And on Sundays, when"


class Script:
    """The answer halts at first and is whole the second time; other questions are answered at
    once.
    """

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, body: dict[str, Any]) -> Answer:
        if body["messages"][-1]["content"] != papers.FERRY_QUESTION:
            return Answer("It costs nothing.")
        self.asked += 1
        if self.asked == 1:
            return Answer(f"{BEGUN} never said", halt_after=len(words(BEGUN)))
        return Answer(WHOLE)


def test_what_was_on_the_page_is_there_again_after_the_app_was_killed(
    tmp_path: Path, page: Page
) -> None:
    script = Script()
    with OpenAIServer(script) as server:
        environment = {"OPENAI_BASE_URL": server.base_url, "OPENAI_MODEL": "test-model"}
        environment["OPENAI_API_KEY"] = "sk-browser"
        with serving(tmp_path, environment) as app:
            address = _killed(app, page)
        with serving(tmp_path, environment) as app:
            page.goto(f"{app.url}{address}")
            _found_again(page)
    assert script.asked == 2, "the reply that was cut is asked for once more"


def _killed(app: App, page: Page) -> str:
    """Ask, queue a question, begin another, and kill the app; gives the chat's address."""
    driver.open_app(page, app)
    turn = driver.ask(page, papers.FERRY_QUESTION)
    expect(turn).to_contain_text("Then the pier is")
    box = page.get_by_test_id("stChatInputTextArea")
    box.fill("What does it cost?")
    box.press("Enter")
    waiting = page.get_by_text("Asked after this answer: What does it cost?")
    expect(waiting).to_have_count(1)  # two were there for a moment once, on a busy machine
    expect(waiting).to_be_visible()
    box.press_sequentially(DRAFT)
    address = page.url.removeprefix(app.url)
    _until_stored(app, address.partition("chat=")[2])
    os.kill(app.process.pid, signal.SIGKILL)
    return address


def _until_stored(app: App, chat_id: str) -> None:
    """Wait until the app has stored the text and the draft: nothing on the page tells."""
    workspace = Workspace(Settings(data=app.data))
    try:
        for _ in range(2400):
            texts = [
                getattr(one.event, "text", "")
                for run in workspace.ledger.open_runs()
                for one in workspace.ledger.begun(run.id)
            ]
            draft = workspace.ledger.settings("local", chat_id).get("draft")
            if draft == DRAFT and any(text.endswith("pier is") for text in texts):
                return
            time.sleep(0.05)
    finally:
        workspace.close()
    raise AssertionError(f"stored are the draft {draft!r} and {texts}")


def _found_again(page: Page) -> None:
    turn = page.locator("[class*='st-key-turn-']").last
    expect(turn).to_contain_text("Then the pier is")
    expect(turn).to_contain_text("The app was closed in the middle of this answer.")
    expect(page.get_by_text("Still to be asked: What does it cost?")).to_be_visible()
    box = page.get_by_test_id("stChatInputTextArea")
    expect(box).to_have_value(DRAFT)
    expect(page.get_by_role("button", name="Try again")).to_be_visible()
    page.get_by_role("button", name="Continue").click()
    first = page.locator("[class*='st-key-turn-']").first
    expect(first).to_contain_text("Then the pier is empty.")
    _is_whole(first)
    asked_next = page.locator("[class*='st-key-turn-']").filter(has_text="What does it cost?")
    expect(asked_next).to_contain_text("It costs nothing.")
    expect(box).to_have_value(DRAFT)
    page.reload()
    expect(box).to_have_value(DRAFT)
    box.press("Enter")
    expect(page.get_by_text(DRAFT).last).to_be_visible()
    expect(box).to_have_value("")
    driver.settled(page)
    driver.answered(page, page.locator("[class*='st-key-turn-']").last)
    page.reload()
    expect(page.get_by_text("It costs nothing.").first).to_be_visible()
    driver.settled(page)
    expect(box).to_have_value("")


def _is_whole(turn: Locator) -> None:
    expect(turn).not_to_contain_text(re.compile("app was closed|not whole|broke off"))
    expect(turn.get_by_role("button", name="Continue")).to_have_count(0)
