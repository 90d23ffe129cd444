"""Runs in the browser: from a wrong answer to the passage that was not found, from all runs to the
dearest request, by mouse, by keyboard and on a phone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Locator, Page

from agentkit.database import Database
from agentkit.events import (
    Event,
    ModelCalled,
    ModelReplied,
    Recorded,
    RunFinished,
    RunStarted,
    Usage,
)
from agentkit.ledger import Ledger, LedgerWriter, RunKey
from tests.browser import driver, papers
from tests.browser.axe import violations
from tests.browser.expecting import PATIENCE_MS, expect
from tests.browser.serving import App, serving

CALLS = 1_500
DEAREST = 700
WIDER = "() => document.getElementById('stMain').scrollWidth > innerWidth"


def write_script(data: Path) -> None:
    """A recorded script of many calls, of which one was dear, and one of a fifth of a second."""
    data.mkdir(parents=True)
    database = Database(data / "agentkit.duckdb")
    told: list[Event] = [RunStarted("script", "Ferries discussed at length")]
    for number in range(CALLS):
        agent, asked = f"Agent {number % 3}", {"role": "user", "content": f"Question {number}"}
        call, cost = f"call-{number}", 2.5 if number == DEAREST else 0.001
        usage = Usage(input=50, output=10)
        told.append(ModelCalled(call, agent, "server", "small", messages=[asked]))
        told.append(ModelReplied(call, agent, "server", "small", usage=usage, cost=cost))
    write_run(database, "ferries", [*told, RunFinished()], 1.0)
    write_run(database, "quick", [RunStarted("script", "A quick one"), RunFinished()], 0.2)
    database.close()


def write_run(database: Database, run_id: str, told: Sequence[Event], pace_s: float) -> None:
    """A run of these events, each so many seconds after the one before."""
    writer = LedgerWriter(Ledger(database), RunKey(run_id, "local"))
    for seq, event in enumerate(told, start=1):
        writer.write(Recorded(seq, 1_700_000_000.0 + seq * pace_s, event))
    writer.flush()


@pytest.fixture(scope="module")
def filled(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[App, str]]:
    """The app with a recorded script, and a question whose look-up gave one passage; its chat."""
    folder = tmp_path_factory.mktemp("runs")
    write_script(folder / "data")
    with serving(folder, {}) as app:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto(f"{app.url}/documents")
        kettle = driver.file("kettle.pdf", papers.kettle_pdf())
        driver.add_files(page, [kettle, driver.file("ferry.docx", papers.ferry_docx())])
        settings = quote('{"top_k": 1, "merge": false}')
        page.goto(f"{app.url}/retrieval_lab?collection=Documents&settings={settings}")
        page.get_by_role("button", name="Use these settings in chat").click()
        expect(page.get_by_text("Chats search like this.")).to_be_visible()
        driver.go(page, "Chat")
        driver.answered(page, driver.ask(page, papers.FERRY_QUESTION))
        chat = page.url
        page.close()
        yield app, chat


def step(page: Page, name: str | re.Pattern[str]) -> Locator:
    """The first step of the trace whose name begins so."""
    return page.get_by_role("treeitem", name=name).first


@pytest.mark.walk
def test_three_clicks_lead_from_an_answer_to_what_was_not_given_and_why(
    filled: tuple[App, str], page: Page
) -> None:
    app, chat = filled
    asked = driver.foreign(page, app)
    page.goto(chat)
    page.get_by_role("link", name="Run", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(papers.FERRY_QUESTION)
    step(page, re.compile("^Look-up")).click()
    panel = page.locator(".st-key-step")
    expect(panel).to_contain_text("1 passage given")
    expect(panel).to_contain_text("cited as 1")
    panel.get_by_text("What was not given, and why").click()
    expect(panel).to_contain_text("rank 2, and 1 were asked for")
    expect(page).to_have_url(re.compile(r"step=\d+"))
    driver.settled(page)
    assert violations(page, "a look-up of a run") == []
    panel.get_by_role("link", name="Try it in the retrieval lab").click()
    expect(page.get_by_role("heading", name="Retrieval lab", level=1)).to_be_visible()
    expect(page.get_by_text(re.compile("^Meaning and words · 1 passage"))).to_be_visible()
    expect(page.locator("[class*='st-key-hit-A-']")).to_have_count(1)
    assert asked == []


@pytest.mark.walk
def test_a_dear_day_on_the_usage_page_leads_to_the_request_that_cost_it(
    filled: tuple[App, str], page: Page
) -> None:
    app, _ = filled
    page.goto(f"{app.url}/runs?sort=dearest")
    runs = page.get_by_role("table", name="Runs")
    expect(runs.get_by_role("row")).to_have_count(5)  # with the head
    driver.settled(page)
    assert violations(page, "all runs") == []
    _open_dear_day(page, app)
    expect(page).to_have_url(re.compile(r"/runs\?from=2023-11-14&to=2023-11-14$"))
    expect(runs.get_by_role("row")).to_have_count(3)
    runs.get_by_role("link").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Ferries discussed at length")
    page.get_by_role("button", name=re.compile("^Dearest call")).click()
    panel = page.locator(".st-key-step")
    expect(panel).to_contain_text(f"Question {DEAREST}")
    chosen = page.get_by_role("treeitem", selected=True)
    expect(chosen).to_have_attribute("aria-label", re.compile(r"\$2\.50"))
    assert page.get_by_role("treeitem").count() < 60  # of 1,501: what is out of sight is not drawn
    _scroll(page)
    page.get_by_role("button", name="All runs").click()
    expect(runs.get_by_role("row")).to_have_count(3)
    expect(page).to_have_url(re.compile(r"/runs\?from=2023-11-14&to=2023-11-14$"))


def _open_dear_day(page: Page, app: App) -> None:
    """From the bar of a month that stands out to the runs of its day."""
    page.goto(f"{app.url}/usage?from=2023-11-01&to=2023-11-30")
    chart = page.get_by_test_id("stVegaLiteChart").first
    bar = chart.locator("path[aria-roledescription='bar'][aria-label*='label: 14 Nov']").first
    expect(bar).to_be_attached()
    driver.settled(page)
    place = bar.bounding_box()
    assert place is not None
    page.mouse.click(place["x"] + place["width"] / 2, place["y"] + 4)
    expect(page.locator(".st-key-usage-chosen")).to_contain_text("14 Nov 2023")
    driver.settled(page)
    page.get_by_role("tab", name="Calls").click()
    expect(page).to_have_url(re.compile(r"&tab=Calls"))  # else it may come to the next page
    page.get_by_role("link", name="The runs behind these").click()


def _scroll(page: Page) -> None:
    """What stays in sight is not drawn anew; what comes into sight is there, in its order."""
    steps = page.get_by_role("tree")
    chosen = page.get_by_role("treeitem", selected=True)
    row = chosen.element_handle()
    steps.evaluate("steps => { steps.scrollTop += 100; }")
    after = page.get_by_role("treeitem", name=re.compile("^Model")).last
    expect(after).to_have_attribute("aria-posinset", re.compile(r"\d+"))
    assert chosen.evaluate("(now, before) => now === before", row)
    steps.evaluate("steps => { steps.scrollTop = steps.scrollHeight; }")
    last = page.get_by_role("treeitem").last
    expect(last).to_have_attribute("aria-posinset", str(CALLS + 1))
    expect(last).to_have_accessible_name(re.compile("^Model, small, Agent"))
    places = page.get_by_role("treeitem").evaluate_all(
        "rows => rows.map((row) => Number(row.getAttribute('aria-posinset')))"
    )
    assert places == sorted(places)
    assert len(places) < 60


def test_the_keyboard_goes_through_the_steps_and_a_text_is_found(
    filled: tuple[App, str], page: Page
) -> None:
    app, _ = filled
    page.goto(f"{app.url}/runs?run=ferries")
    tree = page.get_by_role("tree")
    step(page, re.compile("^Run,")).wait_for()
    driver.settled(page)
    tree.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "Enter"):
        page.keyboard.press(key)
    panel = page.locator(".st-key-step")
    expect(panel).to_contain_text("Question 0")
    expect(page).to_have_url(re.compile("step=2$"))
    expect(tree).to_be_focused()
    page.keyboard.press("End")
    expect(tree).to_have_attribute("aria-activedescendant", f"step-{CALLS * 2}")
    page.keyboard.press("Escape")
    expect(panel).to_contain_text("Choose a step")
    expect(page).to_have_url(re.compile("run=ferries$"))
    page.keyboard.press("Home")
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("treeitem")).to_have_count(1)
    page.keyboard.press("ArrowRight")
    page.get_by_role("textbox", name="Find in this run").fill(f"question {DEAREST}")
    page.keyboard.press("Enter")
    expect(page.get_by_role("treeitem")).to_have_count(2)
    expect(page).to_have_url(re.compile(r"find=question"))


@pytest.mark.walk
def test_within_a_second_time_is_told_in_milliseconds(filled: tuple[App, str], page: Page) -> None:
    app, _ = filled
    page.goto(f"{app.url}/runs?run=quick")
    expect(page.locator(".axis div span")).to_have_text(
        ["0 ms", "50 ms", "100 ms", "150 ms", "200 ms"]
    )


def test_on_a_phone_the_bar_of_a_step_stands_below_its_name(
    filled: tuple[App, str], browser: Browser
) -> None:
    app, _ = filled
    context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme="dark")
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.goto(f"{app.url}/runs")
    page.get_by_role("link", name="Ferries discussed at length").click()
    row = step(page, re.compile("^Model"))
    name, bar = row.locator(".tree").bounding_box(), row.locator(".time").bounding_box()
    assert name is not None
    assert bar is not None
    assert bar["y"] >= name["y"] + name["height"] - 1
    assert bar["width"] > 300
    row.click()
    expect(page.locator(".st-key-step")).to_be_in_viewport()
    expect(page.locator(".st-key-step")).to_contain_text("Question 0")
    assert not page.evaluate(WIDER)
    driver.settled(page)
    assert violations(page, "a step on a phone") == []
    context.close()
