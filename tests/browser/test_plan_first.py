"""A plan in the browser that waits for the person: changed before it runs, with keyboard and mouse,
on a wide screen and a narrow one, over a reload; later a step of it is run again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page

from agentkit.messages import text_of
from tests.browser import driver, papers
from tests.browser.expecting import expect
from tests.browser.serving import App
from tests.servers.openai_server import Answer, OpenAIServer

pytestmark = [pytest.mark.walk, pytest.mark.usefixtures("ferry")]

QUESTION = "How many minutes before midnight does the last ferry leave?"
PLAN = (
    "Plan: Find out when the last ferry leaves\n#E1 = search_documents[last ferry to Skarholm]\n"
    "Plan: Look for something else\n#E2 = search_documents[harbour festival]\n"
    "Plan: Count the minutes until midnight\n#E3 = calculate[24 * 60 - 1310]"
)


def _play(body: dict[str, Any]) -> Answer:
    last = text_of(body["messages"][-1]["content"])
    if "Now answer the question." in last:
        return Answer(
            f"140 minutes before: {papers.FERRY} [1]" if "140" in last else "130 minutes."
        )
    return Answer(PLAN)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(_play) as running:
        yield running


def test_a_plan_is_changed_before_it_runs(app: App, page: Page, server: OpenAIServer) -> None:
    driver.open_app(page, app)
    driver.choose_team(page, "Plan first")
    turn = driver.ask(page, QUESTION)
    _change(page, turn)
    page.reload()
    turn = page.locator("[class*='st-key-turn-']").last
    expect(_field(turn, "Input of #E3")).to_have_value("24 * 60 - 1300")
    _field(turn, "Input of #E3").focus()
    page.keyboard.press("Control+Enter")
    driver.answered(page, turn)
    expect(turn).to_contain_text("140 minutes before")
    _is_stored(turn)
    _runs_a_step_again(page, turn)
    _passes_at_once(page)


def _field(turn: Locator, label: str) -> Locator:
    return turn.get_by_role("textbox", name=label, exact=True)


def _press(turn: Locator, name: str, held_ms: float = 0) -> None:
    turn.get_by_role("button", name=name, exact=True).click(delay=held_ms)


def _change(page: Page, turn: Locator) -> None:
    """By mouse a step is left out, by keyboard another one is changed; what is wrong is told."""
    expect(_field(turn, "Input of #E1")).to_have_value("last ferry to Skarholm")
    expect(turn).to_contain_text("By estimate 2 look-ups, 1 model call and")
    _press(turn, "Leave #E2 out")
    expect(_field(turn, "Input of #E2")).to_have_count(0)
    expect(turn).to_contain_text("By estimate 1 look-up")
    given = _field(turn, "Input of #E3")
    given.fill("24 * 60 - #E2")
    given.press("Enter")
    expect(turn).to_contain_text("#E3 refers to #E2, and there is no such step")
    expect(turn.get_by_role("button", name="Run this plan")).to_be_disabled()
    given.fill("24 * 60 - 1300")
    given.press("Enter")
    expect(turn.get_by_role("button", name="Run this plan")).to_be_enabled()
    driver.resize(page, 390, 800)
    _press(turn, "Move #E3 up", held_ms=250)  # longer than the page takes to follow what is written
    expect(turn.get_by_role("textbox", name="Input of")).to_have_count(2)
    expect(turn.get_by_role("textbox").nth(1)).to_have_value("24 * 60 - 1300")
    width = page.evaluate("() => document.documentElement.scrollWidth")
    assert width <= 390
    driver.resize(page, 1280, 800)


def _is_stored(turn: Locator) -> None:
    """The plan as it was changed, and that it was."""
    driver.unfold(turn, "Steps")
    expect(turn).to_contain_text("Is this plan to run? You: yes, with changes")
    expect(turn).to_contain_text("#E1 Find out when the last ferry leaves · ")
    expect(turn.get_by_text("Look for something else")).to_have_count(0)


def _runs_a_step_again(page: Page, turn: Locator) -> None:
    """The answer is written anew beside the first one; the plan is not asked about again."""
    first = turn.evaluate("e => [...e.classList].find(one => one.startsWith('st-key-turn-'))")
    turn.get_by_role("button", name="Run a step again").click()
    page.get_by_role("button", name="#E1 Find out when the last ferry leaves").click()
    expect(page.locator(f".{first}")).to_have_count(0)
    again = page.locator("[class*='st-key-turn-']").last
    driver.answered(page, again)
    expect(again).to_contain_text("140 minutes before")


def _passes_at_once(page: Page) -> None:
    """Whoever wants it as it is presses one button."""
    turn = driver.ask(page, "And once more, please?")
    turn.get_by_role("button", name="Run this plan").click()
    driver.answered(page, turn)
    expect(turn).to_contain_text("130 minutes.")
