"""Looking on while a team works: its steps stay as the person left them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from agentkit.messages import text_of
from tests.browser import driver, papers
from tests.browser.serving import App
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
        said = "Nothing is missing." if "you are the critic" in system else f"{papers.FERRY}\n\nTERMINATE"
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
