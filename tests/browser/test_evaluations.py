"""Two versions of a team beside each other, and a question set put to both."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page

from agentkit.llm.offline.passages import parse_passages
from agentkit.messages import text_of
from tests.browser import driver
from tests.browser.axe import violations
from tests.browser.expecting import expect
from tests.browser.serving import App
from tests.browser.team_forms import begin, field
from tests.servers.openai_server import Answer, OpenAIServer

pytestmark = pytest.mark.walk

LAMPS = {
    "Avalon": "red",
    "Bremen": "green",
    "Cuxhaven": "white",
    "Dieppe": "blue",
    "Emden": "amber",
    "Faro": "violet",
    "Genoa": "orange",
}
SET = "Lamps of harbours"
CAREFUL = "Be careful: take the passage about the harbour that is asked about. [1]"
_NO_WIDER = "() => document.documentElement.scrollWidth <= window.innerWidth"


def speak(body: dict[str, Any]) -> Answer:
    """Who is told to be careful cites the right passage, others the last one."""
    told = "\n".join(text_of(one.get("content")) for one in body["messages"])
    asked = next(name for name in LAMPS if f"lamp of {name}?" in told)
    passages = parse_passages(told)
    right = next((one for one in passages if asked in one.text), None)
    wrong = next((one for one in passages if asked not in one.text), None)
    chosen = right if "Be careful" in told else wrong
    if chosen is None:
        return Answer("UPDATE CONTEXT")
    return Answer(f"{chosen.text.strip()} [{chosen.marker}]")


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(speak) as running:
        yield running


def take_in(page: Page, url: str) -> None:
    """A document about each harbour, and a question set about all of them."""
    page.goto(f"{url}/documents")
    texts = {name: f"The lamp of {name} is {colour}." for name, colour in LAMPS.items()}
    driver.add_files(page, [driver.file(f"{name}.txt", text) for name, text in texts.items()])
    page.goto(f"{url}/retrieval_lab?view=Measure")
    page.get_by_role("tab", name="From a file").click()
    lines = [f"What colour has the lamp of {name}?,{name}.txt" for name in LAMPS]
    given = driver.file(f"{SET}.csv", "\n".join(["question,expected", *lines]))
    page.get_by_test_id("stMain").locator("input[type=file]").first.set_input_files(given)
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("button", name="Measure with 7 questions")).to_be_visible()


def make_versions(page: Page) -> None:
    """A team in two versions, the second of which is told to be careful."""
    driver.go(page, "Teams")
    begin(page, "RetrieveChat")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved as version 1.")).to_be_visible()
    driver.unfold(page.locator("#stMain"), "Assistant")
    message = field(page, "System message")
    message.fill(CAREFUL)
    message.blur()
    expect(page.get_by_role("button", name="Save", exact=True)).to_be_enabled()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved as version 2.")).to_be_visible()


def put_beside(page: Page) -> None:
    """One question to both versions, from the team's own page."""
    page.get_by_role("button", name="Side by side").click()
    expect(page.get_by_role("button", name="Ask both")).to_be_visible()
    driver.settled(page)
    field(page, "Question").fill("What colour has the lamp of Emden?")
    field(page, "Question").blur()
    driver.settled(page)
    page.get_by_role("button", name="Ask both").click()
    expect(page.get_by_role("link", name="Compare the two runs step by step")).to_be_visible()


def put_set(page: Page) -> None:
    """The question set to both versions."""
    page.get_by_role("radio", name="Question sets").click()
    expect(page.get_by_role("button", name="Put 7 questions to 1 team")).to_be_visible()
    page.get_by_role("combobox", name=re.compile("Teams")).click()
    page.get_by_role("option", name="RetrieveChat, version 1").click()
    page.keyboard.press("Escape")
    expect(page.get_by_text("7 to 140 calls of models, by the limits of the team")).to_have_count(2)
    page.get_by_role("button", name="Put 7 questions to 2 teams").click()
    expect(page.get_by_role("combobox", name="Compared with it")).to_be_visible()


def try_again(page: Page, team: str) -> None:
    """A third version is put to the set from the list of teams, which follows by itself."""
    page.goto(team)
    driver.unfold(page.locator("#stMain"), "Assistant")
    message = field(page, "System message")
    message.fill(f"{CAREFUL} Be brief.")
    message.blur()
    expect(page.get_by_role("button", name="Save", exact=True)).to_be_enabled()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved as version 3.")).to_be_visible()
    driver.go_home(page, "Teams", page.get_by_role("button", name="New team"))
    due = page.locator(".st-key-evaluate-due")
    expect(due).to_contain_text("it has a newer version")
    driver.settled(page)
    due.get_by_role("button", name="Try again").click()
    expect(due).to_have_count(0)
    expect(page.get_by_text("A question set is being put to a team.")).to_have_count(0)
    expect(due).to_have_count(0)


def test_two_versions_answer_beside_each_other_and_are_measured(app: App, page: Page) -> None:
    take_in(page, app.url)
    make_versions(page)
    team = page.url

    put_beside(page)
    sides = page.locator("[class*='st-key-beside-']").filter(has_text="RetrieveChat, version")
    expect(sides.filter(has_text="version 2")).to_contain_text("The lamp of Emden is amber")
    expect(sides.filter(has_text="version 1")).not_to_contain_text("amber")
    expect(page.get_by_role("row", name="Sources cited")).to_contain_text("Emden.txt")
    page.reload()
    expect(sides.filter(has_text="version 2")).to_contain_text("The lamp of Emden is amber")
    driver.settled(page)
    assert violations(page, "two answers") == []
    page.get_by_role("link", name="Compare the two runs step by step").click()
    expect(page.get_by_role("heading", name="Two runs compared")).to_be_visible()

    driver.go(page, "Teams")
    put_set(page)
    expect(page.get_by_text("Better by more than chance")).to_be_visible()
    page.reload()
    expect(page.get_by_text("Better by more than chance")).to_be_visible()
    driver.settled(page)
    assert violations(page, "evaluations") == []
    driver.go_home(page, "Teams", page.get_by_role("button", name="New team"))
    page.go_back()
    expect(page.get_by_text("Better by more than chance")).to_be_visible()
    driver.settled(page)
    driver.resize(page, 390, 844)
    assert page.evaluate(_NO_WIDER)
    driver.resize(page, 1400, 950)
    try_again(page, team)
