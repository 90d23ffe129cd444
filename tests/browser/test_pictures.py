"""A picture goes with a question: attached, pasted or a page of a document, seen small and whole,
wide and on a phone, and there again after a reload.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Page

from tests.browser import driver, papers
from tests.browser.axe import violations
from tests.browser.expecting import expect
from tests.browser.serving import App
from tests.servers.openai_server import Answer, OpenAIServer

pytestmark = pytest.mark.walk

_NO_WIDER = "() => document.documentElement.scrollWidth <= window.innerWidth"
_PASTE = """(field, [name, content]) => {
    const bytes = Uint8Array.from(atob(content), (one) => one.charCodeAt(0));
    const given = new DataTransfer();
    given.items.add(new File([bytes], name, { type: "image/png" }));
    const event = { clipboardData: given, bubbles: true, cancelable: true };
    field.dispatchEvent(new ClipboardEvent("paste", event));
}"""


def _see_by_day(body: dict[str, Any]) -> Answer:
    """Pictures are seen, but not at night."""
    if "night" in str(body["messages"][-1]) and shown(body):
        told = "Invalid content type: image_url is not supported by this model"
        return Answer(status=400, error={"message": told})
    return Answer("The kettle is red [1].")


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(_see_by_day) as running:
        yield running


def picture(colour: str, width: int = 400, height: int = 300) -> bytes:
    content = io.BytesIO()
    Image.new("RGB", (width, height), colour).save(content, "PNG")
    return content.getvalue()


def shown(body: dict[str, Any]) -> int:
    """How many pictures the last message of a request has."""
    return str(body["messages"][-1]["content"]).count("'image_url': {'url': 'data:image/")


def test_pictures_go_with_a_question_and_stay_with_it(
    app: App, page: Page, server: OpenAIServer
) -> None:
    page.goto(f"{app.url}/documents")
    driver.add_files(page, [driver.file("kettle.pdf", papers.kettle_pdf())])
    driver.go(page, "Chat")

    page.get_by_role("button", name="Pictures").click()
    field = page.get_by_test_id("stPopoverBody").locator("input[type=file]")
    field.set_input_files([driver.file("kettle.png", picture("red"))])
    tray = page.locator(".st-key-next-pictures")
    expect(tray.get_by_alt_text("kettle.png", exact=True)).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_text("1 picture: about").first).to_be_visible()
    page.reload()  # it waits where it was
    expect(tray.get_by_alt_text("kettle.png", exact=True)).to_be_visible()

    with page.expect_response(lambda answer: "/upload_file/" in answer.url):
        box = page.get_by_test_id("stChatInputTextArea")
        box.evaluate(_PASTE, ["pasted.png", base64.b64encode(picture("blue")).decode()])
    expect(page.get_by_test_id("stChatInput").get_by_text("pasted.png")).to_be_visible()
    driver.settled(page)
    turn = driver.ask(page, "Which colour has the kettle?")
    driver.answered(page, turn)
    assert shown(server.chats[-1]) == 2
    expect(tray).to_have_count(0)
    for name in ("kettle.png", "pasted.png"):
        expect(turn.get_by_alt_text(name, exact=True)).to_be_visible()
    assert not violations(page, "a question with pictures")

    page.set_viewport_size({"width": 390, "height": 844})
    page.reload()
    expect(turn.get_by_alt_text("pasted.png", exact=True)).to_be_visible()
    turn.get_by_role("button", name="Show kettle.png whole").press("Enter")
    expect(page.get_by_alt_text("kettle.png, whole")).to_be_visible()
    page.keyboard.press("Escape")
    assert page.evaluate(_NO_WIDER)

    driver.resize(page, 1400, 900)
    turn.locator("a[href^='#cite-']").first.click()
    page.get_by_role("button", name="Ask about this page").click()
    expect(tray.get_by_alt_text("kettle.pdf, p. ")).to_be_visible()
    driver.answered(page, driver.ask(page, "What stands on this page?"))
    assert shown(server.chats[-1]) == 1
    assert "kettle.png" in str(server.chats[-1]["messages"])

    driver.resize(page, 390, 844)
    driver.settled(page)
    field = page.get_by_test_id("stChatInput").locator("input[type=file]")
    large, small = picture("green", 10_000, 10_000), picture("green")
    field.set_input_files([driver.file("large.png", large), driver.file("small.png", small)])
    expect(page.get_by_test_id("stChatInput").get_by_text("small.png")).to_be_visible()
    driver.settled(page)
    box = page.get_by_test_id("stChatInputTextArea")
    box.fill("And at night?")
    box.press("Enter")
    told = page.get_by_role("alert").filter(has_text="large.png has 100 megapixels")
    expect(told).to_contain_text("Not asked: And at night?")
    assert page.evaluate(_NO_WIDER)
    page.get_by_role("button", name="Try again").press("Enter")
    turn = page.locator("[class*='st-key-turn-']").filter(has_text="And at night?").last
    driver.answered(page, turn)
    expect(turn.get_by_alt_text("small.png", exact=True)).to_be_visible()
    expect(turn.get_by_text("does not see pictures: it was told only")).to_be_visible()
    assert shown(server.chats[-1]) == 0
