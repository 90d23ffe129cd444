"""What a person does on the Teams page, step by step, and a script of a team run as they run it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playwright.sync_api import Error, Locator, Page

from tests.browser import driver
from tests.browser.expecting import expect
from tests.browser.serving import ROOT, App
from tests.servers.openai_server import OpenAIServer

Said = list[tuple[Any, Any]]
"""What a model was told, request by request: messages and tools."""
_TRY_MS = 5000


def begin(page: Page, template: str) -> None:
    """Begin a team with a template."""
    page.get_by_role("button", name="New team").click()
    page.get_by_role("button", name=f"{template}:").click()
    expect(page.get_by_role("heading", name=template, level=1)).to_be_visible()
    driver.settled(page)


def field(part: Page | Locator, label: str) -> Locator:
    return part.get_by_role("textbox", name=label, exact=True)


def enter(box: Locator, text: str) -> None:
    """Type into a field and leave it."""
    box.fill(text)
    box.blur()
    driver.settled(box.page)


def fill(page: Page, label: str, text: str) -> None:
    enter(field(page, label), text)


def choose(part: Page | Locator, label: str, option: str) -> None:
    """Choose an option, however often its list closes: it does when the page is drawn anew."""
    box = part.get_by_role("combobox", name=re.compile(f"{label}$"))
    offered = box.page.get_by_role("option", name=option)
    for _ in range(10):
        driver.settled(box.page)
        try:
            box.scroll_into_view_if_needed(timeout=_TRY_MS)  # else the list may open out of sight
            box.press("ArrowDown", timeout=_TRY_MS)  # a click may scroll, which closes the options
            offered.click(timeout=_TRY_MS)
            break
        except Error:  # it was drawn anew meanwhile
            continue
    else:
        raise AssertionError(f"{option} cannot be chosen for {label}")
    driver.settled(box.page)


def leave_only(part: Locator, names: Sequence[str]) -> None:
    """Take all but these out of a field of names."""
    chosen = part.get_by_role("button", name=re.compile("^Remove "))
    given = [text.removeprefix("Remove ") for text in _labels(chosen)]
    for name in given:
        if name not in names:
            part.get_by_role("button", name=f"Remove {name}", exact=True).click()
            driver.settled(part.page)


def _labels(buttons: Locator) -> list[str]:
    labels: list[str] = buttons.evaluate_all(
        "all => all.map(one => one.getAttribute('aria-label'))"
    )
    return labels


def press(part: Page | Locator, name: str) -> None:
    part.get_by_role("button", name=name, exact=True).click()


def switch(part: Locator, label: str) -> None:
    """Turn a switch."""
    part.locator("label").filter(has_text=label).click()
    driver.settled(part.page)


def row(page: Page, place: int) -> Locator:
    """The folded row of an agent."""
    return page.locator(f"[class*='-row-agents-{place}']").first


def try_it(page: Page) -> None:
    press(page, "Try")


def save_and_use(page: Page) -> None:
    press(page, "Save")
    expect(page.get_by_text("Saved as version 1.")).to_be_visible()
    press(page, "Use in a chat")
    page.get_by_test_id("stChatInputTextArea").wait_for()
    driver.settled(page)


def take_away(page: Page, label: str) -> str:
    """The file of a button below Export."""
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as given:
        page.get_by_role("button", name=label).click()
    page.keyboard.press("Escape")
    return Path(given.value.path()).read_text(encoding="utf-8")


def take_requests(server: OpenAIServer) -> Said:
    """What the models were told since this was asked last."""
    asked = [(one.body["messages"], one.body.get("tools")) for one in server.requests]
    server.requests.clear()
    return asked


def run_script(script: str, question: str, app: App, server: OpenAIServer, typed: str = "") -> str:
    """What the script prints, started as a person starts it in a shell; `typed` is what they
    answer.
    """
    file = app.data.with_name("team.py")
    file.write_text(script, encoding="utf-8")
    known = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    model = {"OPENAI_BASE_URL": server.base_url, "OPENAI_MODEL": "test-model"}
    home = {"AGENTKIT_DATA": str(app.data), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, str(file), question],
        input=typed,
        env={**known, **model, **home},
        cwd=file.parent,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
