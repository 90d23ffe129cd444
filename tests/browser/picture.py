"""Takes the pictures of the documentation anew: `python -m tests.browser.picture`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests.browser import driver
from tests.browser.conftest import chromium
from tests.browser.expecting import expect
from tests.browser.serving import ROOT, serving

IMAGES = ROOT / "docs" / "images"
QUESTIONS = (
    "At what wind speed does boat work stop?",
    "How large is the training budget, and who has to approve purchases from 5,000 euros?",
)
QUERY = "How long is parental leave?"


def take_chat(page: Page, url: str) -> None:
    """The chat page with the samples loaded, a question answered with two citations, and one of
    them opened.
    """
    page.goto(url)
    page.get_by_role("button", name="Load the sample documents").click()
    page.get_by_text("Ask the sample documents").wait_for(timeout=120_000)
    for question in QUESTIONS:
        page.get_by_role("button", name="New chat").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Chat")
        turn = driver.ask(page, question)
        driver.answered(page, turn)
    turn.get_by_role("radio", name="employee-handbook.pdf, p. 3").click()
    expect(page.locator(".st-key-source img")).to_be_visible()
    driver.settled(page)
    page.locator("#stMain").evaluate(
        "main => main.scrollTo({ top: 100 })"
    )  # to the page's picture, past the empty top
    _save(page, "chat.png")


def take_lab(page: Page, url: str) -> None:
    """The retrieval lab over the samples, which are there, with two settings compared."""
    page.goto(f"{url}/retrieval_lab?q={QUERY}")
    page.get_by_text("Compare with other settings").click()
    page.get_by_role("button", name="Settings B").click()
    page.get_by_role("radio", name="Words", exact=True).click()
    page.keyboard.press("Escape")
    expect(page.locator("[class*='st-key-hit-B-']").first).to_be_visible()
    driver.settled(page)
    page.locator("#stMain").evaluate(
        "main => main.scrollTo({ top: 190 })"
    )  # past the title, to the passages
    _save(page, "lab.png")


def _save(page: Page, name: str) -> None:
    page.mouse.move(0, 0)
    page.wait_for_timeout(500)  # until what opened or closed has faded
    page.screenshot(path=IMAGES / name, animations="disabled")


def main() -> None:
    """Serve the app over an empty folder and take the pictures."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder), {}) as app,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium())
        for take in (take_chat, take_lab):
            take(browser.new_page(viewport={"width": 1400, "height": 850}), app.url)
        browser.close()


if __name__ == "__main__":
    main()
