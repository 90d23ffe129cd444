"""The retrieval lab in the browser: a search tried, compared, adopted and measured, another cut
promoted, a collection moved.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page

from tests.browser import driver
from tests.browser.expecting import PATIENCE_MS, expect
from tests.browser.serving import App, serving

pytestmark = pytest.mark.walk

QUESTION = "How many days of annual leave are there?"


@pytest.fixture(scope="module")
def samples(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """The app with the sample documents, which were loaded in the lab, where a newcomer finds
    nothing to search.
    """
    with serving(tmp_path_factory.mktemp("lab"), {}) as app:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto(f"{app.url}/retrieval_lab")
        page.get_by_role("button", name="Load the sample documents").click()
        expect(page.get_by_text("8 added")).to_be_visible()
        expect(page.get_by_text("Type what a person might ask")).to_be_visible()
        page.close()
        yield app


def test_settings_are_compared_and_chats_take_them_over(samples: App, page: Page) -> None:
    page.goto(f"{samples.url}/retrieval_lab?q={QUESTION}")
    expect(_shown(page, re.compile(r"^\d passages in \d+"))).to_have_count(1)
    page.get_by_text("Compare with other settings").click()
    expect(page.get_by_text("Both sides search alike")).to_be_visible()
    _set_side_b(page)
    expect(page.get_by_text(re.compile("of A are also among those of B"))).to_be_visible()
    expect(page.locator("[class*='st-key-hit-B-']")).to_have_count(2)
    expect(page.locator("[class*='st-key-hit-B-']").first).to_contain_text(
        re.compile("same rank|▲|▼|new")
    )
    page.get_by_role("button", name="Use these settings in chat").last.click()
    expect(page.get_by_text("Chats search Samples with these settings from now on")).to_be_visible()
    driver.go(page, "Chat")
    turn = driver.ask(page, QUESTION)
    driver.answered(page, turn)
    expect(turn).to_contain_text("27 days of paid annual leave")
    driver.unfold(turn, "Steps")
    expect(turn.get_by_text(re.compile(r"Looked up .*: 2 passages"))).to_be_visible()


def test_a_question_set_is_measured_and_again_when_another_cut_answers(
    samples: App, page: Page
) -> None:
    page.goto(f"{samples.url}/retrieval_lab?view=Measure")
    page.get_by_role("button", name="Make a set of the sample questions").click()
    page.get_by_role("button", name=re.compile(r"^Measure with \d+ questions$")).click()
    expect(page.get_by_role("heading", name="Results")).to_be_visible()
    assert float(driver.metric(page, "Recall@10")) > 0.9
    page.reload()
    expect(page.get_by_role("heading", name="Results")).to_be_visible()
    page.goto(f"{samples.url}/retrieval_lab?view=Index")
    tokens = page.get_by_role("spinbutton", name="Tokens in a chunk, at most")
    tokens.fill("100")
    tokens.press("Enter")
    build = page.get_by_role("button", name="Build this version")
    expect(build).to_be_enabled()
    build.click()
    expect(page.get_by_text("8 built")).to_be_visible()
    page.get_by_role("button", name="Use this version").click()
    page.get_by_role("dialog").get_by_role("button", name="Use it").click()
    expect(page.get_by_test_id("stAlert").filter(has_text="this answers now")).to_be_visible()
    expect(page.locator(".st-key-index-now")).to_contain_text("≤ 100")
    driver.go(page, "Documents")
    due = page.locator(".st-key-measure-due")
    expect(due).to_contain_text("Sample questions on Samples: another index version answers")
    due.get_by_role("button", name="Measure again").click()
    expect(due).to_have_count(0)
    page.goto(f"{samples.url}/retrieval_lab?view=Measure")
    expect(page.get_by_role("combobox", name="Baseline")).to_be_visible()
    expect(due).to_have_count(0)


def test_a_collection_is_exported_and_imported_under_another_name(
    samples: App, page: Page, tmp_path: Path
) -> None:
    page.goto(f"{samples.url}/documents")
    _manage(page, "Export")
    page.get_by_role("dialog").get_by_role("button", name="Export").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download", exact=True).click()
    file = tmp_path / "Samples.agentkit.zip"
    download.value.save_as(file)
    _manage(page, "Import")
    dialog = page.get_by_role("dialog")
    driver.upload(dialog.locator("input[type=file]"), file)
    dialog.get_by_role("textbox", name="Name").fill("Copies")
    dialog.get_by_role("textbox", name="Name").press("Enter")
    driver.settled(page)
    dialog.get_by_role("button", name="Import").click()
    expect(page.get_by_text("Copies is imported: 8 documents")).to_be_visible()
    expect(page.get_by_role("combobox", name="Collection")).to_have_value("Copies")
    page.get_by_role("link", name="Try it in the retrieval lab").click()
    page.get_by_role("textbox", name="Query").fill(QUESTION)
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.locator("[class*='st-key-hit-A-']").first).to_contain_text(
        "employee-handbook.pdf, p. 2"
    )


def test_a_question_looks_only_into_what_is_chosen(samples: App, page: Page) -> None:
    page.goto(samples.url)
    page.get_by_role("button", name="Narrow").click()
    types = page.get_by_role("combobox", name="File types")
    types.click()
    page.get_by_role("option", name="XLSX").click()
    types.press("Escape")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Done").click()
    expect(page.locator(".st-key-narrowed")).to_contain_text("Only: XLSX")
    turn = driver.ask(page, QUESTION)
    driver.answered(page, turn)
    expect(turn).to_contain_text("Only: XLSX")
    expect(turn).not_to_contain_text("27 days")
    page.locator(".st-key-narrowed").get_by_role("button", name="Clear").click()
    expect(page.locator(".st-key-narrowed")).to_have_count(0)
    again = driver.ask(page, f"{QUESTION} Once more.")
    driver.answered(page, again)
    expect(again).to_contain_text("27 days of paid annual leave")


def _set_side_b(page: Page) -> None:
    page.get_by_role("button", name="Settings B").click()
    page.get_by_role("radio", name="Words", exact=True).click()
    passages = page.get_by_role("spinbutton", name="Passages")
    passages.fill("2")
    passages.press("Enter")
    page.keyboard.press("Escape")
    driver.settled(page)


def _manage(page: Page, action: str) -> None:
    page.get_by_role("button", name="Manage").click()
    page.get_by_role("option", name=action).or_(page.get_by_role("menuitem", name=action)).click()


def _shown(page: Page, text: re.Pattern[str]) -> Locator:
    return page.get_by_test_id("stMarkdownContainer").filter(has_text=text)
