"""The words among agents: bubbles that stream one after the other, stay where they are, and are
the same afterwards; a picture of who spoke to whom.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import pytest
from playwright.sync_api import Locator, Page

from agentkit.messages import text_of
from tests.browser import driver, papers
from tests.browser.axe import violations
from tests.browser.expecting import expect
from tests.browser.serving import App
from tests.servers.openai_server import Answer, OpenAIServer, usage

pytestmark = pytest.mark.walk

FOUND = "\n\n".join(
    [
        "The letter says this about the crossing:",
        "- The last ferry leaves at **21:40**.\n- It leaves from the northern pier.",
        "It does not say whether Sundays differ.",
    ]
)
DOUBT = "The letter is old, so the time may have changed. " * 4
WHY = "Critic, as the report has to be checked"
WATCH = """phrases => {
    const seen = window.seen = { lost: [], shown: {}, frames: 0, redrawn: 0 };
    let watched = null;
    const look = () => {
        const turns = document.querySelectorAll("[class*='st-key-turn-']");
        const turn = turns[turns.length - 1];
        const works = [...document.querySelectorAll("button")].some(one => one.innerText.trim()
            .endsWith("Stop"));
        if (turn && works) {
            seen.frames += 1;
            for (const phrase of phrases) {
                const has = turn.textContent.includes(phrase);
                if (seen.shown[phrase] && !has) seen.lost.push([phrase, seen.frames]);
                seen.shown[phrase] ||= has;
            }
            const bubbles = turn.querySelectorAll("[class*='st-key-voice-']");
            if (bubbles.length > 1 && !watched) {
                watched = new MutationObserver(found => { seen.redrawn += found.length; });
                watched.observe(bubbles[0], { subtree: true, childList: true,
                    characterData: true });
            }
        }
        requestAnimationFrame(look);
    };
    look();
}"""
CALM = """() => [...document.querySelectorAll("[class*='st-key-voice-']")].every(
    bubble => bubble.closest("[aria-live], [role=status], [role=log], [role=alert]") === null)"""
NO_WIDER = "() => document.documentElement.scrollWidth <= window.innerWidth"
SCREENS: list[tuple[int, Literal["light", "dark"]]] = [
    (1400, "light"),
    (1400, "dark"),
    (390, "light"),
    (390, "dark"),
]


class Group:
    """A group whose speakers are chosen, and whose words come slowly; the critic's halt."""

    def __init__(self) -> None:
        self.chosen = iter(["Researcher", WHY, "Writer"])

    def __call__(self, body: dict[str, Any]) -> Answer:
        system = text_of(body["messages"][0]["content"])
        if "You moderate" in system:
            return Answer(next(self.chosen))
        if "you are the researcher" in system:
            return Answer(FOUND, delay_s=0.02)
        if "you are the critic" in system:
            return Answer(DOUBT.strip(), delay_s=0.02, halt_after=30)
        return Answer(f"{papers.FERRY}\n\nTERMINATE", delay_s=0.02)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(Group()) as running:
        yield running


@pytest.fixture
def turn(app: App, page: Page) -> Locator:
    """The turn of a question to the group, from its first moment."""
    page.goto(app.url)
    driver.choose_team(page, "Group of three")
    page.evaluate(WATCH, ["crossing:", "21:40", "northern pier", "Sundays differ", "is old, so"])
    return driver.ask(page, papers.FERRY_QUESTION)


def _bubbles(turn: Locator) -> Locator:
    return turn.locator("[class*='st-key-voice-']")


def _words(turn: Locator) -> list[str]:
    """What stands in the transcript, without what changes by the clock."""
    words: list[str] = turn.locator("[class*='st-key-transcript-']").evaluate_all(
        "parts => parts.flatMap(part => part.innerText.split('\\n')).filter(line => line.trim())"
    )
    return words


def test_words_stream_in_bubbles_of_their_own_and_stay(
    turn: Locator, page: Page, server: OpenAIServer
) -> None:
    critic = _bubbles(turn).nth(1)
    expect(critic).to_contain_text("The letter is old, so the time may have changed.")
    researcher = _bubbles(turn).first
    expect(researcher).to_contain_text("Researcher to Group")
    expect(researcher).to_contain_text("It does not say whether Sundays differ.")
    expect(turn).to_contain_text(f"Critic speaks, chosen by the model · message 2 · “{WHY}”")
    expect(turn).to_contain_text("tokens so far")
    colours = [
        bubble.locator("strong").first.evaluate("mark => getComputedStyle(mark).backgroundColor")
        for bubble in (researcher, critic)
    ]
    assert len({*colours, "rgba(0, 0, 0, 0)"}) == 3
    assert page.evaluate(CALM), "a screen reader would read every word"
    marks = [bubble.locator("strong").first.inner_text() for bubble in (researcher, critic)]
    assert marks == ["R", "C"]
    server.go_on.set()
    driver.answered(page, turn)
    seen = page.evaluate("() => window.seen")
    assert seen["lost"] == []
    assert all(seen["shown"].values())
    assert seen["frames"] > 20
    assert seen["redrawn"] == 0, "what was said is drawn again while others speak"


def test_afterwards_and_after_a_reload_it_is_the_same(
    turn: Locator, page: Page, server: OpenAIServer
) -> None:
    server.go_on.set()
    driver.answered(page, turn)
    driver.unfold(turn, "Steps")
    expect(_bubbles(turn)).to_have_count(2)
    after = _words(turn)
    assert after[0].endswith("Researcher speaks, chosen by the model · message 1")
    assert {"Researcher to Group", "It does not say whether Sundays differ."} <= set(after)
    page.reload()
    again = page.locator("[class*='st-key-turn-']").last
    driver.unfold(again, "Steps")
    expect(_bubbles(again)).to_have_count(2)
    assert _words(again) == after
    _shows_who_spoke_to_whom(page, again)
    took = driver.what_it_took(page, again)
    assert "Critic: 1 call, 120 tokens in, " in took


def _shows_who_spoke_to_whom(page: Page, turn: Locator) -> None:
    turn.get_by_role("button", name="Who spoke to whom").click()
    picture = page.get_by_test_id("stPopoverBody")
    drawn = picture.locator("svg text")
    expect(drawn.filter(has_text="Researcher")).to_have_count(1)
    told = {text.replace("\xa0", " ") for text in drawn.all_text_contents()}
    tokens = [f"{usage(text)['completion_tokens']} tokens" for text in (FOUND, DOUBT.strip())]
    assert {"Critic", "Group", "1 message", *tokens} <= told
    assert f"Critic to Group: 1 message, {tokens[1]}" in page.content()
    driver.settled(page)
    page.keyboard.press("Escape")
    expect(picture).to_have_count(0)


def test_everybody_can_read_it(turn: Locator, page: Page, server: OpenAIServer) -> None:
    page.emulate_media(reduced_motion="reduce")
    expect(_bubbles(turn).nth(1)).to_contain_text("so the time may have changed")
    found = _problems(page, "while it works")
    server.go_on.set()
    driver.answered(page, turn)
    driver.unfold(turn, "Steps")
    found += _problems(page, "afterwards")
    turn.get_by_role("button", name="Who spoke to whom").click()
    expect(page.get_by_test_id("stPopoverBody").locator("svg text").first).to_be_visible()
    found += _problems(page, "who spoke to whom")
    assert found == [], "\n".join(found)


def _problems(page: Page, where: str) -> list[str]:
    """What axe finds on each screen, and whether the page is wider than it."""
    found: list[str] = []
    for width, scheme in SCREENS:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function(f"({NO_WIDER})")
        page.wait_for_timeout(400)  # until what moves has moved
        found += violations(page, f"{where}, {width} {scheme}")
    page.set_viewport_size({"width": 1400, "height": 950})
    return found
