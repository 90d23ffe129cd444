"""Every page with real content on a narrow and a wide screen, light and dark: nothing sticks out,
is cut off, breaks or calls home, and axe finds nothing serious.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Literal

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page

from tests.browser import driver, papers
from tests.browser.axe import violations
from tests.browser.expecting import PATIENCE_MS, expect
from tests.browser.serving import App, serving

Scheme = Literal["light", "dark"]

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
    if (location.pathname + location.search !== "/") return;
    window.wider = 0;
    const look = () => {
        const main = document.getElementById("stMain");
        if (main) window.wider = Math.max(window.wider, main.scrollWidth - main.clientWidth);
        requestAnimationFrame(look);
    };
    look();
})()"""

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


@pytest.mark.parametrize(("width", "schemes"), [(390, ["light"]), (1400, ["dark", "light"])])
def test_pages_fit_the_screen_and_axe_finds_nothing_serious(
    filled: tuple[App, str], browser: Browser, width: int, schemes: list[Scheme]
) -> None:
    app, chat = filled
    context = browser.new_context(
        viewport={"width": width, "height": 850}, color_scheme=schemes[0], reduced_motion="reduce"
    )
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    gone_out, complaints = driver.foreign(page, app), _complaints(page)
    page.add_init_script(EACH_FRAME)
    page.goto(app.url)
    expect(
        page.get_by_text("Every answer cites its sources; open one to see its place.")
    ).to_be_visible()
    driver.settled(page)
    assert page.evaluate("window.wider") == 0, "wider than the screen while it was drawn"
    for show in (_welcome, _chat, _documents, _lab, _usage, _settings):
        for _ in show(page, app, chat):
            for scheme in schemes:
                _is_fine(page, scheme)
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


def _welcome(page: Page, app: App, chat: str) -> Iterator[None]:
    """Shows the page, and waits at each thing on it that is to be looked at; so do those below."""
    expect(page.get_by_test_id("stChatInputTextArea")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    yield


def _chat(page: Page, app: App, chat: str) -> Iterator[None]:
    page.goto(chat)
    links = page.locator("a[href^='#cite-']")
    expect(links).to_have_count(2)
    driver.unfold(page.locator("[class*='st-key-steps-']").last, "Steps")
    links.last.click()
    expect(page.locator(".st-key-source img")).to_be_visible()
    yield
    page.keyboard.press("Escape")  # on a narrow screen the source lies over the answers
    expect(page.locator(".st-key-source")).to_have_count(0)
    links.first.click()
    expect(page.locator(".st-key-source mark").first).to_contain_text(
        "Donaudampfschifffahrtsgesellschaft"
    )
    yield


def _documents(page: Page, app: App, chat: str) -> Iterator[None]:
    page.goto(f"{app.url}/documents")
    driver.select_row(page, "kettle.pdf")
    expect(page.get_by_text("Chunk 1 ·")).to_be_visible()
    expect(page.get_by_test_id("stVegaLiteChart")).to_be_visible()
    yield


def _lab(page: Page, app: App, chat: str) -> Iterator[None]:
    page.goto(f"{app.url}/retrieval_lab?q={QUESTION}")
    expect(page.locator("[class*='st-key-hit-A-']").first).to_contain_text(
        "Donaudampfschifffahrtsgesellschaft"
    )
    page.get_by_text("Compare with other settings").click()
    expect(page.locator("[class*='st-key-hit-B-']").first).to_contain_text(
        "Donaudampfschifffahrtsgesellschaft"
    )
    yield
    page.goto(f"{app.url}/retrieval_lab?q=Donaudampfschifffahrtsgesellschaft&find=Exact text")
    expect(page.get_by_test_id("stTable")).to_be_visible()
    yield
    page.goto(f"{app.url}/retrieval_lab?view=Measure")
    expect(page.get_by_role("heading", name="Results")).to_be_visible()
    expect(
        page.get_by_test_id("stDataFrame").filter(visible=True).first.locator("tbody tr")
    ).to_have_count(1)
    yield
    page.goto(f"{app.url}/retrieval_lab?view=Index")
    expect(page.get_by_test_id("stVegaLiteChart")).to_be_visible()
    expect(page.get_by_text("Chunks of this document")).to_be_visible()
    yield


def _usage(page: Page, app: App, chat: str) -> Iterator[None]:
    page.goto(f"{app.url}/usage")
    chart = page.get_by_test_id("stVegaLiteChart")
    expect(chart.locator("svg.marks").first).to_be_visible()
    yield


def _settings(page: Page, app: App, chat: str) -> Iterator[None]:
    page.goto(f"{app.url}/settings")
    expect(page.get_by_text("The database, the indexes and the originals agree.")).to_be_visible()
    change = page.get_by_role("button", name=re.compile("Change largest file$"))
    _is_said_not_shown(change.locator("em"))
    yield


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


def _is_fine(page: Page, scheme: Scheme) -> None:
    """In that scheme: nothing that axe calls serious, no sideways scrolling, no figure that ends in
    dots, no chart with words that reach beyond it, no traceback.
    """
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.wait_for_function(HAS_GROUND, arg=scheme)
    driver.settled(page)
    assert page.evaluate(WIDER) == [], page.url
    assert page.evaluate(CUT) == [], page.url
    assert page.get_by_test_id("stException").count() == 0
    assert page.get_by_text("Something went wrong").count() == 0
    for _ in range(3):  # a page that turns is drawn anew: axe may see parts of it faded
        found = violations(page, f"{page.url} {scheme}")
        if not found:
            return
        expect(page.locator("[data-stale='true']")).to_have_count(0)
        driver.settled(page)
    pytest.fail("\n".join(found))


def _is_said_not_shown(words: Locator) -> None:
    """A screen reader says these words, and they take no room."""
    expect(words).to_have_count(1)
    assert words.evaluate("words => words.getBoundingClientRect().width") <= 1


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
    filled: tuple[App, str], browser: Browser, scheme: Scheme
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
