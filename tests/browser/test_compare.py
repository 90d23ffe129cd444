"""Runs in the browser: stepped through, run again from a step, and put beside each other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route

from agentkit.llm.connections.config import Connection, save_connection
from agentkit.messages import text_of
from agentkit.settings import Settings
from tests.browser import driver, papers
from tests.browser.axe import violations
from tests.browser.expecting import expect
from tests.browser.serving import App, serving
from tests.servers.openai_server import Answer, OpenAIServer

pytestmark = pytest.mark.walk

WIDER = "() => document.getElementById('stMain').scrollWidth > innerWidth"
LATE = re.compile(r"/(BidiComponent|PageLink|Html)\.[^/]+\.js")
"""What the browser loads when a page first needs it."""
QUESTION = "When does the last ferry leave?"
FROM_HERE = "Run again from here"


def _play(body: dict[str, Any]) -> Answer:
    """A group, whose critic finds something by another model."""
    system = text_of(body["messages"][0]["content"])
    said = " ".join(text_of(one["content"]) for one in body["messages"])
    if "has to speak next" in system:
        is_checked = "is missing." in said
        return Answer("Writer" if is_checked else "Critic" if "timetable" in said else "Researcher")
    if "you are the researcher" in system:
        return Answer("The timetable names ten to ten in the evening.")
    if "you are the critic" in system:
        is_strict = "be strict" in system and body["model"] == "second-model"
        return Answer("The source is missing." if is_strict else "Nothing is missing.")
    end = "by an unknown source" if "source is missing" in said else papers.FERRY
    return Answer(f"The last ferry leaves at 21:50, {end}.\n\n**TERMINATE**")


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(_play) as running:
        yield running


@pytest.fixture
def app(tmp_path: Path, server: OpenAIServer) -> Iterator[App]:
    """With two models of the server."""
    key, models = "sk-browser", ("test-model", "second-model")
    made = Connection("Ours", server.base_url, key, models)
    save_connection(Settings(tmp_path / "data"), made, key_entered=True)
    with serving(tmp_path, {}) as served:
        yield served


def test_a_group_is_run_again_from_a_step_and_compared(
    app: App, page: Page, server: OpenAIServer
) -> None:
    page.goto(f"{app.url}/documents")
    driver.add_files(page, [driver.file("ferry.docx", papers.ferry_docx())])
    driver.go(page, "Chat")
    driver.choose_team(page, "Group")
    turn = driver.ask(page, QUESTION)
    driver.answered(page, turn)
    turn.get_by_role("link", name="Run", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(QUESTION)
    _step_through(page)
    _run_again(page)
    _compare(page)
    _choose_two(page)


def _step_through(page: Page) -> None:
    """By the arrow keys, forward and back, at no cost."""
    page.get_by_text("Step through").click()
    told = page.get_by_text(re.compile(r"^1 of \d+"))
    expect(told).to_be_visible()
    driver.settled(page)
    assert violations(page, "a run that is stepped through") == []
    slider = page.get_by_role("slider")
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text(re.compile(r"^2 of \d+"))).to_be_visible()
    page.keyboard.press("ArrowLeft")
    expect(told).to_be_visible()
    page.get_by_text("Step through").click()
    expect(page.get_by_role("tree")).to_be_visible()


def _run_again(page: Page) -> None:
    """From the critic's call on, with other instructions and another model."""
    page.get_by_role("textbox", name="Find in this run").fill("Nothing is missing.")
    page.keyboard.press("Enter")
    expect(page.get_by_text(re.compile("steps? with Nothing is missing"))).to_be_visible()
    page.get_by_role("treeitem", name=re.compile("^Model")).first.click()
    panel = page.locator(".st-key-step")
    expect(panel).to_contain_text("You are the critic", ignore_case=True)
    form, opens = page.get_by_role("dialog"), panel.get_by_role("button", name=FROM_HERE)
    opens.click()
    expect(form.get_by_label("What it is told")).to_be_visible()
    driver.settled(page)
    page.keyboard.press("Escape")
    expect(form).to_have_count(0)
    expect(opens).to_be_focused()
    _open_unmoved(page, opens)
    form.get_by_label("Model from here on").click()
    page.get_by_role("option", name="second-model").click()
    told = form.get_by_label("What it is told")
    told.fill(f"{told.input_value()}\nbe strict")
    form.get_by_role("button", name="Run again").click()
    expect(form).to_have_count(0)


def _open_unmoved(page: Page, button: Locator) -> None:
    """Load the page anew and click on what stands there while parts of it are still loaded: it is
    where it stays.
    """
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route(LATE, hold)
    page.reload()
    before = button.bounding_box()
    assert before is not None
    assert held != []
    for each in held:
        each.continue_()
    page.unroute(LATE, hold)
    expect(page.get_by_role("tree")).to_be_visible()
    expect(page.get_by_role("link", name="Open the chat")).to_be_visible()
    driver.settled(page)
    after = button.bounding_box()
    assert after is not None
    assert after["y"] == pytest.approx(before["y"], abs=1)
    button.click()


def _compare(page: Page) -> None:
    expect(page.get_by_role("heading", name="Two runs compared")).to_be_visible()
    answer = _part(page, "Answer")
    expect(answer.locator("del")).not_to_have_count(0)
    expect(answer.locator("ins").first).to_be_visible()
    expect(_part(page, "Settings")).to_contain_text("be strict")
    expect(page.get_by_text(re.compile(r"^The first \d+ steps are the same"))).to_be_visible()
    driver.settled(page)
    assert violations(page, "two runs compared") == []
    driver.resize(page, 390, 844)
    one, other = (answer.locator(".side").nth(place).bounding_box() for place in (0, 1))
    assert one is not None
    assert other is not None
    assert other["y"] >= one["y"] + one["height"]
    assert not page.evaluate(WIDER)
    driver.resize(page, 1280, 800)
    link = _part(page, "Steps").get_by_role("link", name=re.compile("of B$")).first
    link.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"step=\d+"))
    page.get_by_role("button", name="Compare with the run before").click()
    expect(answer.locator("del")).not_to_have_count(0)


def _part(page: Page, name: str) -> Locator:
    return page.locator("section").filter(has=page.get_by_role("heading", name=name))


def _choose_two(page: Page) -> None:
    """In the list of all runs, by the keyboard."""
    page.get_by_role("button", name="The run alone").click()
    page.get_by_role("button", name="All runs").click()
    boxes = page.get_by_role("table", name="Runs").get_by_role("checkbox")
    boxes.nth(0).focus()
    page.keyboard.press("Space")
    expect(page.get_by_text("Choose another one")).to_be_visible()
    boxes.nth(1).focus()
    page.keyboard.press("Space")
    page.get_by_role("button", name="Compare the two").click()
    expect(page.get_by_role("heading", name="Two runs compared")).to_be_visible()
    expect(page).to_have_url(re.compile("run=.*with="))
