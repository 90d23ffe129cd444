"""What cannot be taken in says why, and never takes the rest with it; files of a chat stay in that
chat.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page

from tests.browser import driver, papers
from tests.browser.expecting import expect
from tests.browser.serving import App, free_port
from tests.documents.makers import pdf

pytestmark = pytest.mark.walk

FAILED = {
    "locked.pdf": "password",
    "empty.txt": "empty",
    "photo.png": "photo.png",
}
"""Names of files that cannot be taken in, and a word that the reason must have."""


def test_bad_files_fail_with_a_reason_and_good_ones_are_indexed(app: App, page: Page) -> None:
    page.goto(f"{app.url}/documents")
    driver.add_files(
        page,
        [
            driver.file("locked.pdf", pdf(["Nobody reads this."], password="secret")),
            driver.file("empty.txt", b""),
            driver.file("photo.png", b"\x89PNG\r\n\x1a\n and then nothing that a picture has"),
            driver.file("ferry.docx", papers.ferry_docx()),
        ],
    )
    summary = page.locator("[class*='st-key-ingested-']")
    expect(summary).to_contain_text("1 added, 3 failed")
    _reasons_are_told(page)

    page.get_by_role("button", name="Retry 3 failed").click()
    expect(summary).not_to_contain_text("added")  # it says so of the first time until it is retried
    expect(summary).to_contain_text("3 failed")
    driver.settled(page)
    _reasons_are_told(page)

    _a_loopback_address_is_refused(page)
    _an_attached_file_stays_in_its_chat(page)


def _reasons_are_told(page: Page) -> None:
    """In the table, which may be a moment behind the summary."""
    rows = page.get_by_test_id("stDataFrame").first.locator("tbody tr")

    def cell(name: str, column: int) -> Locator:
        return rows.filter(has_text=name).locator("td").nth(column)

    expect(cell("ferry.docx", 1)).to_have_text("indexed")
    expect(cell("ferry.docx", 2)).to_have_text("")
    for name, word in FAILED.items():
        expect(cell(name, 1)).to_have_text("failed")
        expect(cell(name, 2)).to_have_text(re.compile(f"(?=.*{re.escape(word)}).{{31,}}"))


def _a_loopback_address_is_refused(page: Page) -> None:
    folded = page.locator(".st-key-add")
    if not folded.get_by_role("tab", name="A web address").is_visible():
        driver.unfold(folded, "Add documents")
    folded.get_by_role("tab", name="A web address").click()
    address = f"http://127.0.0.1:{free_port()}/secret.html"
    page.get_by_role("textbox", name="Web address").fill(address)
    folded.locator(".st-key-add-web button").click()
    refusal = page.locator("#stMain [data-testid='stAlert'], #stMain li").filter(
        has_text="AGENTKIT_ALLOW_PRIVATE_URLS"
    )
    expect(refusal.first).to_contain_text("127.0.0.1")


def _an_attached_file_stays_in_its_chat(page: Page) -> None:
    driver.go(page, "Chat")
    page.get_by_test_id("stChatInput").locator("input[type=file]").first.set_input_files(
        driver.file("kettle.pdf", papers.kettle_pdf())
    )
    expect(page.get_by_test_id("stChatInput")).to_contain_text("kettle.pdf")
    # Nothing is sent before the file has come; Enter is passed over until then.
    expect(page.get_by_role("button", name="Send message")).to_be_enabled()
    turn = driver.ask(page, papers.WARRANTY_QUESTION)
    driver.answered(page, turn)
    expect(turn).to_contain_text("kettle.pdf (for this chat only)")
    expect(turn).to_contain_text(f"{papers.WARRANTY} [1]")

    page.get_by_role("button", name="New chat").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Chat")
    turn = driver.ask(page, papers.WARRANTY_QUESTION)
    driver.answered(page, turn)
    expect(turn).not_to_contain_text("41 months")

    driver.go(page, "Documents")
    assert "kettle.pdf" not in {cells[0] for cells in driver.table(page)}
    page.get_by_role("combobox", name="Collection").click()
    assert page.get_by_role("option").all_inner_texts() == ["Documents"]
