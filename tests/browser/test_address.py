"""The page follows to the chat that was begun, whatever the browser sends before it knows it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page

from tests.browser import driver, papers
from tests.browser.expecting import expect
from tests.browser.line import Line
from tests.browser.serving import App

pytestmark = pytest.mark.usefixtures("ferry")

SLOW = """() => {  // what the server sends comes late, while `late` is set, and always in its order
    const real = Object.getOwnPropertyDescriptor(WebSocket.prototype, "onmessage");
    let before = Promise.resolve();
    const wait = (deliver) => (event) => {
        const due = performance.now() + (window.late ?? 0);
        const sleep = (done) => setTimeout(done, Math.max(0, due - performance.now()));
        before = before.then(() => new Promise(sleep)).then(() => deliver(event));
    };
    Object.defineProperty(WebSocket.prototype, "onmessage", {
        ...real, set(deliver) { real.set.call(this, deliver && wait(deliver)); },
    });
    const listen = WebSocket.prototype.addEventListener;
    WebSocket.prototype.addEventListener = function (kind, deliver, ...rest) {
        return listen.call(this, kind, kind === "message" ? wait(deliver) : deliver, ...rest);
    };
}"""


def test_what_is_done_before_the_new_address_has_come_does_not_lead_back(
    app: App, page: Page
) -> None:
    page.add_init_script(f"({SLOW})()")
    driver.open_app(page, app)
    page.evaluate("() => { window.late = 1500; }")
    box = page.get_by_test_id("stChatInputTextArea")
    box.fill(papers.FERRY_QUESTION)
    box.press("Enter")
    expect(box).to_have_value("")
    driver.open_search(page)
    page.get_by_label("Words to search for").fill("no chat")
    page.keyboard.press("Escape")
    assert "chat=" not in page.url
    turn = page.locator("[class*='st-key-turn-']").filter(has_text=papers.FERRY_QUESTION)
    expect(turn).to_have_count(1)
    expect(page).to_have_url(re.compile("chat="))
    page.evaluate("() => { window.late = 0; }")
    driver.answered(page, turn)
    driver.new_chat(page)
    expect(turn).to_have_count(0)
    page.go_back()
    expect(turn).to_have_count(1)
    page.go_back()
    expect(turn).to_have_count(0)
    expect(page).not_to_have_url(re.compile("chat="))


def test_what_is_set_before_the_new_address_has_come_stays(app: App, page: Page) -> None:
    line = Line(page)
    page.goto(f"{app.url}/?temperature=0.2")
    driver.settled(page)
    field = _open_settings(page)
    field.fill("300")
    field.press("Tab")
    driver.settled(page)
    line.is_held = True
    page.get_by_role("button", name="Done").click()
    line.send_until("page_info_changed", "script_finished")
    page.keyboard.press("Escape")  # as it does not close
    line.release()
    expect(page.get_by_role("dialog")).to_have_count(0)
    driver.settled(page)
    expect(_open_settings(page)).to_have_value("300")
    expect(page).to_have_url(re.compile("temperature=0.2.*max_tokens=300"))


def _open_settings(page: Page) -> Locator:
    page.get_by_role("button", name="Chat settings", exact=True).click()
    return page.get_by_role("dialog").get_by_label("Most tokens of a reply")
