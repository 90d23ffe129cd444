"""The app's server dies while a page is open: the page says so in our words, on each page alike."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.browser import driver
from tests.browser.expecting import expect
from tests.browser.serving import App, serving


@pytest.mark.parametrize(
    "host", ["localhost", pytest.param("127.0.0.1", marks=pytest.mark.walk)]
)  # Streamlit's words differ
def test_a_dead_server_is_told_in_our_words(app: App, page: Page, host: str) -> None:
    page.goto(app.url.replace("127.0.0.1", host))
    driver.go(page, "Documents" if host == "localhost" else "Chat")
    app.process.kill()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("agentkit does not answer")
    expect(dialog).to_contain_text("What was asked and answered is kept.")
    expect(
        dialog.get_by_text(re.compile("streamlit|yourscript", re.IGNORECASE)).filter(visible=True)
    ).to_have_count(0)


def test_what_is_asked_first_when_the_server_is_back_is_answered(
    tmp_path: Path, page: Page
) -> None:
    with serving(tmp_path, {}) as app:
        page.goto(app.url)
        driver.go(page, "Documents")
        driver.go(page, "Chat")
        app.process.kill()
        expect(page.get_by_role("dialog")).to_contain_text("agentkit does not answer")
    with serving(tmp_path, {}, port=int(app.url.rpartition(":")[2])):
        expect(page.get_by_role("dialog")).to_have_count(0)
        turn = driver.ask(page, "Is anybody there?")
        driver.answered(page, turn)
