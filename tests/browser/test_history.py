"""The chats in the sidebar: found by what was said, renamed, opened, left by the browser's back
button, deleted.
"""

from __future__ import annotations

import re
import time

import pytest
from playwright.sync_api import Page

from agentkit.api import Workspace
from agentkit.settings import Settings
from tests.browser import driver
from tests.browser.expecting import expect
from tests.browser.serving import App

NOTES = """The bakery in Ostrava opens at six in the morning.

The museum of clocks is closed on Tuesdays.

The tram to the quarry costs three crowns.
"""


@pytest.mark.walk
def test_chats_are_found_renamed_opened_and_deleted(app: App, page: Page) -> None:
    page.goto(f"{app.url}/documents")
    driver.add_files(page, [driver.file("notes.txt", NOTES)])
    driver.go(page, "Chat")
    addresses = [
        _ask_in_new_chat(page, question, said)
        for question, said in (
            ("When does the bakery open?", "six in the morning"),
            ("On which day is the museum closed?", "closed on Tuesdays"),
            ("What does the tram cost?", "three crowns"),
        )
    ]
    chats = page.locator("[class*='st-key-chat-row-']")
    expect(chats).to_have_count(3)

    found = driver.search(page, "crowns")  # said in an answer, not in a question
    expect(found).to_have_count(1)
    expect(found).to_contain_text("What does the tram cost?")
    page.keyboard.press("Escape")
    expect(found).to_have_count(0)

    _rename(page, "On which day is the museum closed?", "Clocks & <b>days</b>")
    expect(page.get_by_role("heading", level=1)).to_have_text("What does the tram cost?")
    page.get_by_role("button", name="Clocks & <b>days</b>", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Clocks & <b>days</b>")
    expect(page.locator("#stMain")).to_contain_text("closed on Tuesdays")
    assert page.url == addresses[1]
    _keeps_what_is_half_typed(page)
    assert page.url == addresses[2]

    driver.act_on_chat(page, "What does the tram cost?", "Delete")
    expect(chats).to_have_count(2)
    expect(page.get_by_role("heading", level=1)).to_have_text("Chat")
    page.goto(addresses[2])
    expect(page.locator("#stMain")).to_contain_text("There is no chat")
    expect(page.get_by_test_id("stException")).to_have_count(0)
    page.goto(addresses[0])
    expect(page.locator("#stMain")).to_contain_text("six in the morning")


def _keeps_what_is_half_typed(page: Page) -> None:
    """Each chat its own, when one goes back and forth between them right after the last letter."""
    driver.settled(page)
    heading, box = page.get_by_role("heading", level=1), driver.find_box(page)
    box.fill("Half of a question")
    page.go_back()
    expect(heading).to_have_text("What does the tram cost?")
    expect(box).to_have_value("")
    driver.settled(page)
    box.fill("Half of another")
    page.go_forward()
    expect(heading).to_have_text("Clocks & <b>days</b>")
    expect(box).to_have_value("Half of a question")
    page.go_back()
    expect(heading).to_have_text("What does the tram cost?")
    expect(box).to_have_value("Half of another")


def _ask_in_new_chat(page: Page, question: str, said: str) -> str:
    page.get_by_role("button", name="New chat").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Chat")
    turn = driver.ask(page, question)
    driver.answered(page, turn)
    expect(turn).to_contain_text(said)
    assert re.search(r"\?chat=\w+$", page.url)
    return page.url


def _rename(page: Page, title: str, new: str) -> None:
    driver.act_on_chat(page, title, "Rename")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Title").fill(new)
    dialog.get_by_role("button", name="Rename", exact=True).click()
    expect(dialog).to_have_count(0)


EARLY = """text => new MutationObserver((changes, observer) => {
    const box = document.querySelector('[data-testid="stChatInputTextArea"]');
    if (!box) return;
    observer.disconnect();
    Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(box, text);
    box.dispatchEvent(new Event("input", { bubbles: true }));
}).observe(document, { childList: true, subtree: true })"""
"""Types into the box in the moment in which it appears."""


def test_what_is_typed_while_the_page_is_being_drawn_or_left_stays(app: App, page: Page) -> None:
    page.goto(f"{app.url}/documents")
    expect(page.get_by_role("heading", level=1)).to_have_text("Documents")
    page.evaluate(EARLY, "Who keeps the light?")
    driver.go(page, "Chat")
    _until_kept(app, "Who keeps the light?")
    page.reload()
    box = page.get_by_test_id("stChatInputTextArea")
    expect(box).to_have_value("Who keeps the light?")
    box.fill("Who keeps the light at night?")
    page.reload()
    expect(box).to_have_value("Who keeps the light at night?")
    _until_kept(app, "Who keeps the light at night?")
    box.press("Enter")
    expect(page.locator("[class*='st-key-turn-']")).to_contain_text("Who keeps the light at night?")


@pytest.mark.walk
def test_what_is_typed_is_kept_where_the_browser_forbids_to_store_anything(
    app: App, page: Page
) -> None:
    forbids = "get() { throw new DOMException('forbidden', 'SecurityError'); }"
    page.add_init_script(f"Object.defineProperty(window, 'sessionStorage', {{ {forbids} }})")
    page.goto(app.url)
    box = page.get_by_test_id("stChatInputTextArea")
    box.fill("Who paints the lighthouse?")
    _until_kept(app, "Who paints the lighthouse?")
    page.reload()
    expect(box).to_have_value("Who paints the lighthouse?")


def _until_kept(app: App, draft: str) -> None:
    """Wait until the app has stored what was typed in a new chat: nothing on the page tells."""
    workspace, kept = Workspace(Settings(data=app.data)), None
    try:
        for _ in range(2400):
            kept = workspace.ledger.settings("local", "").get("draft")
            if kept == draft:
                return
            time.sleep(0.05)
    finally:
        workspace.close()
    raise AssertionError(f"stored is the draft {kept!r}")
