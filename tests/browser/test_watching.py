"""Looking on while a team works: its steps stay as the person left them, the composer says what
Enter does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from agentkit.messages import text_of
from tests.browser import driver, papers
from tests.browser.expecting import expect
from tests.browser.serving import App, serving
from tests.servers.openai_server import Answer, OpenAIServer

CHOSEN = ["Critic", "Writer"]


class Talk:
    """A group that talks the question over; each of its calls halts until the server may go on."""

    def __init__(self, server: OpenAIServer) -> None:
        self.server, self.chosen = server, iter(CHOSEN)

    def __call__(self, body: dict[str, Any]) -> Answer:
        self.server.go_on.clear()
        system = text_of(body["messages"][0]["content"])
        if "You moderate" in system:
            return Answer(next(self.chosen), halt_after=0)
        said = (
            "Nothing is missing."
            if "you are the critic" in system
            else f"{papers.FERRY}\n\nTERMINATE"
        )
        return Answer(said, halt_after=0)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        running.script = Talk(running)
        yield running


def test_the_steps_stay_as_the_person_left_them_while_a_team_works(
    app: App, page: Page, server: OpenAIServer
) -> None:
    page.goto(app.url)
    driver.choose_team(page, "Group of three")
    turn = driver.ask(page, papers.FERRY_QUESTION)
    steps = turn.get_by_test_id("stExpander").first
    summary, folding = steps.locator("summary").first, steps.locator("details").first
    expect(summary).to_contain_text("Choosing who speaks next")
    expect(folding).to_have_attribute("open", "")
    summary.click()
    expect(folding).not_to_have_attribute("open", "")
    server.go_on.set()
    expect(summary).to_contain_text("Critic is thinking")
    expect(folding).not_to_have_attribute("open", "")
    summary.click()
    expect(folding).to_have_attribute("open", "")
    server.go_on.set()
    expect(summary).to_contain_text("Choosing who speaks next")
    expect(folding).to_have_attribute("open", "")
    expect(steps).to_contain_text("Critic speaks, chosen by the model")
    expect(steps).to_contain_text("Nothing is missing.")
    expect(page.locator("body")).not_to_contain_text("speaker_selection_agent")
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(turn).to_contain_text("Stopped.")
    server.go_on.set()


TOOLS = """
from agentkit import runs

def reserve(place: str) -> str:
    '''Reserve seats on the ferry.'''
    return f"Reserved: {runs.ask_human('Critic', 'How many seats?')} to {place}."
"""
LATER = "And on Sundays?"


def _reserves(body: dict[str, Any]) -> Answer:
    """Reserve, then halt in the middle of the answer; a later question is answered at once."""
    last = body["messages"][-1]
    if text_of(last.get("content")) == LATER:
        return Answer("No ferry leaves on Sundays.\n\nTERMINATE")
    if last["role"] == "tool":
        return Answer(f"{text_of(last['content'])} Never said.\n\nTERMINATE", halt_after=5)
    wanted = {"name": "reserve", "arguments": json.dumps({"place": "Skarholm"})}
    return Answer(tool_calls=[{"id": "one", "type": "function", "function": wanted}])


def test_the_composer_answers_what_is_asked_and_asks_nothing_after_a_stop(
    tmp_path: Path, page: Page
) -> None:
    (tmp_path / "tools.py").write_text(TOOLS)
    with OpenAIServer(_reserves) as server:
        environment = {
            "AGENTKIT_TOOLS": str(tmp_path / "tools.py"),
            "OPENAI_BASE_URL": server.base_url,
            "OPENAI_API_KEY": "sk-browser",
            "OPENAI_MODEL": "test-model",
        }
        with serving(tmp_path, environment) as app:
            page.goto(app.url)
            driver.choose_team(page, "Assistant with tools and code")
            _answered_in_the_composer(page)
            _held_after_a_stop(page, server)


def _answered_in_the_composer(page: Page) -> None:
    turn = driver.ask(page, "Reserve seats, please!")
    card, box = page.locator("[class*='st-key-asks-']"), page.get_by_test_id("stChatInputTextArea")
    expect(card).to_contain_text("May reserve run with these arguments?")
    expect(box).to_have_attribute("placeholder", "Ask next, after this answer")
    box.fill(LATER)
    box.press("Enter")
    expect(page.get_by_text(f"Asked after this answer: {LATER}")).to_have_count(1)
    box.fill("thr")
    page.get_by_role("button", name="Approve", exact=True).click()
    expect(card).to_contain_text("Critic asks: How many seats?")
    expect(box).to_have_attribute("placeholder", "Answer Critic")
    expect(page.get_by_test_id("stBottom").get_by_text("Answer Critic")).to_be_visible()
    expect(box).to_have_value("thr")
    tool = turn.locator("details").filter(has=page.locator(":scope > summary", has_text="reserve("))
    driver.unfold(turn, "reserve(")
    driver.settled(page)
    box.press("End")
    box.press_sequentially("ee")
    box.press("Enter")
    expect(turn).to_contain_text("Reserved: three to Skarholm.")
    expect(tool.locator("summary")).not_to_contain_text("running")
    expect(tool).to_have_attribute("open", "")  # as the person left it
    expect(box).to_have_attribute("placeholder", "Ask next, after this answer")
    expect(box).to_have_value("")


def _held_after_a_stop(page: Page, server: OpenAIServer) -> None:
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.get_by_text(f"Still to be asked: {LATER}")).to_be_visible()
    expect(page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)
    page.reload()
    expect(page.get_by_text(f"Still to be asked: {LATER}")).to_be_visible()
    driver.settled(page)
    assert len(server.chats) == 2
    page.get_by_role("button", name="Ask now").click()
    turn = page.locator("[class*='st-key-turn-']").filter(has_text=LATER)
    expect(turn).to_contain_text("No ferry leaves on Sundays.")
    expect(page.get_by_text("Still to be asked")).to_have_count(0)


def test_waits_are_told_and_can_be_ended(app: App, page: Page, server: OpenAIServer) -> None:
    """Both waits would be far longer than the test is patient."""
    limited = Answer(status=429, error={"message": "slow down"}, headers={"retry-after": "55"})
    server.script = lambda body: limited
    page.goto(app.url)
    driver.choose_team(page, "Assistant with tools and code")
    turn = driver.ask(page, papers.FERRY_QUESTION)
    expect(turn.get_by_text(re.compile(r"Rate limited, next try in 5\d s"))).to_be_visible()
    expect(turn.get_by_text(re.compile(r"Rate limited, next try in 4\d s"))).to_be_visible()
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(turn).to_contain_text("Stopped.")
    server.script = lambda body: Answer("One two three", halt_after=2)
    turn = driver.ask(page, "And now?")
    expect(turn).to_contain_text("One two")
    told = turn.get_by_text(re.compile(r"No word for 1\d s; Stop ends the wait"))
    expect(told).to_be_visible()
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(turn).to_contain_text("Stopped. What had been written by then is kept.")
    expect(turn).to_contain_text("One two")
    server.go_on.set()
