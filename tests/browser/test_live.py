"""An answer while it is being written: the page follows its end, nothing flashes, and its markers
lead to sources.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser import driver, papers
from tests.browser.expecting import expect
from tests.browser.serving import App
from tests.servers.openai_server import Answer, OpenAIServer, words

LINE = "The quay lies in the lee of the hill and is dry in nearly every wind that blows here. "
PARAGRAPHS = f"{papers.FERRY} [1]\n\n" + f"{LINE * 6}\n\n" * 3
CODE = "```python\n" + "".join(f"harbour.moor(boat={number})\n" for number in range(40)) + "```\n\n"
FORMULA = "$$\n\\int_0^1 x^2 \\, dx = \\frac{1}{3}\n$$\n\n"
MIDDLE = f"{PARAGRAPHS}{FORMULA}{CODE}{LINE * 6}\n\nThen the pier"
LAST = "gulls stay until the morning."
TEXT = f"{MIDDLE} is empty.\n\n" + f"{LINE * 6}\n\n" * 6 + f"And only the {LAST}"
WATCH = """() => {
    const seen = window.seen = { skeletons: [], lost: [], fell: 0, frames: 0 };
    let height = 0, begun = false;
    const look = () => {
        const turns = document.querySelectorAll("[class*='st-key-turn-']");
        const turn = turns[turns.length - 1];
        seen.frames += 1;
        if (turn) {
            const has = turn.textContent.includes("The quay lies");
            if (begun && !has) seen.lost.push([turn.className, turn.innerText.slice(0, 300),
                turns.length]);
            begun ||= has;
            if (begun) {
                for (const one of turn.querySelectorAll("[data-testid='stSkeleton']")) {
                    const part = one.closest("[class*='st-key-'], [data-testid='stMarkdown']");
                    seen.skeletons.push(`${part?.dataset.testid} ${part?.className}`);
                }
                const texts = [...turn.querySelectorAll("[data-testid='stMarkdownContainer']")];
                const line = texts.find(text => text.textContent.includes("The quay lies"));
                const now = line?.getBoundingClientRect().height ?? 0;
                seen.fell = Math.max(seen.fell, height - now);
                height = now;
            }
        }
        requestAnimationFrame(look);
    };
    look();
}"""
ONE_BY_ONE = """() => {  // what the server sends comes apart, as over a slow line
    const real = Object.getOwnPropertyDescriptor(WebSocket.prototype, "onmessage");
    const slowly = (deliver) => {
        let last = Promise.resolve();
        return (event) => { last = last.then(() => deliver(event)).then(() => new Promise(done =>
            setTimeout(done, 25))); };
    };
    Object.defineProperty(WebSocket.prototype, "onmessage", {
        ...real, set(deliver) { real.set.call(this, deliver && slowly(deliver)); },
    });
    const listen = WebSocket.prototype.addEventListener;
    WebSocket.prototype.addEventListener = function (kind, deliver, ...rest) {
        return listen.call(this, kind, kind === "message" ? slowly(deliver) : deliver, ...rest);
    };
}"""
LISTENERS = """(() => {
    const heard = new Map(), { addEventListener: add, removeEventListener: remove } = document;
    document.addEventListener = function (kind, hear, ...rest) {
        heard.set(kind, (heard.get(kind) ?? new Set()).add(hear));
        return add.call(this, kind, hear, ...rest);
    };
    document.removeEventListener = function (kind, hear, ...rest) {
        heard.get(kind)?.delete(hear);
        return remove.call(this, kind, hear, ...rest);
    };
    window.listening = () => [...heard].map(([kind, all]) => `${all.size} ${kind}`)
        .filter((line) => !line.startsWith("0 ")).sort().join();
})()"""
"""Counts what listens on the page: `listening()` tells how many for each kind of event."""
BELOW = (
    "() => { const m = document.getElementById('stMain'); return m.scrollHeight - m.scrollTop -"
    " m.clientHeight; }"
)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(_script) as running:
        yield running


def _script(body: dict[str, Any]) -> Answer:
    return Answer(TEXT, halt_after=len(words(MIDDLE)))


def _slowly(body: dict[str, Any]) -> Answer:
    return Answer(TEXT, halt_after=len(words(MIDDLE)), delay_s=0.004)


def _at_the_end(page: Page) -> None:
    page.wait_for_function(f"() => ({BELOW})() < 3")


def test_the_page_follows_an_answer_and_nothing_of_it_flashes(
    chat: Page, server: OpenAIServer
) -> None:
    page = chat
    server.script = _slowly
    driver.warmed_up(page)
    page.evaluate(WATCH)
    turn = driver.ask(page, papers.FERRY_QUESTION)
    expect(turn).to_contain_text("Then the pier")
    _at_the_end(page)
    server.go_on.set()
    expect(turn).to_contain_text(LAST)
    driver.answered(page, turn)
    _at_the_end(page)
    seen = page.evaluate("() => window.seen")
    assert seen["frames"] > 20
    assert (seen["skeletons"], seen["lost"]) == ([], [])
    assert seen["fell"] < 3, "no line of the text goes, not for a frame"


def test_a_stored_answer_takes_the_place_of_the_live_one_over_a_slow_line(
    app: App, page: Page, server: OpenAIServer
) -> None:
    server.script = lambda body: Answer(f"{PARAGRAPHS}And only the {LAST}", delay_s=0.004)
    page.add_init_script(f"({ONE_BY_ONE})()")
    page.goto(app.url)
    page.evaluate(WATCH)
    turn = driver.ask(page, papers.FERRY_QUESTION)
    driver.answered(page, turn)
    expect(turn).to_contain_text(LAST)
    seen = page.evaluate("() => window.seen")
    assert seen["frames"] > 20
    assert seen["lost"] == []


def test_who_scrolls_up_is_left_alone_and_can_jump_to_the_end(
    chat: Page, server: OpenAIServer
) -> None:
    page = chat
    turn = driver.ask(page, papers.FERRY_QUESTION)
    expect(turn).to_contain_text("Then the pier")
    _at_the_end(page)
    jump = page.get_by_role("button", name="Jump to end")
    expect(jump).to_be_hidden()
    page.mouse.move(600, 400)
    page.mouse.wheel(0, -500)
    expect(jump).to_be_visible()
    line = turn.locator("p", has_text="The quay lies").nth(2)
    before = line.evaluate("part => part.getBoundingClientRect().top")
    server.script = lambda body: Answer(TEXT)
    server.go_on.set()
    expect(turn).to_contain_text(LAST)
    driver.answered(page, turn)
    after = line.evaluate("part => part.getBoundingClientRect().top")
    assert after == pytest.approx(before, abs=60), (
        "the steps above it fold to one line when the answer is there"
    )
    expect(jump).to_be_hidden()


_SLOW = """() => document.addEventListener("focusin", ({ target }) => {
    const since = performance.now();
    while (target.closest("#stMain") && performance.now() - since < 1200);
})"""
"""The browser is busy with whatever gets the focus, and tells late where the page is."""


def test_who_goes_up_by_tab_is_left_alone(chat: Page, server: OpenAIServer) -> None:
    page = chat
    turn = driver.ask(page, papers.FERRY_QUESTION)
    expect(turn).to_contain_text("Then the pier")
    _at_the_end(page)
    link = turn.locator("a[href^='#cite-']").first
    expect(link).not_to_be_in_viewport()
    page.evaluate(_SLOW)
    for _ in range(40):
        page.keyboard.press("Shift+Tab")
        if link.evaluate("link => link === document.activeElement"):
            break
    expect(page.get_by_role("button", name="Jump to end")).to_be_visible()
    expect(link).to_be_focused()
    expect(link).to_be_in_viewport()
    server.go_on.set()
    driver.answered(page, turn)
    expect(link).to_be_in_viewport()


def test_the_button_leads_to_the_end_and_the_page_follows_again(
    chat: Page, server: OpenAIServer
) -> None:
    page = chat
    turn = driver.ask(page, papers.FERRY_QUESTION)
    expect(turn).to_contain_text("Then the pier")
    _at_the_end(page)
    page.mouse.move(600, 400)
    page.mouse.wheel(0, -700)
    page.get_by_role("button", name="Jump to end").click()
    _at_the_end(page)
    expect(page.get_by_role("button", name="Jump to end")).to_be_hidden()
    server.go_on.set()
    expect(turn).to_contain_text(LAST)
    driver.answered(page, turn)
    _at_the_end(page)


def test_a_marker_leads_to_its_source_while_the_answer_is_being_written(
    chat: Page, server: OpenAIServer
) -> None:
    page = chat
    turn = driver.ask(page, papers.FERRY_QUESTION)
    expect(turn).to_contain_text("Then the pier")
    _at_the_end(page)
    page.mouse.move(600, 400)
    page.mouse.wheel(0, -5000)  # who goes there stays there; else the page would move on to its end
    link = turn.locator("a[href^='#cite-']").first
    expect(link).to_be_in_viewport()
    link.click()
    source = page.locator(".st-key-source")
    expect(source.locator("mark.sentence")).to_have_text(papers.FERRY)
    beside, column = source.bounding_box(), turn.bounding_box()
    assert beside
    assert column
    assert beside["x"] >= column["x"] + column["width"]  # it covers nothing of the answer
    expect(turn).not_to_contain_text(LAST)
    server.go_on.set()
    driver.answered(page, turn)
    expect(source.locator("mark.sentence")).to_have_text(papers.FERRY)
    source.get_by_role("button", name="Close").click()
    expect(source).to_have_count(0)


def test_the_page_listens_no_more_often_after_an_answer_than_before(
    chat: Page, server: OpenAIServer
) -> None:
    page = chat
    server.script = lambda body: Answer("The pier is empty.")
    page.add_init_script(LISTENERS)
    page.reload()
    driver.answered(page, driver.ask(page, papers.FERRY_QUESTION))
    driver.settled(page)
    before = page.evaluate("listening()")
    assert "1 input" in before
    for question in ("Where is the quay?", "And the pier?"):
        driver.answered(page, driver.ask(page, question))
    page.wait_for_function("before => window.listening() === before", arg=before)
