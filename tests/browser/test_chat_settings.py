"""A chat has settings of its own, by mouse and keyboard, on a wide screen and on a phone: they are
told where they make no sense, sent, kept over a reload, and begin a chat from a link.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser import driver
from tests.browser.serving import ROOT, App
from tests.servers.openai_server import Answer, OpenAIServer, answer_from_passages

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
    box = page.get_by_test_id("stChatInputTextArea")
    box.click()
    page.keyboard.press("@")
    field = page.get_by_test_id("stPopoverBody").get_by_role("combobox")
    expect(field).to_be_focused()
    page.keyboard.type(name)
    page.keyboard.press("Enter")
    expect(page.get_by_text(f"Next question: {name}")).to_be_visible()
    driver.settled(page)
    _close_list(page)
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("stPopoverBody")).to_have_count(0)
    expect(box).to_have_value("")


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
    driver.settled(page)
    link = page.url
    assert "temperature=0.2" in link

    _mention(page, "water <b>*1*.txt")
    turn = driver.ask(page, "When does the last ferry leave?")
    driver.answered(page, turn)
    sent = [body for body in server.chats if "seed" not in body][-1]
    assert sent["temperature"] == 0.2
    assert "Answer in French." in sent["messages"][0]["content"]
    assert "21:40" not in sent["messages"][0]["content"]
    expect(turn.get_by_text("refuses the seed: it is asked without it")).to_be_visible()

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
    dialog = _open_settings(phone)
    expect(dialog.get_by_role("textbox", name="Instructions")).to_have_value("Answer in French.")
    dialog.get_by_role("button", name="Back to defaults").click()
    expect(dialog.get_by_role("textbox", name="Instructions")).to_have_value("")
    dialog.get_by_role("button", name="Done").click()
    expect(phone.get_by_text(SHOWN)).to_have_count(0)
    _mention(phone, "harbour <b>*1*.txt")
    assert phone.evaluate("() => document.documentElement.scrollWidth") <= 390
    phone.close()
