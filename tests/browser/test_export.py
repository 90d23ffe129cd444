"""A chat leaves the app as a file and comes back, by mouse and by keyboard, wide and on a phone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page

from tests.browser import driver, papers
from tests.browser.axe import violations
from tests.browser.expecting import expect
from tests.browser.serving import App
from tests.servers.openai_server import Answer, OpenAIServer

pytestmark = pytest.mark.walk

SIGN = "<img src=x onerror=alert(1)>"
ANSWER = f"The last ferry leaves at **21:40** [1].\n\n{SIGN} and $t_0 = 5$.\n"
_NO_WIDER = "() => document.documentElement.scrollWidth <= window.innerWidth"


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(lambda body: Answer(ANSWER)) as running:
        yield running


def _download(page: Page, form: str, folder: Path) -> Path:
    """Export the open chat in a form; gives the file that came."""
    page.get_by_role("button", name="Export", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("radio", name=form).click()
    expect(dialog.get_by_role("radio", name=form)).to_be_checked()
    driver.settled(page)
    with page.expect_download() as coming:
        dialog.get_by_role("link", name="Download").click()
    path = folder / coming.value.suggested_filename
    coming.value.save_as(path)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    return path


def _look_at(browser: Browser, file: Path, width: int, scheme: Literal["light", "dark"]) -> None:
    """Open an exported page as a file: it reads well, and asks nobody for anything."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=True
    )
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: asked.append(dialog.message))
    page.goto(file.as_uri())
    expect(page.get_by_text(SIGN)).to_be_visible()
    page.get_by_role("link", name="[1]").click()
    expect(page.locator("#source-1-1")).to_be_in_viewport()
    expect(page.locator("#source-1-1")).to_contain_text("ferry.docx")
    assert page.evaluate(_NO_WIDER)
    assert asked == [file.as_uri()]
    context.close()


def test_a_chat_goes_out_and_comes_back(
    app: App, page: Page, browser: Browser, tmp_path: Path
) -> None:
    page.goto(f"{app.url}/documents")
    driver.add_files(page, [driver.file("ferry.docx", papers.ferry_docx())])
    driver.go(page, "Chat")
    driver.answered(page, driver.ask(page, papers.FERRY_QUESTION))

    text = _download(page, "Markdown", tmp_path)
    assert text.suffix == ".md"
    assert "[^1]: ferry" in text.read_text(encoding="utf-8")
    shown = _download(page, "Web page", tmp_path)
    _look_at(browser, shown, 1400, "light")
    _look_at(browser, shown, 390, "dark")
    whole = _download(page, "JSON", tmp_path)
    assert whole.name.endswith(".chat.json")

    driver.resize(page, 390, 844)
    page.get_by_test_id("stExpandSidebarButton").click()
    opens = page.get_by_role("button", name="Import a chat")
    opens.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Import", exact=True)).to_be_visible()
    assert page.evaluate(_NO_WIDER)
    uploader = dialog.locator("input[type=file]")
    driver.upload(uploader, driver.file("cut.json", whole.read_bytes()[:-100]))
    dialog.get_by_role("button", name="Import", exact=True).press("Enter")
    expect(dialog.get_by_role("alert")).to_contain_text("was cut off")
    newer = whole.read_text(encoding="utf-8").replace('"version": 1', '"version": 2', 1)
    driver.upload(uploader, driver.file("newer.json", newer))
    dialog.get_by_role("button", name="Import", exact=True).press("Enter")
    expect(dialog.get_by_role("alert")).to_contain_text("written by a newer version")
    dialog.get_by_role("button", name="Remove newer.json").press("Enter")
    expect(dialog.get_by_text("newer.json", exact=True)).to_have_count(0)
    with (tmp_path / "giga.json").open("wb") as sparse:
        sparse.truncate(1 << 30)
    uploader.set_input_files(tmp_path / "giga.json")
    expect(dialog.get_by_text("File must be 200.0MB or smaller")).to_be_attached()
    driver.settled(page)
    dialog.get_by_role("button", name="Import", exact=True).press("Enter")
    expect(dialog.get_by_text("choose one that Export wrote as JSON, of at most")).to_be_visible()
    assert violations(page, "import") == []
    dialog.get_by_role("button", name="Remove giga.json").press("Enter")
    expect(dialog.get_by_text("File must be 200.0MB or smaller")).to_have_count(0)
    driver.upload(uploader, driver.file("tea.json", whole.read_bytes()))
    expect(dialog.get_by_role("alert")).to_have_count(0)
    dialog.get_by_role("button", name="Import", exact=True).press("Enter")
    expect(dialog).to_have_count(0)
    turn = page.locator("[class*='st-key-turn-']").filter(has_text=papers.FERRY_QUESTION)
    expect(turn).to_contain_text("The last ferry leaves at 21:40")
    expect(turn).to_contain_text(SIGN)
    rows = page.locator("[class*='st-key-chat-row-']")
    expect(rows).to_have_count(2)
