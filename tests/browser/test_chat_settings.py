"""A chat has settings of its own, by mouse and keyboard, on a wide screen and on a phone: they are
told where they make no sense, sent, kept over a reload, and begin a chat from a link. What the next
answer will take is told before it is asked.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page

from tests.browser import driver
from tests.browser.expecting import expect
from tests.browser.serving import ROOT, App
from tests.servers.openai_server import Answer, OpenAIServer, answer_from_passages

pytestmark = pytest.mark.walk

SHOWN = "also Water, instructions, temperature 0.2, seed 7"


def _refuse_seed(body: dict[str, Any]) -> Answer:
    if "seed" in body:
        return Answer(status=400, error={"message": "Unsupported parameter: 'seed'"})
    return answer_from_passages(body)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(_refuse_seed) as running:
        yield running


@pytest.fixture
def stocked(app: App, tmp_path: Path) -> App:
    """Two collections, taken in beside the app."""
    texts = {"Harbour": "The last ferry leaves at 21:40.", "Water": "The Danube is 2,850 km long."}
    for collection, text in texts.items():
        path = tmp_path / f"{collection.lower()} <b>*1*.txt"
        path.write_text(text)
        command = [sys.executable, "-m", "agentkit", "ingest", str(path)]
        environment = {**os.environ, "AGENTKIT_DATA": str(app.data)}
        subprocess.run(
            [*command, "--collection", collection], cwd=ROOT, env=environment, check=True
        )
    return app


def _open_settings(page: Page) -> Locator:
    driver.settled(page)
    page.get_by_role("button", name="Chat settings", exact=True).focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("textbox", name="Temperature")).to_be_visible()
    return dialog


def _close_list(page: Page) -> None:
    """Close the list of a field, in which several are chosen."""
    expect(page.get_by_role("listbox")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("listbox")).to_have_count(0)


def _type(dialog: Locator, field: str, text: str) -> None:
    dialog.get_by_role("textbox", name=field).fill(text)
    dialog.get_by_role("textbox", name=field).press("Tab")
    driver.settled(dialog.page)


def _mention(page: Page, name: str) -> None:
    """Choose a document by the keyboard alone."""
    box = driver.find_box(page)
    box.click()
    page.keyboard.press("@")
    field = page.get_by_test_id("stPopoverBody").get_by_role("combobox")
    expect(field).to_be_focused()
    page.keyboard.type(name)
    page.keyboard.press("Enter")
    expect(page.get_by_text(f"Next question: {name}")).to_be_visible()
    driver.settled(page)
    _close_list(page)
    _leave_choice(page)
    expect(box).to_have_value("")


def _leave_choice(page: Page) -> None:
    """One goes on where @ was pressed."""
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("stPopoverBody")).to_have_count(0)
    expect(page.get_by_test_id("stChatInputTextArea")).to_be_focused()


def _read_forecast(page: Page, wanted: str) -> str:
    """What the meter tells when it is unfolded; what is typed is known there a moment later.

    A robot is fast enough to press before the page has answered that it was folded: Streamlit has
    unfolded it again by then, and the press folds it.
    """
    body = page.get_by_test_id("stPopoverBody")
    told = ""
    for _ in range(20):
        page.locator(".st-key-context button").first.press("Enter")
        try:
            expect(body).to_contain_text("The next request: about ", timeout=10_000)
        except AssertionError:
            page.keyboard.press("Escape")
            expect(body).to_have_count(0)
            continue
        driver.settled(page)
        told = body.inner_text()
        page.keyboard.press("Escape")
        expect(body).to_have_count(0)
        driver.settled(page)  # that it was closed is told before it is opened again
        if re.search(wanted, told):
            break
    return told


def _narrow(page: Page) -> None:
    """Let the chat look into plain text only, by the keyboard."""
    driver.settled(page)
    page.get_by_role("button", name="Narrow", exact=True).press("Enter")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("combobox", name="File types").press("ArrowDown")
    page.get_by_role("option", name="TXT").click()
    driver.settled(page)
    _close_list(page)
    dialog.get_by_role("button", name="Done").press("Enter")
    expect(dialog).to_have_count(0)
    expect(page.get_by_text("Only: TXT")).to_be_visible()


def test_what_a_chat_is_set_to_is_sent_kept_and_linked(
    stocked: App, page: Page, server: OpenAIServer, browser: Browser
) -> None:
    page.goto(f"{stocked.url}/?collection=Harbour&seed=7&temperature=hot")
    expect(page.get_by_text("Left out of this link")).to_contain_text("temperature hot")
    dialog = _open_settings(page)
    dialog.get_by_role("combobox", name="Also look into").click()
    page.get_by_role("option", name="Water").click()
    driver.settled(page)
    _close_list(page)
    _type(dialog, "Instructions", "Answer in French.")
    _type(dialog, "Temperature", "99")
    expect(dialog.get_by_role("alert")).to_contain_text("must be a number from 0 to 2")
    _type(dialog, "Temperature", "0.2")
    expect(dialog.get_by_role("alert")).to_have_count(0)
    dialog.get_by_role("button", name="Done").click()
    expect(page.get_by_text(SHOWN)).to_be_visible()
    _narrow(page)
    driver.settled(page)
    link = page.url
    assert "temperature=0.2" in link
    assert "narrow=" in link

    box = page.get_by_test_id("stChatInputTextArea")
    box.fill("ferry " * 500)
    told = _read_forecast(page, r"about [5-9]\d\d tokens")
    assert re.search(r"about [5-9]\d\d tokens as it is written", told)
    assert "is not known yet: that needs 5 earlier answers" in told
    box.fill("")

    _mention(page, "water <b>*1*.txt")
    turn = driver.ask(page, "When does the last ferry leave?")
    driver.answered(page, turn)
    box.press("@")  # and for the next question once more
    expect(page.get_by_test_id("stPopoverBody").get_by_role("combobox")).to_be_focused()
    _leave_choice(page)
    sent = [body for body in server.chats if "seed" not in body][-1]
    assert sent["temperature"] == 0.2
    assert "Answer in French." in sent["messages"][0]["content"]
    assert "21:40" not in sent["messages"][0]["content"]
    expect(turn.get_by_text("refuses the seed: it is asked without it")).to_have_count(1)

    page.reload()
    expect(page.get_by_text(SHOWN)).to_be_visible()
    turn = driver.ask(page, "And when exactly does the last ferry leave?")
    driver.answered(page, turn)
    expect(page.get_by_text("refuses the seed")).to_have_count(1)
    assert "Harbour: harbour" in server.chats[-1]["messages"][0]["content"]
    assert sum("seed" in body for body in server.chats) == 1
    expect(turn.get_by_text("Harbour")).not_to_have_count(0)

    phone = browser.new_page(viewport={"width": 390, "height": 800})
    phone.goto(link)
    expect(phone.get_by_text(SHOWN)).to_be_visible()
    expect(phone.get_by_text("Only: TXT")).to_be_visible()
    dialog = _open_settings(phone)
    expect(dialog.get_by_role("textbox", name="Instructions")).to_have_value("Answer in French.")
    dialog.get_by_role("button", name="Back to defaults").click()
    expect(dialog.get_by_role("textbox", name="Instructions")).to_have_value("")
    dialog.get_by_role("button", name="Done").click()
    expect(phone.get_by_text(SHOWN)).to_have_count(0)
    dialog = _open_settings(phone)
    dialog.get_by_role("textbox", name="Most tokens of a reply").fill("300")
    phone.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    dialog = _open_settings(phone)
    dialog.get_by_role("combobox", name="Reasoning effort").press("ArrowDown")
    phone.get_by_role("option", name="Low").click()
    driver.settled(phone)
    dialog.get_by_role("button", name="Done").press("Enter")
    expect(phone.get_by_text("most tokens of a reply 300, reasoning effort low")).to_be_visible()
    _mention(phone, "harbour <b>*1*.txt")
    assert phone.evaluate("() => document.documentElement.scrollWidth") <= 390
    for number in range(3):
        driver.answered(phone, driver.ask(phone, f"When does ferry {number} leave?"))
    sent = server.chats[-1]
    assert (sent["max_tokens"], sent["reasoning_effort"]) == (300, "low")
    expected = re.compile(r"about \d( to \d)? calls? expected")
    expect(phone.locator(".st-key-context")).to_contain_text(expected)
    assert "as the middle half of the last 5 answers" in _read_forecast(phone, "middle half")
    turn = driver.ask(phone, "When does the last ferry leave?")
    assert "forecast" in driver.what_it_took(phone, turn)
    phone.close()
