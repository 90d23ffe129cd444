"""A question, its source and back by keyboard alone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.browser import driver, papers
from tests.browser.expecting import expect


@pytest.mark.usefixtures("chat")
def test_the_keyboard_alone_asks_opens_a_source_and_closes_it(page: Page) -> None:
    driver.settled(page)
    _tab_to(page, "[data-testid='stChatInputTextArea']")
    page.keyboard.type(papers.FERRY_QUESTION)
    page.keyboard.press("Enter")
    turn = page.locator("[class*='st-key-turn-']").filter(has_text=papers.FERRY_QUESTION)
    driver.answered(page, turn)
    driver.settled(page)
    _tab_to(page, "a[href^='#cite-']", back=True)
    page.keyboard.press("Enter")
    source = page.locator(".st-key-source")
    expect(source.locator("mark.sentence")).to_have_text(papers.FERRY)
    page.wait_for_function("() => document.activeElement.matches('.st-key-source')")
    page.keyboard.press("Tab")
    expect(source.get_by_role("button", name="Close")).to_be_focused()
    page.keyboard.press("Tab")
    expect(source.get_by_role("region", name="Text of the source")).to_be_focused()
    page.keyboard.press("Escape")
    expect(source).to_have_count(0)
    expect(turn.locator("a[href^='#cite-']").first).to_be_focused()


def _tab_to(page: Page, selector: str, *, back: bool = False) -> None:
    """Press Tab until the focus is on what the selector names, at most a hundred times."""
    for _ in range(100):
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
        page.keyboard.press("Shift+Tab" if back else "Tab")
    pytest.fail(f"the keyboard does not reach {selector}")
