"""Every page under axe, light and dark, wide and narrow; a question, its source and back by
keyboard alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

import pytest
from playwright.sync_api import Browser, Locator, Page

from tests.browser import driver, papers
from tests.browser.axe import violations
from tests.browser.expecting import PATIENCE_MS, expect
from tests.browser.serving import App, serving

Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")

CUT = """() => {
    const shown = (part) => part.getClientRects().length > 0;
    const figures = [...document.querySelectorAll('#stMain [data-testid="stMetric"] *')]
        .filter(shown)
        .filter((part) => getComputedStyle(part).overflowX !== "visible" && part.scrollWidth >
            part.clientWidth + 1)
        .map((part) => part.textContent);
    const drawn = [
        ...document.querySelectorAll('#stMain [data-testid="stVegaLiteChart"] svg.marks'),
    ].filter(shown);
    const cut = drawn.flatMap((chart) => {
        const box = chart.getBoundingClientRect();
        const over = (part) => {
            const { left, right, top, bottom } = part.getBoundingClientRect();
            return left < box.left - 2 || right > box.right + 2 || top < box.top - 9 || bottom >
                box.bottom + 2;
        };
        const words = [...chart.querySelectorAll("text")].filter((part) => part.textContent
            && over(part));
        return box.left < 0 || box.right > window.innerWidth ? [chart, ...words] : words;
    });
    return [...figures, ...cut.map((part) => `chart: ${part.textContent}`)];
}"""
"""Figures that do not fit into their boxes, and charts that reach beyond theirs."""


HAS_GROUND = """scheme => {
    const app = document.querySelector('[data-testid="stApp"]');
    const [r, g, b] = getComputedStyle(app).backgroundColor.match(/[\\d.]+/g).map(Number);
    return (r + g + b < 3 * 128) === (scheme === "dark");
}"""
"""Whether the ground of the page is of that scheme."""


@pytest.fixture(scope="module")
def filled(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[App, str]]:
    """The app with two documents and a chat; gives the chat's address, too."""
    with serving(tmp_path_factory.mktemp("accessible"), {}) as app:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto(f"{app.url}/documents")
        kettle = driver.file("kettle.pdf", papers.kettle_pdf())
        driver.add_files(page, [kettle, driver.file("ferry.docx", papers.ferry_docx())])
        expect(page.locator("[class*='st-key-ingested-']")).to_contain_text("2 added")
        driver.go(page, "Chat")
        driver.answered(page, driver.ask(page, papers.WARRANTY_QUESTION))
        chat = page.url
        page.close()
        yield app, chat


@pytest.fixture(params=[1400, 390])
def screen(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A tab of that width, without things that fade in."""
    context = browser.new_context(
        viewport={"width": request.param, "height": 900}, reduced_motion="reduce"
    )
    context.set_default_timeout(PATIENCE_MS)
    yield context.new_page()
    context.close()


def test_axe_finds_nothing_serious_and_nothing_is_cut(
    filled: tuple[App, str], screen: Page
) -> None:
    """Nor is there a number that ends in dots, or a chart with words that reach beyond it."""
    app, chat = filled
    found: list[object] = []
    for look in (_welcome, _chat, _documents, _lab, _index, _usage, _settings):
        look(screen, app, chat)
        for scheme in SCHEMES:
            _colour(screen, scheme)
            where = f"{look.__name__} {scheme}"
            found += violations(screen, where)
            found += [(where, part) for part in screen.evaluate(CUT)]
    assert found == [], "\n".join(map(str, found))


def test_the_keyboard_alone_asks_opens_a_source_and_closes_it(
    filled: tuple[App, str], page: Page
) -> None:
    app, _ = filled
    page.goto(app.url)
    expect(page.get_by_test_id("stChatInputTextArea")).to_be_visible()
    driver.settled(page)
    _tab_to(page, "[data-testid='stChatInputTextArea']")
    page.keyboard.type(papers.FERRY_QUESTION)
    page.keyboard.press("Enter")
    turn = page.locator("[class*='st-key-turn-']").filter(has_text=papers.FERRY_QUESTION)
    driver.answered(page, turn)
    driver.settled(page)
    _tab_to(page, "a[href^='#cite-']", back=True)
    page.keyboard.press("Enter")
    source = page.locator(".st-key-source")
    expect(source.locator("mark.sentence")).to_have_text(papers.FERRY)
    page.wait_for_function("() => document.activeElement.matches('.st-key-source')")
    page.keyboard.press("Tab")
    expect(source.get_by_role("button", name="Close")).to_be_focused()
    page.keyboard.press("Tab")
    expect(source.get_by_role("region", name="Text of the source")).to_be_focused()
    page.keyboard.press("Escape")
    expect(source).to_have_count(0)
    expect(turn.locator("a[href^='#cite-']").first).to_be_focused()


def _tab_to(page: Page, selector: str, *, back: bool = False) -> None:
    """Press Tab until the focus is on what the selector names, at most a hundred times."""
    for _ in range(100):
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
        page.keyboard.press("Shift+Tab" if back else "Tab")
    pytest.fail(f"the keyboard does not reach {selector}")


def _colour(page: Page, scheme: Scheme) -> None:
    """As when the system goes over to that scheme; until the page has."""
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.wait_for_function(HAS_GROUND, arg=scheme)
    driver.settled(page)


def _welcome(page: Page, app: App, chat: str) -> None:
    page.goto(app.url)
    expect(page.get_by_test_id("stChatInputTextArea")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_be_visible()


def _chat(page: Page, app: App, chat: str) -> None:
    page.goto(chat)
    link = page.locator("a[href^='#cite-']").first
    expect(link).to_be_visible()
    driver.unfold(page.locator("[class*='st-key-steps-']"), "Steps")
    link.click()
    expect(page.locator(".st-key-source img")).to_be_visible()


def _documents(page: Page, app: App, chat: str) -> None:
    page.goto(f"{app.url}/documents")
    driver.select_row(page, "kettle.pdf")
    expect(page.get_by_text("Chunk 1 ·")).to_be_visible()
    expect(page.get_by_test_id("stVegaLiteChart")).to_be_visible()


def _lab(page: Page, app: App, chat: str) -> None:
    page.goto(f"{app.url}/retrieval_lab?q={papers.WARRANTY_QUESTION}")
    expect(page.locator("[class*='st-key-hit-A-']").first).to_contain_text(papers.WARRANTY)


def _index(page: Page, app: App, chat: str) -> None:
    page.goto(f"{app.url}/retrieval_lab?view=Index")
    expect(page.get_by_text("Chunks of this document")).to_be_visible()


def _usage(page: Page, app: App, chat: str) -> None:
    page.goto(f"{app.url}/usage")
    chart = page.get_by_test_id("stVegaLiteChart")
    expect(chart.locator("svg.marks").first).to_be_visible()


def _settings(page: Page, app: App, chat: str) -> None:
    page.goto(f"{app.url}/settings")
    expect(page.get_by_text("The database, the indexes and the originals agree.")).to_be_visible()
    change = page.get_by_role("button", name=re.compile("Change largest file$"))
    _is_said_not_shown(change.locator("em"))


def _is_said_not_shown(words: Locator) -> None:
    """A screen reader says these words, and they take no room."""
    expect(words).to_have_count(1)
    assert words.evaluate("words => words.getBoundingClientRect().width") <= 1
