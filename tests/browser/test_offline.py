"""The main job without any model server: documents in, questions, citations at their place,
deletion, what it took.
"""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page

from tests.browser import driver, papers
from tests.browser.expecting import expect
from tests.browser.serving import App

REFUSES = """() => {
    Object.defineProperty(navigator, "clipboard", { value: undefined });
    document.execCommand = () => false;
}"""
"""A page that did not come by https, in a browser that then lets nobody copy."""


def test_documents_are_asked_cited_deleted_and_counted(app: App, page: Page) -> None:
    page.goto(app.url)
    expect(page.get_by_text("There are no documents yet.")).to_be_visible()
    page.get_by_role("link", name="Add your documents").click()
    _add_two_documents(page)

    driver.go(page, "Chat")
    _first_answer_opens_its_page(page)
    first_chat = page.url
    _first_answer_is_copied(page)
    turn = driver.ask(page, papers.FERRY_QUESTION)
    driver.answered(page, turn)
    expect(turn).to_contain_text(papers.FERRY)
    expect(turn.get_by_role("radio", name="[1] ferry.docx")).to_be_visible()

    driver.go(page, "Documents")
    _delete_the_kettle(page)
    driver.go(page, "Chat")
    driver.new_chat(page)
    turn = driver.ask(page, papers.WARRANTY_QUESTION)
    driver.answered(page, turn)
    expect(turn).not_to_contain_text("41 months")
    expect(turn).not_to_contain_text("kettle.pdf")

    page.goto(first_chat)
    turn = page.locator("[class*='st-key-turn-']").filter(has_text=papers.WARRANTY)
    turn.locator("a[href^='#cite-']").click()
    source = page.locator(".st-key-source")
    expect(source).to_contain_text("This document was deleted.")
    expect(source.locator("mark").filter(has_text=papers.WARRANTY)).to_be_visible()
    expect(source.locator("img")).to_have_count(0)

    driver.go(page, "Usage")
    _three_chat_calls(page)


def _add_two_documents(page: Page) -> None:
    page.locator(".st-key-add-first input[type=file]").first.set_input_files(
        [
            driver.file("kettle.pdf", papers.kettle_pdf()),
            driver.file("ferry.docx", papers.ferry_docx()),
        ]
    )
    page.get_by_role("button", name="Add 2 documents to Documents").click()
    page.get_by_text("Taking in 2 documents into Documents").wait_for()
    page.get_by_role("progressbar").wait_for()
    expect(page.locator("[class*='st-key-ingested-']")).to_contain_text("2 added")
    rows = page.get_by_test_id("stDataFrame").first.locator("tbody tr")
    expect(rows.locator("td", has_text=re.compile("^indexed$"))).to_have_count(2)
    assert {(cells[0], cells[1]) for cells in driver.table(page)} == {
        ("kettle.pdf", "indexed"),
        ("ferry.docx", "indexed"),
    }


def _first_answer_opens_its_page(page: Page) -> None:
    turn = driver.ask(page, papers.WARRANTY_QUESTION)
    took = driver.what_it_took(page, turn)
    expect(turn).to_contain_text(f"{papers.WARRANTY} [1]")
    assert re.search(r"about [\d,]+ tokens in, [\d,]+ out · free, on this machine · [\d.]+ s", took)
    turn.locator("a[href^='#cite-']").first.click()
    source = page.locator(".st-key-source")
    expect(source).to_contain_text("[1] kettle.pdf, p. 3")
    expect(source.locator("mark.sentence")).to_have_text(papers.WARRANTY)
    picture = source.get_by_role("img", name="Page 3 of kettle.pdf, the passage marked")
    expect(picture).to_be_visible()
    assert picture.evaluate("picture => picture.decode().then(() => picture.naturalWidth)") == 1_000
    expect(source).to_contain_text("Page 3 of 4")


def _delete_the_kettle(page: Page) -> None:
    driver.select_row(page, "kettle.pdf")
    page.get_by_role("button", name="Delete selected").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("kettle.pdf")
    dialog.get_by_role("button", name="Delete", exact=True).click()
    expect(dialog).to_have_count(0)
    expect(page.get_by_text("1 document, ", exact=False).first).to_be_visible()
    expect(page.get_by_test_id("stDataFrame").first.locator("tbody tr")).to_have_count(1)
    assert [cells[0] for cells in driver.table(page)] == ["ferry.docx"]


def _three_chat_calls(page: Page) -> None:
    """Three questions were asked; the file has the same calls as the page."""
    embedding = int(driver.metric(page, "Calls")) - 3
    for purpose, calls in (("embedding", embedding), ("chat", 3)):
        page.goto(f"{page.url.split('?')[0]}?purpose={purpose}")
        expect(driver.find_metric(page, "Calls")).to_have_text(str(calls))
    page.get_by_role("tab", name="Calls").click()
    expect(page.get_by_test_id("stDataFrame").locator("tbody tr")).to_have_count(3)
    with page.expect_download() as started:
        page.get_by_role("link", name="Export the calls as CSV").click()
    lines = Path(started.value.path()).read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + 3
    assert started.value.suggested_filename.endswith(".csv")


def _first_answer_is_copied(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    copy = page.get_by_role("button", name="Copy the answer").first
    copy.click()
    expect(page.get_by_role("status").filter(has_text="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert papers.WARRANTY in copied
    assert "[^1]: kettle.pdf, p. 3" in copied
    page.evaluate(REFUSES)
    copy.click()
    expect(page.get_by_role("status").filter(has_text="Not copied")).to_be_visible()
    expect(copy).to_be_focused()
