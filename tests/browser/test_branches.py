"""Branches of a chat by mouse and keyboard, wide and on a phone: questions edited, answers made
again, versions switched and compared, rated, gone on from and deleted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser import driver, papers
from tests.browser.axe import violations
from tests.browser.serving import App
from tests.servers.openai_server import Answer, OpenAIServer

COST, SUNDAY = "What does it cost?", "What does it cost on Sundays?"


def script(body: dict[str, Any]) -> Answer:
    """Each question has its own answer."""
    last = str(body["messages"][-1]["content"])
    known = {COST: "It costs nothing. [1]", SUNDAY: "On Sundays it costs two crowns. [1]"}
    return Answer(known.get(last, f"{papers.FERRY} [1]"))


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(script) as running:
        yield running


def test_a_chat_branches_and_nothing_is_lost(app: App, page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{app.url}/documents")
    driver.add_files(page, [driver.file("ferry.docx", papers.ferry_docx())])
    driver.go(page, "Chat")
    driver.answered(page, driver.ask(page, papers.FERRY_QUESTION))
    driver.answered(page, driver.ask(page, COST))
    _edit_by_mouse(page)
    _switch_by_keyboard(page)
    _rate_and_copy(page)
    _answer_again_by_keyboard(page)
    _compare(page)
    _go_on_and_back(page)
    page.set_viewport_size({"width": 390, "height": 844})
    _use_on_a_phone(page)
    _delete(page)


def _turn(page: Page, question: str) -> Locator:
    """The turn on the page that asks exactly this."""
    asks = page.get_by_test_id("stChatMessage").get_by_text(question, exact=True)
    return page.locator("[class*='st-key-turn-']").filter(has=asks)


def _choose(page: Page, question: str, action: str) -> None:
    """Take something from the menu of a turn."""
    driver.settled(page)
    page.get_by_role("button", name=f"More for this turn: {question}", exact=True).click()
    page.get_by_role("menuitem", name=action).click()


def _edit_by_mouse(page: Page) -> None:
    _choose(page, COST, "Edit and resend")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("stays beside this one")
    dialog.get_by_role("textbox", name="Question").fill(SUNDAY)
    dialog.get_by_role("button", name="Send").click()
    expect(dialog).to_have_count(0)
    turn = _turn(page, SUNDAY)
    expect(turn).to_contain_text("two crowns")
    expect(turn).to_contain_text("2/2")
    expect(_turn(page, COST)).to_have_count(0)


def _switch_by_keyboard(page: Page) -> None:
    """The focus stays on the way to other versions; what is shown survives a reload."""
    driver.settled(page)
    earlier = page.get_by_role("button", name="Earlier version")
    later = page.get_by_role("button", name="Later version")
    earlier.focus()
    page.keyboard.press("Enter")
    expect(_turn(page, COST)).to_contain_text("1/2")
    expect(earlier).to_be_disabled()
    expect(later).to_be_focused()
    page.reload()
    expect(_turn(page, COST)).to_contain_text("1/2")
    driver.settled(page)
    later.focus()
    page.keyboard.press("Enter")
    expect(_turn(page, SUNDAY)).to_contain_text("2/2")
    expect(earlier).to_be_focused()


def _rate_and_copy(page: Page) -> None:
    turn = _turn(page, SUNDAY)
    driver.settled(page)  # what is pressed by force must stand still
    turn.get_by_test_id("stFeedback").get_by_role("radio").first.click(force=True)
    turn.get_by_role("button", name="Add a comment").click()
    page.get_by_role("textbox", name="What was right or wrong?").fill("Too cheap.")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(turn.get_by_role("button", name="Too cheap.")).to_be_visible()
    page.reload()
    expect(turn.get_by_role("button", name="Too cheap.")).to_be_visible()
    driver.settled(page)
    turn.get_by_role("button", name="Copy the answer").click()
    expect(turn.get_by_role("status").filter(has_text="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert re.search(r"two crowns. \[\^1\]\s+\[\^1\]: ferry.docx", copied)


def _answer_again_by_keyboard(page: Page) -> None:
    """The first question once more, of another model."""
    driver.settled(page)
    menu = page.get_by_role("button", name=f"More for this turn: {papers.FERRY_QUESTION}")
    menu.focus()
    page.keyboard.press("Enter")
    page.get_by_role("menuitem", name="Answer again").press("Enter")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("combobox", name="Model").click()
    page.get_by_role("option", name="Offline").click()
    dialog.get_by_role("button", name="Answer again").press("Enter")
    expect(dialog).to_have_count(0)
    turn = _turn(page, papers.FERRY_QUESTION)
    expect(turn).to_contain_text("2/2")
    expect(_turn(page, SUNDAY)).to_have_count(0)


def _compare(page: Page) -> None:
    _choose(page, papers.FERRY_QUESTION, "Compare versions")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("test-model")
    expect(dialog.get_by_role("row", name="Tokens in")).to_be_visible()
    expect(dialog).to_contain_text(SUNDAY)
    expect(dialog).to_contain_text("This branch has no such turn.")
    driver.settled(page)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        driver.settled(page)
        assert violations(page, f"two versions, {scheme}") == []
    page.emulate_media(color_scheme="light")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def _go_on_and_back(page: Page) -> None:
    """From the first answer, and back to what was asked after it."""
    driver.settled(page)
    page.get_by_role("button", name="Earlier version").first.click()
    expect(_turn(page, SUNDAY)).to_be_visible()
    _choose(page, papers.FERRY_QUESTION, "Go on from here")
    expect(
        page.get_by_text("The next question goes on from here. 2 later questions kept.")
    ).to_be_visible()
    expect(_turn(page, SUNDAY)).to_have_count(0)
    driver.settled(page)
    page.get_by_role("button", name="Back to them").click()
    expect(_turn(page, SUNDAY)).to_contain_text("2/2")


def _use_on_a_phone(page: Page) -> None:
    driver.settled(page)
    wide = page.evaluate("() => document.documentElement.scrollWidth")
    assert wide <= 390
    row = _turn(page, SUNDAY).locator("[class*='st-key-actions-']")
    for button in row.get_by_role("button").all():
        box = button.bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    row.get_by_role("button", name="Earlier version").click()
    expect(_turn(page, COST)).to_contain_text("1/2")
    _choose(page, COST, "Compare versions")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("two crowns")
    first, second = dialog.get_by_text(re.compile(r"^Version [12] · ")).all()
    above, below = first.bounding_box(), second.bounding_box()
    assert above
    assert below
    assert above["y"] < below["y"]
    driver.settled(page)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def _delete(page: Page) -> None:
    """What goes is told before; the version beside it is shown then."""
    _choose(page, papers.FERRY_QUESTION, "Delete")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("3 questions and their answers go")
    expect(dialog).to_contain_text("1 other version of this question can still be shown")
    driver.settled(page)
    dialog.get_by_role("button", name="Delete", exact=True).click()
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("button", name="Earlier version")).to_have_count(0)
    expect(_turn(page, papers.FERRY_QUESTION)).to_be_visible()
    expect(_turn(page, COST)).to_have_count(0)
