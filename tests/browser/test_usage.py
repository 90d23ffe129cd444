"""The usage page in the browser, over a month of a team of ten: from a question to its answer in
two or three clicks, by bars, rows and buttons, and back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page
from pyarrow import parquet

from agentkit.database import Database
from agentkit.events import Event, ModelCalled, ModelReplied, Recorded, RunFinished, RunStarted
from agentkit.ledger import Ledger, LedgerWriter, RunKey
from agentkit.ui.text import figures
from tests.bench import month
from tests.browser import driver
from tests.browser.axe import violations
from tests.browser.expecting import expect
from tests.browser.serving import App, serving

CALLS, DAYS = 6_000, 60
TOTALS = "select count(*) as calls, sum(cost) as cost, sum(prompt_tokens) as tokens from calls"
SLOW_QUESTION = "Compare every clause of the two contracts"
COUNT = "addEventListener('pointerdown', () => sessionStorage.clicks = clicks() + 1, true);"
CLICKS = "const clicks = () => Number(sessionStorage.clicks ?? 0);"
WIDER = "() => document.getElementById('stMain').scrollWidth > innerWidth"


def today() -> datetime:
    """The day on which the app is looked at, which is in UTC as the browser's clock is."""
    return datetime.combine(datetime.now(UTC).date(), time())


def write_month(data: Path) -> str:
    """The month until today, with one slow call that has its request; gives the day since when a
    server turns calls away.
    """
    data.mkdir(parents=True)
    database = Database(data / "agentkit.duckdb")
    ledger = Ledger(database)
    month.fill(database, CALLS, today() - timedelta(days=DAYS - 1), days=DAYS)
    asked = {"role": "user", "content": SLOW_QUESTION}
    call = ("slow", "Writer", "api.openai.com", "gpt-5")
    told: list[Event] = [
        RunStarted("script", "Contracts compared"),
        ModelCalled(*call, messages=[asked]),
        ModelReplied(*call, text="They differ.", seconds=2 * month.SLOW_S),
        RunFinished(),
    ]
    writer = LedgerWriter(ledger, RunKey("slow-run", month.PEOPLE[0]))
    at = (datetime.now(UTC) - timedelta(minutes=1)).timestamp()
    for seq, event in enumerate(told, start=1):
        writer.write(Recorded(seq, at, event))
    writer.flush()
    since = "select min(finished_at) from llm_calls where error_type = 'RateLimitError'"
    day: datetime = database.value(since)
    database.close()
    return f"{day:%Y-%m-%d}"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[App, str]]:
    """The app over that month, as one of the ten sees it where everybody may see all figures, and
    since when a server turns calls away.
    """
    folder = tmp_path_factory.mktemp("usage")
    since = write_month(folder / "data")
    rules = {"AGENTKIT_OWNER": month.PEOPLE[0], "AGENTKIT_USAGE_OF_ALL": "true"}
    with serving(folder, rules) as served:
        yield served, since


@pytest.fixture
def app(filled: tuple[App, str]) -> App:
    return filled[0]


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A tab whose clock is UTC, as the days of the month are."""
    context = browser.new_context(
        viewport={"width": 1400, "height": 1100}, timezone_id="UTC", reduced_motion="reduce"
    )
    context.add_init_script(f"{CLICKS} {COUNT}")
    yield context.new_page()
    context.close()


def count_clicks(page: Page) -> int:
    """How often the mouse was pressed since the tab was opened."""
    return int(page.evaluate("() => sessionStorage.clicks ?? 0"))


def open_usage(page: Page, app: App, query: str = "") -> None:
    page.goto(f"{app.url}/usage{query}")
    expect(bars(page).first).to_be_visible()
    driver.settled(page)


def bars(page: Page, label: str = "") -> Locator:
    """The bars of the chart over time, or those of one day."""
    chart = page.get_by_test_id("stVegaLiteChart").first
    return chart.locator(f"path[aria-roledescription='bar'][aria-label*='label: {label}']")


def at_bar(page: Page, day: datetime) -> tuple[float, float]:
    """A place above the bar of a day, which belongs to it."""
    box = bars(page, f"{label(day)};").first.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + 4


def label(day: datetime) -> str:
    return f"{day.day} {day:%b}"


def figure(page: Page, name: str) -> Locator:
    return page.get_by_test_id("stMetric").filter(has_text=name).get_by_test_id("stMetricValue")


def test_two_clicks_tell_where_the_money_of_the_13th_went(app: App, page: Page) -> None:
    asked = driver.foreign(page, app)
    open_usage(page, app)
    dear = month.find_day(today(), month.DEAR_DAY)
    whole = figure(page, "cost").inner_text()
    page.mouse.click(*at_bar(page, dear))
    chosen = page.locator(".st-key-usage-chosen")
    expect(chosen).to_contain_text(f"{label(dear)} {dear:%Y}")
    leaders = page.locator(".st-key-usage-leaders")
    expect(leaders).to_contain_text(month.AUDIT)
    expect(leaders).to_contain_text(month.PEOPLE[-1])
    leaders.get_by_role("button", name=re.compile(month.AUDIT)).click()
    expect(chosen).to_contain_text(month.AUDIT)
    expect(page).to_have_url(re.compile(r"chat=chat--1.*|.*from=\d{4}-\d\d-13"))
    assert count_clicks(page) == 2
    expect(figure(page, "cost")).not_to_have_text(whole)
    driver.settled(page)
    assert violations(page, "usage") == []
    page.go_back()
    expect(chosen).not_to_contain_text(month.AUDIT)
    page.go_back()
    expect(figure(page, "cost")).to_have_text(whole)
    assert asked == []


def test_a_drag_over_bars_chooses_their_days(app: App, page: Page) -> None:
    open_usage(page, app, "?measure=calls")
    first, last = (today() - timedelta(days=days) for days in (20, 14))
    (left, top), (right, _) = at_bar(page, first), at_bar(page, last)
    deep = top + 40  # so that it is over the bars still when the page moves by a line meanwhile
    page.mouse.move(left, deep)
    page.mouse.down()
    page.mouse.move(right, deep, steps=8)
    page.mouse.up()
    chosen = page.locator(".st-key-usage-chosen")
    expect(chosen).to_contain_text(f"{label(first)} {first:%Y} to {label(last)} {last:%Y}")


@pytest.mark.walk
def test_two_clicks_tell_what_failed_and_since_when(filled: tuple[App, str], page: Page) -> None:
    app, since = filled
    open_usage(page, app)
    page.get_by_role("tab", name="Errors").click()
    expect(page.get_by_text(re.compile("^Failed calls by day"))).to_be_visible()
    rate_limits = page.locator("table[role=grid]").first
    expect(rate_limits).to_contain_text("RateLimitError")
    expect(rate_limits).to_contain_text("api.fast.example")
    expect(rate_limits).to_contain_text(since)
    assert count_clicks(page) <= 2


@pytest.mark.walk
def test_three_clicks_lead_to_the_request_of_the_slowest_call(app: App, page: Page) -> None:
    open_usage(page, app)
    page.get_by_role("tab", name="Speed").click()
    expect(page.get_by_role("heading", name="Slowest calls")).to_be_visible()
    driver.settled(page)
    table = page.get_by_test_id("stDataFrame").first
    table.scroll_into_view_if_needed()
    box = table.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 14, box["y"] + 52)
    expect(page.get_by_role("heading", level=1)).to_have_text("Contracts compared")
    expect(page.locator(".st-key-step")).to_contain_text(SLOW_QUESTION)
    assert count_clicks(page) <= 3
    page.go_back()
    expect(page.get_by_role("heading", name="Slowest calls")).to_be_visible()


@pytest.mark.walk
def test_the_report_a_file_and_sql_tell_what_the_page_tells(
    app: App, page: Page, tmp_path: Path
) -> None:
    open_usage(page, app, f"?days=All&owner={month.PEOPLE[0]}")
    told = {name: figure(page, name).inner_text() for name in ("cost", "Calls", "Tokens in")}
    report = download(page, "Report", tmp_path).read_text(encoding="utf-8")
    written = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", report))
    page.get_by_role("tab", name="Calls").click()
    table = parquet.read_table(download(page, "Export the calls as Parquet", tmp_path))
    costs = [cost for cost in table.column("cost").to_pylist() if cost is not None]
    page.get_by_role("link", name="Ask your usage").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Ask your usage")
    driver.settled(page)
    page.get_by_role("textbox", name="SELECT").fill(TOTALS)
    page.get_by_role("button", name="Answer", exact=True).click()
    row = parquet.read_table(download(page, "All rows as Parquet", tmp_path)).to_pylist()[0]
    assert (row["calls"], row["cost"]) == (len(table), pytest.approx(sum(costs)))
    assert told["Calls"] == written["Calls"] == figures.count(row["calls"])
    assert told["cost"] == written["Known cost"] == figures.dollars(row["cost"])
    assert written["Tokens in"] == figures.count(row["tokens"])
    assert told["Tokens in"].removeprefix("~") == figures.short(row["tokens"])


def download(page: Page, link: str, folder: Path) -> Path:
    """What a link gives, as a file."""
    with page.expect_download() as begun:
        page.get_by_role("link", name=link).click()
    path = folder / begun.value.suggested_filename
    begun.value.save_as(path)
    return path


@pytest.mark.parametrize("tab", ["Overview", "Look-ups"])
def test_a_phone_shows_all_of_it(app: App, browser: Browser, tab: str) -> None:
    context = browser.new_context(
        viewport={"width": 390, "height": 900}, color_scheme="dark", timezone_id="UTC"
    )
    page = context.new_page()
    page.goto(f"{app.url}/usage?tab={tab}")
    expect(bars(page).first).to_be_visible()
    driver.settled(page)
    assert not page.evaluate(WIDER)
    context.close()
