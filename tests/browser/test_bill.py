"""Money, as a person deals with it: a price is entered, a budget is set, a question is stopped by
it and goes on by a click; the usage page tells where it went.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page

from tests.browser import driver
from tests.browser.expecting import expect
from tests.browser.serving import App
from tests.servers.openai_server import Answer, OpenAIServer

pytestmark = pytest.mark.walk

QUESTION = "What does the ferry cost?"


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(lambda body: Answer("It costs nothing.")) as running:
        yield running


def test_a_budget_stops_a_question_and_a_click_lets_it_go_on(
    app: App, server: OpenAIServer, page: Page
) -> None:
    page.goto(f"{app.url}/settings")
    _enter_price(page)
    _set_budget(page)

    driver.go(page, "Chat")
    turn = driver.ask(page, QUESTION)
    expect(turn).to_contain_text("No answer. The budget of $0.01 a month is used up")
    assert server.chats == []
    turn.get_by_role("button", name="Raise to $").click()
    answered = page.locator("[class*='st-key-turn-']").last
    expect(answered).to_contain_text("It costs nothing.")
    driver.answered(page, answered)
    expect(page.get_by_text("Budget of a month: ")).to_be_visible()

    driver.go(page, "Usage")
    course = page.locator(".st-key-budget-courses")
    expect(course).to_contain_text("of $0.0100")
    page.get_by_role("tab", name="Bill").click()
    expect(page.get_by_text("add up to what their servers said")).to_be_visible()
    assert driver.metric(page, "Per question").startswith("$")


def _enter_price(page: Page) -> None:
    """What a million tokens of the server's models cost."""
    page.get_by_role("button", name="Enter a price").click()
    dialog = page.get_by_role("dialog")
    _fill(dialog, "Input", "1000")
    _fill(dialog, "Output", "2000")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_have_count(0)
    expect(page.get_by_text("$1,000.00 in, $2,000.00 out")).to_be_visible()


def _set_budget(page: Page) -> None:
    page.get_by_role("button", name="Set a budget").click()
    dialog = page.get_by_role("dialog")
    _fill(dialog, "Most", "0.01")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_have_count(0)
    expect(page.locator(".st-key-budgets")).to_contain_text("$0.0100 a month")


def _fill(dialog: Locator, label: str, number: str) -> None:
    dialog.get_by_role("spinbutton", name=label, exact=True).fill(number)
