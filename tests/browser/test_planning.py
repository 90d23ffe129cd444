"""A plan in the browser: a wrong one, a step that fails, planning again, steps seen while they run,
a reload, a stop.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page

from agentkit.messages import text_of
from agentkit.teams.planning.prompts import PROMPTS
from tests.browser import driver, papers
from tests.browser.expecting import expect
from tests.browser.serving import App
from tests.servers.openai_server import Answer, OpenAIServer

pytestmark = [pytest.mark.walk, pytest.mark.usefixtures("ferry")]

QUESTION = "How many minutes before midnight does the last ferry leave?"
WRONG = "Plan: look around\n#E1 = look_around[last ferry]"
FAILING = (
    "Plan: Find out when the last ferry leaves\n#E1 = search_documents[When does the last ferry to"
    " Skarholm leave?]\nPlan: Count the minutes until midnight\n#E2 = calculate[midnight minus the"
    " time]"
)
AGAIN = (
    "Plan: Read the minutes of the day at which it leaves\n#E3 = read_result[Minutes since"
    " midnight? #E1]\nPlan: Count the minutes until midnight\n#E4 = calculate[24 * 60 - #E3]"
)


def _play(body: dict[str, Any]) -> Answer:
    """A planner that needs two tries and a second plan, a reader that halts, a solver."""
    first, last = (text_of(body["messages"][index]["content"]) for index in (0, -1))
    if first == PROMPTS["en"].reading:
        return Answer("1300", halt_after=0)
    if "Now answer the question." in last:
        return Answer(f"It leaves 140 minutes before midnight: {papers.FERRY} [1]")
    if "cannot be carried out" in last:
        return Answer(FAILING)
    return Answer(AGAIN if "Some steps of the plan failed" in last else WRONG)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(_play) as running:
        yield running


def test_a_plan_is_watched_reloaded_stored_and_stopped(
    app: App, page: Page, server: OpenAIServer
) -> None:
    driver.open_app(page, app)
    driver.choose_team(page, "Plan first")
    _let_plans_run_unseen(page)
    turn = driver.ask(page, QUESTION)
    _runs(turn)
    page.reload()
    turn = page.locator("[class*='st-key-turn-']").last
    _runs(turn)
    server.go_on.set()
    driver.answered(page, turn)
    _is_stored(page, turn)
    server.go_on.clear()
    _stopped(page)


def _let_plans_run_unseen(page: Page) -> None:
    page.locator(".st-key-choice button").first.click()
    page.get_by_text("See each plan before it runs").click()
    driver.leave_choices(page)


def _runs(turn: Locator) -> None:
    """The reader halts: what was done before is there, what comes after waits."""
    expect(turn).to_contain_text(
        "Planner's plan was sent back: #E1 uses the unknown tool 'look_around'"
    )
    expect(turn).to_contain_text(re.compile(r"#E2 Count the minutes until midnight · [\d.]+ s"))
    expect(turn).to_contain_text("#E3 Read the minutes of the day at which it leaves · running")
    expect(turn).to_contain_text("#E4 Count the minutes until midnight · waits for #E3")


def _is_stored(page: Page, turn: Locator) -> None:
    """The same steps from the ledger; the passage unfolds, and the citation opens it."""
    driver.unfold(turn, "Steps")
    expect(turn).to_contain_text("Planner's plan was sent back:")
    expect(turn.get_by_test_id("stGraphVizChart").locator("svg .node text")).to_have_text(
        ["#E3", "#E4", "#E1"]
    )
    driver.unfold(turn, "#E1 Find out when the last ferry leaves")
    expect(turn.get_by_text(f"Tickets are sold on board. {papers.FERRY}")).to_be_visible()
    driver.unfold(turn, "#E4 Count the minutes until midnight")
    expect(turn.get_by_test_id("stCode").filter(has_text="140")).to_be_visible()
    expect(turn.get_by_text("Looked up")).to_have_count(0)
    driver.settled(page)
    driver.still(turn)  # what unfolds moves the answer
    turn.locator("a[href^='#cite-']").click()
    expect(page.locator(".st-key-source mark.sentence")).to_have_text(papers.FERRY)


def _stopped(page: Page) -> None:
    turn = driver.ask(page, "And once more, please?")
    expect(turn).to_contain_text("Reader is thinking")
    page.get_by_role("button", name="Stop", exact=True).press("Enter")
    expect(turn).to_contain_text("Stopped. Nothing had been written yet.")
    expect(page.get_by_test_id("stChatInputTextArea")).to_be_focused()
    driver.unfold(turn, "Steps")
    expect(turn).to_contain_text("#E4 Count the minutes until midnight · not run")
