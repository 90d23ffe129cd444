"""Answers that a model server streams: seen while they grow, not lost by a reload, stopped,
counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page

from agentkit.llm.offline.passages import parse_passages
from agentkit.messages import text_of
from tests.browser import driver, papers
from tests.browser.expecting import expect
from tests.browser.serving import App
from tests.servers.openai_server import Answer, OpenAIServer, usage, words

pytestmark = pytest.mark.usefixtures("ferry")

BEGUN = f"{papers.FERRY} [1] Then the pier"
WHOLE = Answer(
    f"{BEGUN} is empty, and only the gulls stay until the morning.", halt_after=len(words(BEGUN))
)
END = "gulls stay until the morning."


def _halfway(body: dict[str, Any]) -> Answer:
    """The answer that halts; at once, the question of the agent that rewrites follow-ups: it gets
    no passages.
    """
    return (
        WHOLE
        if any(parse_passages(text_of(said["content"])) for said in body["messages"])
        else Answer(papers.FERRY_QUESTION)
    )


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(_halfway) as running:
        yield running


def test_an_answer_survives_a_reload_and_another_is_stopped(
    app: App, page: Page, server: OpenAIServer
) -> None:
    driver.open_app(page, app)
    _reloaded_in_the_middle(page, server)
    _stopped_in_the_middle(page, server)
    driver.go(page, "Usage")
    page.goto(f"{app.url}/usage?purpose=chat")
    expect(driver.find_metric(page, "Calls")).to_have_text("3")
    assert len(server.chats) == 3
    page.get_by_role("tab", name="Calls").click()
    expect(page.get_by_test_id("stDataFrame").locator("tbody tr")).to_have_count(3)
    assert [cells[3] for cells in driver.table(page)] == ["stopped", "answered", "answered"]


FIRST_SEEN = """() => new MutationObserver(() => {
    const again = document.querySelector("[class*='st-key-again-'] button");
    if (again) window.firstSeen ??= getComputedStyle(again).pointerEvents;
}).observe(document.body, { childList: true, subtree: true })"""
"""Notes whether "Try again" can be clicked in the moment in which it comes."""


def _reloaded_in_the_middle(page: Page, server: OpenAIServer) -> None:
    turn = driver.ask(page, papers.FERRY_QUESTION)
    _is_half_written(page, turn)
    address = page.url
    assert re.search(r"\?chat=\w+", address)
    page.reload()
    turn = page.locator("[class*='st-key-turn-']").last
    _is_half_written(page, turn)
    assert page.url == address
    server.go_on.set()
    driver.answered(page, turn)
    _is_there_once(page, WHOLE.text.replace(" [1]", ""))
    tokens_out = usage(WHOLE.text)[
        "completion_tokens"
    ]  # tokens in are those of the server and of the question's embedding
    took = (
        rf"· 1[2-4]\d tokens in, {tokens_out} out · free, on this machine · [\d.]+ s · first word"
        r" after"
    )
    assert re.search(took, driver.what_it_took(page, turn))
    page.reload()
    driver.answered(page, turn)
    _is_there_once(page, WHOLE.text.replace(" [1]", ""))
    turn.locator("a[href^='#cite-']").click()
    expect(page.locator(".st-key-source mark.sentence")).to_have_text(papers.FERRY)


def _stopped_in_the_middle(page: Page, server: OpenAIServer) -> None:
    server.go_on.clear()
    turn = driver.ask(page, "And what comes after the last ferry?")
    _is_half_written(page, turn)
    assert not server.broken_off.is_set()
    page.evaluate(FIRST_SEEN)
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(turn).to_contain_text("Stopped. What had been written by then is kept.")
    assert server.broken_off.wait(60), "the server was left writing"
    again = page.get_by_role("button", name="Try again")
    again.click(trial=True)  # once the second of two clicks on Stop would have come
    assert page.evaluate("() => window.firstSeen") == "none"
    page.reload()
    turn = page.locator("[class*='st-key-turn-']").last
    expect(turn).to_contain_text("Stopped.")
    assert "about" in driver.what_it_took(page, turn)
    expect(turn).to_contain_text(BEGUN)
    expect(turn).not_to_contain_text(END)


def _is_half_written(page: Page, turn: Locator) -> None:
    """The first words are there, the last ones are not, and it can be stopped."""
    expect(turn).to_contain_text(BEGUN)
    expect(turn).not_to_contain_text(END)
    expect(page.get_by_role("button", name="Stop", exact=True)).to_be_enabled()


def _is_there_once(page: Page, text: str) -> None:
    # Outside of the turns it is said to those who do not see it.
    expect(page.locator("[class*='st-key-turn-']").get_by_text(END)).to_have_count(1)
    expect(page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)
    shown = page.locator("[class*='st-key-turn-']").last.inner_text()
    assert text in " ".join(shown.replace("[1]", "").split())


THOUGHT = (
    "The question is about the ferry.\n\n- The **timetable** names the last boat.\n- Page 1 says"
    " when."
)


def test_thinking_is_seen_while_it_grows_and_folded_above_the_answer(
    app: App, page: Page, server: OpenAIServer
) -> None:
    thinking = len(words(THOUGHT))
    server.script = lambda body: Answer(WHOLE.text, thinking=THOUGHT, halt_after=thinking)
    driver.open_app(page, app)
    turn = driver.ask(page, papers.FERRY_QUESTION)
    expect(turn.get_by_text("The timetable names the last boat.")).to_be_visible()
    expect(turn.get_by_text("Thinking", exact=True)).to_be_visible()
    server.go_on.set()
    driver.answered(page, turn)
    folded = turn.get_by_text(re.compile(r"^Thought for [\d.]+ s · 5 tokens$"))
    expect(folded).to_be_visible()
    expect(turn.get_by_text("The timetable names the last boat.")).to_be_hidden()
    folded.click()
    expect(turn.get_by_text("The timetable names the last boat.")).to_be_visible()
    expect(turn.locator("strong", has_text="timetable")).to_be_visible()
