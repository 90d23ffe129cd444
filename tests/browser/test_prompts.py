"""What is asked again and what may be asked next, by keyboard and by mouse, wide and on a phone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser import driver
from tests.browser.axe import violations
from tests.browser.expecting import expect
from tests.browser.serving import App
from tests.servers.openai_server import Answer, OpenAIServer, answer_from_passages

pytestmark = pytest.mark.walk

TEA = (
    "# Steeping\n\nGreen tea is steeped at 80 degrees.\n\n"
    "# Storing leaves\n\nLeaves are kept in the dark, in a tin.\n\n"
    "# Origin\n\nIts origin: green tea is grown in China and Japan.\n"
)
ASKED = "Where is green tea grown, in English?"
_NO_WIDER = "() => document.documentElement.scrollWidth <= window.innerWidth"


def _answer(body: dict[str, Any]) -> Answer:
    if "three questions" in str(body["messages"][0]):
        return Answer("What grows beside tea?\nWho drinks it?")
    return answer_from_passages(body)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(_answer) as running:
        yield running


def _choose_follow_ups(app: App, page: Page, way: str, kept: str) -> None:
    """By the settings, and back to the chat once that is kept, which nothing on the page tells."""
    driver.resize(page, 1400, 950)
    driver.go(page, "Settings")
    page.get_by_role("radio", name=way, exact=True).click()
    expect(page.get_by_role("radio", name=way, exact=True)).to_be_checked()
    chosen = app.data / "settings.json"
    for _ in range(600):
        if chosen.is_file() and f'"followups": "{kept}"' in chosen.read_text():
            break
        page.wait_for_timeout(100)
    assert f'"followups": "{kept}"' in chosen.read_text()
    driver.go(page, "Chat")
    driver.resize(page, 390, 844)


def _hears_keys(page: Page) -> None:
    """The dialog has the focus, or something in it does: else it would not hear Escape."""
    expect(page.locator("[role=dialog]:focus, [role=dialog] :focus")).to_have_count(1)


def _bring_back(page: Page) -> None:
    """Change the one prompt of the library, and bring back what it was, by the keyboard."""
    dialog = page.get_by_role("dialog")
    menu = dialog.get_by_role("button", name="Change Where from")
    menu.press("Enter")
    page.get_by_role("menuitem", name="Edit").press("Enter")
    text = dialog.get_by_role("textbox", name="Text")
    expect(text).to_be_visible()
    _hears_keys(page)
    text.fill("Nothing of it is left.")
    dialog.get_by_role("button", name="Save").press("Enter")
    expect(dialog.get_by_text("Nothing of it is left.")).to_be_visible()
    menu.press("Enter")
    page.get_by_role("menuitem", name="Versions").press("Enter")
    expect(dialog.get_by_text("Version 2, the latest")).to_be_visible()
    _hears_keys(page)
    dialog.get_by_role("button", name="Bring back").press("Enter")
    expect(dialog.get_by_text("Where is {{topic}} grown")).to_be_visible()
    driver.settled(page)


def _fill_in(page: Page, topic: str) -> None:
    """Choose the one prompt of the library by keyboard, and fill its variable in."""
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Where from", exact=True).press("Enter")
    field = dialog.get_by_role("textbox", name="topic")
    expect(field).to_be_visible()
    assert page.evaluate(_NO_WIDER)
    field.fill(topic)


def test_prompts_starters_and_follow_ups(app: App, page: Page) -> None:
    page.goto(f"{app.url}/documents")
    driver.add_files(page, [driver.file("tea.md", TEA)])
    driver.go(page, "Chat")

    page.get_by_role("button", name="What is said about “Origin”?").wait_for()
    page.get_by_role("button", name="Change these questions").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox").fill("How hot is green tea?")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("button", name="How hot is green tea?")).to_be_visible()

    page.get_by_role("button", name="Prompts").click()
    dialog.get_by_role("button", name="New prompt").click()
    dialog.get_by_role("textbox", name="Name").fill("Where from")
    dialog.get_by_role("textbox", name="Text").fill(
        "Where is {{topic}} grown, in {{language:English}}?"
    )
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("button", name="Where from", exact=True)).to_be_visible()
    assert violations(page, "prompts") == []
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)

    driver.settled(page)
    box = driver.find_box(page)
    box.press("/")
    expect(dialog).to_be_visible()
    _fill_in(page, "")
    dialog.get_by_role("button", name="Put into the field").press("Enter")
    expect(dialog.get_by_role("alert")).to_contain_text("Nothing is given for topic")
    dialog.get_by_role("textbox", name="topic").fill("green tea")
    dialog.get_by_role("button", name="Put into the field").press("Enter")
    expect(dialog).to_have_count(0)
    expect(box).to_have_value(ASKED)
    driver.settled(page)
    box.press("Enter")
    turn = page.locator("[class*='st-key-turn-']").filter(has_text=ASKED).last
    driver.answered(page, turn)

    driver.resize(page, 390, 844)
    chip = page.get_by_role("button", name="What is said about “Storing leaves”?")
    expect(chip).to_be_visible()
    assert page.evaluate(_NO_WIDER)
    assert violations(page, "follow-ups") == []
    chip.press("Enter")
    kept = page.locator("[class*='st-key-turn-']").filter(has_text="Storing leaves").last
    driver.answered(page, kept)
    driver.settled(page)
    box.press("/")
    _bring_back(page)
    _fill_in(page, "green tea")
    dialog.get_by_role("button", name="Ask", exact=True).press("Enter")
    expect(dialog).to_have_count(0)
    expect(page.locator("[class*='st-key-turn-']").filter(has_text=ASKED)).to_have_count(2)
    expect(box).to_have_value("")

    _choose_follow_ups(app, page, "Drafted by the model", "model")
    chips = page.locator(".st-key-followups")
    drafted = chips.get_by_role("button", name="What grows beside tea?")
    drafted.press("Enter")
    driver.answered(page, page.locator("[class*='st-key-turn-']").filter(has_text="beside").last)
    expect(drafted).to_be_visible()
    _choose_follow_ups(app, page, "Off", "off")
    expect(drafted).to_have_count(0)
    expect(box).to_be_visible()
