"""Teams built from nothing by forms: seen, tried, saved, used in a chat, and taken away."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser import driver
from tests.browser.axe import violations
from tests.browser.serving import App
from tests.servers.openai_server import Answer, OpenAIServer

TEA = "# Steeping\n\nGreen tea is steeped at 80 degrees.\n\n# Storing\n\nLeaves are kept in a tin."
ANSWER = "Green tea is steeped at 80 degrees [1]."
_NO_WIDER = "() => document.documentElement.scrollWidth <= window.innerWidth"


def speak(body: dict[str, Any]) -> Answer:
    """What the agents of both teams say."""
    asked = json.dumps(body["messages"], ensure_ascii=False)
    if "ballot" in asked:
        return Answer(json.dumps({"thought": "I am sure.", "ballot": "80 degrees"}))
    if "agreed" in asked:
        return Answer(json.dumps({"thought": "Hm.", "speak": "80 degrees.", "agreed": True}))
    return Answer(ANSWER)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(speak) as running:
        yield running


def begin(page: Page, template: str) -> None:
    """Begin a team with a template."""
    page.get_by_role("button", name="New team").click()
    page.get_by_role("button", name=f"{template}:").click()
    expect(page.get_by_role("heading", name=template, level=1)).to_be_visible()
    driver.settled(page)


def field(page: Page, label: str) -> Locator:
    return page.get_by_role("textbox", name=label, exact=True)


def fill(page: Page, label: str, text: str) -> None:
    """Type into a field and leave it."""
    field(page, label).fill(text)
    field(page, label).blur()
    driver.settled(page)


def choose(page: Page, label: str, option: str) -> None:
    box = page.get_by_role("combobox", name=re.compile(f"{label}$"))
    box.press("ArrowDown")  # a click may scroll the page, and that closes the options
    page.get_by_role("option", name=option).click()
    driver.settled(page)


def try_it(page: Page) -> None:
    page.get_by_role("button", name="Try", exact=True).click()


def save_and_use(page: Page) -> None:
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved as version 1.")).to_be_visible()
    page.get_by_role("button", name="Use in a chat").click()
    page.get_by_test_id("stChatInputTextArea").wait_for()
    driver.settled(page)


def take_away(page: Page, label: str) -> str:
    """The file of a button below Export."""
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as given:
        page.get_by_role("button", name=label).click()
    page.keyboard.press("Escape")
    return Path(given.value.path()).read_text(encoding="utf-8")


def test_teams_are_built_tried_saved_used_and_exported(app: App, page: Page) -> None:
    page.goto(f"{app.url}/documents")
    driver.add_files(page, [driver.file("tea.md", TEA)])
    driver.go(page, "Teams")

    begin(page, "RetrieveChat")
    fill(page, "Name", "Tea readers")
    expect(page.get_by_role("heading", name="Tea readers", level=1)).to_be_visible()
    expect(page.locator("[data-testid=stGraphVizChart] svg")).to_contain_text("UPDATE CONTEXT")
    page.locator("label").filter(has_text="Update context").click()
    driver.settled(page)
    expect(page.locator("[data-testid=stGraphVizChart] svg")).not_to_contain_text("UPDATE")
    page.locator("label").filter(has_text="Update context").click()
    driver.settled(page)
    try_it(page)
    expect(page.get_by_text("(dry run) Here Assistant would answer.").first).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="Tea readers", level=1)).to_be_visible()
    driver.settled(page)
    assert violations(page, "a team") == []
    script = take_away(page, "Python script")
    assert "CollectionProxy" in script
    compile(script, "script.py", "exec")
    save_and_use(page)
    expect(page.locator(".st-key-choice")).to_contain_text("Tea readers")
    turn = driver.ask(page, "How hot is green tea?")
    driver.answered(page, turn)
    expect(turn).to_contain_text("Green tea is steeped at 80 degrees")
    expect(turn.locator("a[href^='#cite-']").first).to_be_visible()

    driver.go(page, "Teams")
    begin(page, "Structured discussion")
    driver.unfold(page.locator("#stMain"), "Vote")
    names = page.get_by_role("textbox", name="Name", exact=True)
    names.last.fill("ballot")
    names.last.blur()
    driver.settled(page)
    told = "a vote needs a field that is counted, and that the program is told"
    expect(page.get_by_text(told).first).to_be_visible()
    expect(page.get_by_role("button", name="Save", exact=True)).to_be_disabled()
    fill(page, "Counted", "ballot")
    expect(page.get_by_text(told)).to_have_count(0)
    choose(page, "Who speaks", "test-model")
    try_it(page)
    expect(page.get_by_text("(3 of 3 votes)")).to_be_visible()
    driver.settled(page)
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate(_NO_WIDER)
    page.set_viewport_size({"width": 1400, "height": 950})
    document = json.loads(take_away(page, "JSON"))
    assert document["flow"]["stages"][1]["counted"] == "ballot"
    save_and_use(page)
    turn = driver.ask(page, "How hot should it be?")
    driver.answered(page, turn)
    expect(turn).to_contain_text("80 degrees (3 of 3 votes)")
