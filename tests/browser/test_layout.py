"""Every page with real content on a narrow and a wide screen, light and dark: nothing sticks out,
breaks or calls home.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Literal

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page

from tests.browser import driver, papers
from tests.browser.expecting import PATIENCE_MS, expect
from tests.browser.serving import App, serving

QUESTION = "Which code opens the hatch of the Donaudampfschifffahrtsgesellschaft?"
SECOND = "\n\n# Birds\n\n" + "Gulls rest on the rail before the weather turns. " * 60
LONG = (
    f"The code of the hatch is {'0123456789abcdef' * 8}, says the"
    " Donaudampfschifffahrtsgesellschaft.\n"
)
NAME = f"minutes-{'of-the-board-' * 9}2026.txt"
WIDER = """() => [document.scrollingElement, document.getElementById("stMain")].map(
    (shown) => [shown.scrollWidth, shown.clientWidth]).filter(([needs, has]) => needs > has)"""

EACH_FRAME = """(() => {
    window.wider = 0;
    const look = () => {
        const main = document.getElementById("stMain");
        if (main) window.wider = Math.max(window.wider, main.scrollWidth - main.clientWidth);
        requestAnimationFrame(look);
    };
    look();
})()"""

STANDS_OUT = """(part) => {
    const parse = (colour) => colour.match(/[\\d.]+/g).map(Number);
    const over = ([r, g, b, a = 1], ground) => [r, g, b].map((value, i) =>
        value * a + ground[i] * (1 - a));
    const light = (rgb) => rgb.map((value) => value / 255).map((v) =>
        (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
        .reduce((sum, value, i) => sum + value * [0.2126, 0.7152, 0.0722][i], 0);
    const grounds = [];
    for (let box = part; box; box = box.parentElement) {
        grounds.push(parse(getComputedStyle(box).backgroundColor));
    }
    const ground = grounds.reduceRight((below, colour) => over(colour, below), [255, 255, 255]);
    const [dim, bright] = [light(over(parse(getComputedStyle(part).color), ground)),
        light(ground)].sort((a, b) => a - b);
    return (bright + 0.05) / (dim + 0.05) >= 4.5;
}"""


@pytest.fixture(scope="module")
def filled(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[App, str]]:
    """The app with two documents and a chat; gives the chat's address, too."""
    with serving(tmp_path_factory.mktemp("layout"), {}) as app:
        page = browser.new_page()
        page.goto(f"{app.url}/documents")
        kettle = driver.file("kettle.pdf", papers.kettle_pdf())
        driver.add_files(
            page, [kettle, driver.file(NAME, LONG + SECOND), driver.file("empty.txt", b"")]
        )
        driver.go(page, "Chat")
        for question in (QUESTION, papers.WARRANTY_QUESTION):
            driver.answered(page, driver.ask(page, question))
        chat = page.url
        _measured(page, app)
        page.close()
        yield app, chat


@pytest.mark.parametrize(
    ("width", "scheme"), [(400, "light"), (1400, "dark")]
)  # colours take no room: each once
def test_pages_fit_the_screen(
    filled: tuple[App, str], browser: Browser, width: int, scheme: Literal["light", "dark"]
) -> None:
    app, chat = filled
    context = browser.new_context(viewport={"width": width, "height": 850}, color_scheme=scheme)
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    gone_out, complaints = driver.foreign(page, app), _complaints(page)
    page.add_init_script(EACH_FRAME)
    page.goto(app.url)
    expect(
        page.get_by_text("Every answer cites its sources; open one to see its place.")
    ).to_be_visible()
    assert _is_dark(page) == (scheme == "dark")
    _fits(page)
    assert page.evaluate("window.wider") == 0, "wider than the screen while it was drawn"
    _chat_fits(page, chat)
    _documents_fit(page, app)
    _lab_fits(page, app)
    page.goto(f"{app.url}/usage")
    expect(
        page.locator(
            "[data-testid='stVegaLiteChart'] canvas, [data-testid='stVegaLiteChart'] svg"
        ).first
    ).to_be_visible()
    _fits(page)
    page.goto(f"{app.url}/settings")
    expect(page.get_by_text("The database, the indexes and the originals agree.")).to_be_visible()
    _fits(page)
    context.close()
    assert gone_out == []
    assert complaints == []


ONE_LINE = """width => {
    const parts = [".st-key-choice", ".st-key-narrow"].map((part) => document.querySelector(part));
    const [choice, narrow] = parts.map((part) => part?.getBoundingClientRect());
    return choice && narrow && Math.abs(choice.y - narrow.y) < 1 && choice.right <= narrow.x
        && narrow.right <= width;
}"""


@pytest.mark.parametrize("width", [360, 390])
def test_on_a_phone_the_choices_above_the_input_are_one_line(
    filled: tuple[App, str], browser: Browser, width: int
) -> None:
    _, chat = filled
    context = browser.new_context(viewport={"width": width, "height": 850})
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.goto(chat)
    page.wait_for_function(ONE_LINE, arg=width)
    driver.settled(page)
    assert page.evaluate(ONE_LINE, width)
    context.close()


def _chat_fits(page: Page, chat: str) -> None:
    page.goto(chat)
    links = page.locator("a[href^='#cite-']")
    expect(links).to_have_count(2)
    links.last.click()
    expect(page.locator(".st-key-source img")).to_be_visible()
    _fits(page)
    page.keyboard.press("Escape")  # on a narrow screen the source lies over the answers
    expect(page.locator(".st-key-source")).to_have_count(0)
    links.first.click()
    expect(page.locator(".st-key-source mark").first).to_contain_text(
        "Donaudampfschifffahrtsgesellschaft"
    )
    _fits(page)


def _documents_fit(page: Page, app: App) -> None:
    page.goto(f"{app.url}/documents")
    driver.select_row(page, "kettle.pdf")
    expect(page.get_by_text("Chunk 1 ·")).to_be_visible()
    expect(page.get_by_test_id("stVegaLiteChart")).to_be_visible()
    _fits(page)


def _lab_fits(page: Page, app: App) -> None:
    page.goto(f"{app.url}/retrieval_lab?q={QUESTION}")
    expect(page.locator("[class*='st-key-hit-A-']").first).to_contain_text(
        "Donaudampfschifffahrtsgesellschaft"
    )
    page.get_by_text("Compare with other settings").click()
    expect(page.locator("[class*='st-key-hit-B-']").first).to_contain_text(
        "Donaudampfschifffahrtsgesellschaft"
    )
    _fits(page)
    page.goto(f"{app.url}/retrieval_lab?q=Donaudampfschifffahrtsgesellschaft&find=Exact text")
    expect(page.get_by_test_id("stTable")).to_be_visible()
    _fits(page)
    page.goto(f"{app.url}/retrieval_lab?view=Measure")
    expect(page.get_by_role("heading", name="Results")).to_be_visible()
    expect(
        page.get_by_test_id("stDataFrame").filter(visible=True).first.locator("tbody tr")
    ).to_have_count(1)
    _fits(page)
    page.goto(f"{app.url}/retrieval_lab?view=Index")
    expect(page.get_by_test_id("stVegaLiteChart")).to_be_visible()
    _fits(page)


def _measured(page: Page, app: App) -> None:
    """Measure with a question set of one question, about the document with the long name."""
    page.goto(f"{app.url}/retrieval_lab?view=Measure")
    page.get_by_role("tab", name="From a file").click()
    line = json.dumps({"question": QUESTION, "expected": [NAME]})
    page.locator(".st-key-add-first-set input[type=file]").first.set_input_files(
        driver.file("board.jsonl", line)
    )
    page.get_by_role("button", name="Import", exact=True).click()
    page.get_by_role("button", name="Measure with 1 question").click()
    expect(page.get_by_role("heading", name="Results")).to_be_visible()


def _fits(page: Page) -> None:
    """No sideways scrolling, no traceback, nothing that is drawn wrong by a script that failed."""
    driver.settled(page)
    assert page.evaluate(WIDER) == [], page.url
    assert page.get_by_test_id("stException").count() == 0
    assert page.get_by_text("Something went wrong").count() == 0


def _complaints(page: Page) -> list[str]:
    """Collects the browser's errors and warnings, but for the app's server being looked for below a
    page's path first.
    """
    found: list[str] = []

    def said(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and "/_stcore/" not in message.location["url"]:
            found.append(f"{message.text} ({message.location['url']})")

    page.on("console", said)
    page.on("pageerror", lambda error: found.append(str(error)))
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(
    filled: tuple[App, str], browser: Browser, scheme: Literal["light", "dark"]
) -> None:
    """WCAG AA, 4.5 to 1: captions, what is chosen (also under the mouse), and the button of what is
    unfolded.
    """
    app, chat = filled
    context = browser.new_context(
        viewport={"width": 1400, "height": 850}, color_scheme=scheme, reduced_motion="reduce"
    )
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.goto(chat)
    page.locator("a[href^='#cite-']").first.click()
    page.locator(".st-key-choice button").first.click()
    chosen = page.get_by_role("radio", name="Calls")
    expect(chosen).to_be_checked()
    driver.settled(page)
    chosen.hover()
    for part in (
        chosen,
        page.locator(".st-key-choice button").first,
        page.locator("button[data-selected][data-variant=pills]"),
        page.get_by_test_id("stCaptionContainer").first.locator("p"),
    ):
        _stands_out(part)
    page.goto(f"{app.url}/usage")
    tab = page.get_by_role("tab", selected=True).first
    tab.hover()
    _stands_out(tab)
    context.close()


def _stands_out(part: Locator) -> None:
    """As soon as it no longer fades in."""
    expect(part).to_be_visible()
    part.page.wait_for_function(STANDS_OUT, arg=part.element_handle())


def _is_dark(page: Page) -> bool:
    ground = page.get_by_test_id("stApp").evaluate("app => getComputedStyle(app).backgroundColor")
    return sum(int(part) for part in re.findall(r"\d+", ground)[:3]) < 3 * 128
