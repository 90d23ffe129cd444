"""What is asked again and what may be asked next, by keyboard and by mouse, wide and on a phone."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser import driver
from tests.browser.axe import violations
from tests.browser.serving import App

TEA = (
    "# Steeping\n\nGreen tea is steeped at 80 degrees.\n\n"
    "# Storing leaves\n\nLeaves are kept in the dark, in a tin.\n\n"
    "# Origin\n\nIts origin: green tea is grown in China and Japan.\n"
)
ASKED = "Where is green tea grown, in English?"
_NO_WIDER = "() => document.documentElement.scrollWidth <= window.innerWidth"


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
    box = page.get_by_test_id("stChatInputTextArea")
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

    page.set_viewport_size({"width": 390, "height": 844})
    chip = page.get_by_role("button", name="What is said about “Storing leaves”?")
    expect(chip).to_be_visible()
    assert page.evaluate(_NO_WIDER)
    assert violations(page, "follow-ups") == []
    chip.press("Enter")
    kept = page.locator("[class*='st-key-turn-']").filter(has_text="kept in the dark").last
    driver.answered(page, kept)
    driver.settled(page)
    box.press("/")
    _fill_in(page, "green tea")
    dialog.get_by_role("button", name="Ask", exact=True).press("Enter")
    expect(dialog).to_have_count(0)
    expect(page.locator("[class*='st-key-turn-']").filter(has_text=ASKED)).to_have_count(2)
    expect(box).to_have_value("")
