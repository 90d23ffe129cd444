"""Answers in structures, in the browser: a table with its sources and downloads, and a game that is
watched and stopped.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page
from pyarrow import parquet

from tests.browser import driver
from tests.browser.expecting import expect
from tests.browser.serving import App
from tests.servers.openai_server import Answer, OpenAIServer
from tests.teams.werewolf.table import Turn, players, thought, turn_of

pytestmark = pytest.mark.walk

BILLS = {
    "harbour.txt": (
        "Invoice No: INV-2025-014\nCustomer: Port of Sandvik Bay\nTotal: 1,486.90 EUR\nDate:"
        " 2025-03-14"
    ),
    "cable.txt": "Customer: =Larkmoor Instruments of the Northern Isles\nTotal: 182.50 EUR",
}
WANTED = "table of: invoice number, customer, total (number), date (date)"
PROSE = "I would rather talk than fill in forms."
SPOKEN = "Whoever sleeps well is a wolf."


_FIRST_LOOKS = """
window.looks = [];
new MutationObserver(() => {
    const table = document.querySelector("[class*=st-key-turn-] table");
    if (table && !looks.includes(getComputedStyle(table).display)) {
        looks.push(getComputedStyle(table).display);
    }
}).observe(document, { childList: true, subtree: true });
"""
"""Notes how a table in an answer is laid out, from the first moment that it is there."""


@pytest.mark.parametrize("server", [None], ids=["offline"])
def test_a_table_shows_its_sources_and_is_taken_away(server: None, app: App, page: Page) -> None:
    page.goto(f"{app.url}/documents")
    driver.add_files(page, [driver.file(name, text) for name, text in BILLS.items()])
    driver.go(page, "Chat")
    driver.choose_team(page, "Table from documents")
    turn = driver.ask(page, WANTED)
    expect(turn.get_by_role("button", name="JSON")).to_be_visible()
    driver.settled(page)
    expect(turn.locator("tbody tr").filter(has_text="harbour.txt")).to_contain_text("1486.9")
    expect(turn.locator("a[href^='#cite-']")).to_have_count(6)
    turn.locator("td").filter(has_text="1486.9").locator("a").click()
    expect(page.locator(".st-key-source mark").first).to_have_text("Total: 1,486.90 EUR")
    _three_files_say_the_same(page, turn)
    page.add_init_script(_FIRST_LOOKS)
    page.set_viewport_size({"width": 400, "height": 850})
    page.reload()
    expect(turn.locator("table")).to_contain_text("INV-2025-014")
    driver.settled(page)
    assert page.evaluate("window.looks") == ["block"], "a table stood there without its style"
    assert turn.locator("table").evaluate("table => table.scrollWidth > table.clientWidth"), (
        "too narrow to show anything"
    )
    assert page.locator("#stMain").evaluate("main => main.scrollWidth <= main.clientWidth"), (
        "the page scrolls sideways"
    )
    _names_stay_in_sight(turn)


def _names_stay_in_sight(turn: Locator) -> None:
    """Scrolled to its end, the table still shows whose row it is, and the links beside that can be
    clicked.
    """
    table = turn.locator("table")
    table.evaluate("table => { table.scrollLeft = table.scrollWidth; }")
    name, edge = turn.locator("tbody td").first.bounding_box(), table.bounding_box()
    assert name
    assert edge
    assert abs(name["x"] - edge["x"]) <= 2
    last = turn.locator("tbody tr").filter(has_text="harbour.txt").locator("td").last
    last.locator("a").click(trial=True)


def _three_files_say_the_same(page: Page, turn: Locator) -> None:
    rows = list(csv.DictReader(io.StringIO(_file(page, turn, "CSV").decode("utf-8-sig"))))
    columns = parquet.read_table(io.BytesIO(_file(page, turn, "Parquet"))).to_pylist()
    whole = json.loads(_file(page, turn, "JSON"))["rows"]
    assert (
        [row["document"] for row in rows]
        == [row["document"] for row in columns]
        == [row["document"] for row in whole]
    )
    assert (
        {float(row["total"]) for row in rows}
        == {row["total"] for row in columns}
        == {1486.9, 182.5}
    )
    assert {row["values"]["total"] for row in whole} == {1486.9, 182.5}
    (harbour,) = [row for row in rows if row["document"] == "harbour.txt"]
    assert harbour["total_source"].startswith("harbour.txt, line")
    assert harbour["total_source"].endswith(": “Total: 1,486.90 EUR”")
    assert harbour["date"] == "2025-03-14"
    (cable,) = [row for row in rows if row["document"] == "cable.txt"]
    assert cable["customer"].startswith("'="), "a spreadsheet would compute it"


def _file(page: Page, turn: Locator, name: str) -> bytes:
    with page.expect_download() as started:
        turn.get_by_role("button", name=name).click()
    assert started.value.suggested_filename == f"table.{name.lower()}"
    return Path(started.value.path()).read_bytes()


class Play:
    """A game in which each first word by day is prose, and the last who talks halts until the
    server may go on.
    """

    def __init__(self) -> None:
        self._reply = players(talk=self._talk)

    def __call__(self, body: dict[str, Any]) -> Answer:
        turn = turn_of(body["messages"])
        halts = turn.phase == "talk" and turn.player == turn.alive[-1] and turn.retry
        return Answer(self._reply(body), halt_after=1 if halts else None)

    @staticmethod
    def _talk(turn: Turn) -> Any:
        return {"speak": SPOKEN} if turn.retry else f"raw:{PROSE}"


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(Play()) as running:
        yield running


def test_a_game_is_watched_over_a_reload_and_stopped(
    app: App, page: Page, server: OpenAIServer
) -> None:
    page.goto(app.url)
    driver.choose_team(page, "Werewolf for six")
    turn = driver.ask(page, "Play, please!")
    _is_watched(turn)
    page.reload()
    turn = page.locator("[class*='st-key-turn-']").last
    _is_watched(turn)
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(turn).to_contain_text("The game was stopped on day 1; nobody has won.")
    expect(turn).to_contain_text("Stopped.")
    server.go_on.set()
    turn = driver.ask(page, "Play to the end!")
    expect(turn).to_contain_text("The werewolves win")
    driver.answered(page, turn)
    expect(turn).not_to_contain_text(SPOKEN)
    driver.unfold(turn, "Steps")
    expect(turn).to_contain_text(SPOKEN)
    expect(turn).not_to_contain_text("Secretly")
    _choose(page, "Everything")
    expect(turn).to_contain_text("thought: Secretly")
    _show_earlier_steps(turn)
    expect(turn).to_contain_text(f"thought: {thought('Player6')}")  # who is never the first to die
    expect(turn).to_contain_text(PROSE)
    expect(page.get_by_test_id("stException")).to_have_count(0)


def _is_watched(turn: Locator) -> None:
    """What is said is seen without a click, what is thought and what could not be read is not."""
    expect(turn.get_by_text(SPOKEN).first).to_be_visible()
    expect(turn.get_by_text("is thinking").last).to_be_visible()
    expect(turn).to_contain_text("reply 1 could not be read")
    expect(turn).not_to_contain_text("Secretly")
    expect(turn).not_to_contain_text(PROSE)


def _show_earlier_steps(turn: Locator) -> None:
    """A long game opens at its end: how long it is depends on who gets which role."""
    driver.settled(turn.page)
    earlier = turn.get_by_role("button", name="Earlier")
    while earlier.count():
        label = earlier.inner_text()
        earlier.click()
        expect(turn.get_by_text(label[label.index("Earlier") :], exact=True)).to_have_count(0)
        driver.settled(turn.page)


def _choose(page: Page, level: str) -> None:
    page.locator(".st-key-choice button").first.click()
    page.get_by_role("radio", name=level).click()
    expect(page.get_by_role("radio", name=level)).to_be_checked()
    driver.leave_choices(page)
