"""Ask your usage: an example, its chart, saved and taken away as Parquet; an attack refused in
words; a question in words for which the model writes the SELECT.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Page
from pyarrow import parquet

from agentkit.events import Usage
from agentkit.ledger import queries
from agentkit.ledger.queries import CallFilter
from agentkit.retrieval import FakeEmbedder
from agentkit.settings import Settings
from agentkit.workspace import Workspace
from tests.browser import driver
from tests.browser.axe import violations
from tests.browser.expecting import expect
from tests.browser.serving import App, serving
from tests.ledger.conftest import call, record
from tests.servers.openai_server import Answer, OpenAIServer

pytestmark = pytest.mark.walk

OWNER = "local"
MODELS = ("gpt-5", "gpt-5-mini", "claude-sonnet-4-5")
SELECT = "select model, count(*) as calls from calls group by model"
NO_WIDER = "() => document.documentElement.scrollWidth <= window.innerWidth"


@pytest.fixture
def server(shared_server: OpenAIServer) -> OpenAIServer:
    """It writes a SELECT that reads a table which is not there, and puts it right when told."""
    shared_server.script = lambda body: Answer(
        f"```sql\n{SELECT}\n```" if "llm_calls" in str(body) else "select * from llm_calls"
    )
    return shared_server


def fill(data: Path) -> float:
    """A fortnight of calls; gives what they cost."""
    workspace = Workspace(Settings(data=data), FakeEmbedder())
    noon = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)
    for day in range(14):
        events = [
            call(Usage(900 * place, output=80), cost=0.25 * place + 0.05 * (day % 5), model=model)
            for place, model in enumerate(MODELS, start=1)
        ]
        record(workspace.ledger, events, owner=OWNER, at=noon - timedelta(days=day))
    cost = queries.totals(workspace.ledger, CallFilter(OWNER)).cost
    workspace.close()
    assert cost is not None
    return cost


@pytest.fixture
def filled(tmp_path: Path, server: OpenAIServer) -> Iterator[tuple[App, float]]:
    cost = fill(tmp_path / "data")
    environment = {
        "OPENAI_BASE_URL": server.base_url,
        "OPENAI_API_KEY": "sk-browser",
        "OPENAI_MODEL": "test-model",
    }
    with serving(tmp_path, environment) as app:
        yield app, cost


def test_usage_is_asked_drawn_saved_and_taken_away(
    filled: tuple[App, float], page: Page, tmp_path: Path
) -> None:
    app, cost = filled
    page.goto(f"{app.url}/usage")
    page.get_by_role("link", name="Ask your usage").click()
    expect(page.get_by_role("heading", name="Ask your usage", level=1)).to_be_visible()

    choose(page, "Examples", "Cost by day and model")
    expect(page.get_by_text("42 rows.")).to_be_visible()
    page.get_by_role("tab", name="Chart").click()
    expect(page.get_by_test_id("stVegaLiteChart")).to_be_visible()
    choose(page, "Colour", "model")
    driver.settled(page)
    assert violations(page, "ask usage") == []

    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("textbox", name="Name").fill("My costs")
    page.get_by_role("button", name="Save the query").click()
    expect(page.get_by_role("combobox", name="Saved")).to_be_visible()
    with page.expect_download() as begun:
        page.get_by_role("link", name="All rows as Parquet").click()
    file = tmp_path / "mine.parquet"
    begun.value.save_as(file)
    assert sum(parquet.read_table(file).column("dollars").to_pylist()) == pytest.approx(cost)

    write_select(page)
    answer(page, "copy (select 1) to '/tmp/stolen.csv'")
    expect(page.get_by_role("alert")).to_contain_text("kind COPY; only SELECT is answered")
    answer(page, "select * from read_text('/etc/hostname')")
    expect(page.get_by_role("alert")).to_contain_text("read_text() may not be read from")
    choose(page, "Saved", "My costs")
    expect(page.get_by_text("42 rows.")).to_be_visible()

    page.get_by_role("textbox", name="In words").fill("How many calls has each model?")
    page.get_by_role("button", name="Write the SELECT").click()
    expect(page.get_by_text("4 rows.")).to_be_visible()  # with those of the writing itself
    expect(page.get_by_role("textbox", name="SELECT")).to_have_value(SELECT)
    driver.resize(page, 390, 844)
    driver.settled(page)
    assert page.evaluate(NO_WIDER)
    page.get_by_role("link", name="What was asked of the model").click()
    expect(page.get_by_text("There is no table 'llm_calls' here").first).to_be_attached()


def write_select(page: Page) -> None:
    """Names are completed: by a click, and by Tab."""
    box, names = page.get_by_role("textbox", name="SELECT"), page.get_by_role("group", name="Names")
    box.fill("select max(c.co) from calls c")
    box.press("Home")
    for _ in "select max(c.co":
        box.press("ArrowRight")
    box.press_sequentially("s")
    expect(names.get_by_role("button")).to_have_text(["cost"])
    names.get_by_role("button", name="cost").click()
    expect(box).to_have_value("select max(c.cost) from calls c")
    box.press("End")
    box.press_sequentially(" where stat")
    expect(names.get_by_role("button")).to_have_text(["status"])
    box.press("Tab")
    expect(box).to_have_value("select max(c.cost) from calls c where status")
    expect(box).to_be_focused()
    box.press_sequentially(" = 'ok'")
    page.get_by_role("button", name="Answer", exact=True).click()
    expect(page.get_by_text("1 row.", exact=True)).to_be_visible()


def answer(page: Page, sql: str) -> None:
    """Write a statement into the box and ask it."""
    page.get_by_role("textbox", name="SELECT").fill(sql)
    page.get_by_role("button", name="Answer", exact=True).click()


def choose(page: Page, name: str, option: str) -> None:
    """Choose from a list by its name; a list closes when the page is scrolled below it, which a
    click on what is out of sight does.
    """
    box = page.get_by_role("combobox", name=name)
    box.scroll_into_view_if_needed()
    page.evaluate("() => new Promise(drawn => requestAnimationFrame(() => setTimeout(drawn)))")
    box.click()
    page.get_by_role("option", name=option, exact=True).click()
    driver.settled(page)
