"""Citations that their passages do not bear out: seen as such, told in words, and still to be
opened.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from tests.browser import driver, papers
from tests.browser.expecting import expect
from tests.browser.serving import App
from tests.servers.openai_server import Answer, OpenAIServer

pytestmark = [pytest.mark.walk, pytest.mark.usefixtures("ferry")]

WRONG = "on <b>Mars</b> ![x](http://pictures.invalid/p.png) in **1899** it left"


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    text = f"{papers.FERRY} [1] Already {WRONG} the quay [1]. Gulls like the crew [7]."
    with OpenAIServer(lambda body: Answer(text)) as running:
        yield running


def test_a_doubtful_citation_looks_like_none_says_why_and_opens_its_passage(
    app: App, page: Page
) -> None:
    asked = driver.foreign(page, app)
    driver.open_app(page, app)
    turn = driver.ask(page, papers.FERRY_QUESTION)
    driver.answered(page, turn)
    page.reload()
    turn = page.locator("[class*='st-key-turn-']").last
    sure, doubtful = (
        turn.get_by_role("link", name="[1]", exact=True),
        turn.get_by_role("link", name="[1?]", exact=True),
    )
    expect(sure).to_have_text("[1]")
    expect(doubtful).to_have_text("[1?]")
    colours = [link.evaluate("link => getComputedStyle(link).color") for link in (sure, doubtful)]
    assert colours[0] != colours[1]
    expect(turn.locator("a", has_text="[7?]")).to_have_count(0)
    expect(turn).to_contain_text("[7?] names no passage")
    expect(turn).to_contain_text("[1?] does not say “1899”")
    doubtful.click()
    source = page.locator(".st-key-source")
    expect(source).to_contain_text("[1] ferry.docx")
    expect(source).to_contain_text("The passage does not say “1899”.")
    sure.click()
    expect(source.get_by_text("The passage does not say")).to_have_count(
        0
    )  # the other marker's doubt
    assert page.locator("img[src*='pictures.invalid']").count() == 0
    assert asked == []
