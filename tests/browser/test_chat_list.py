"""The list of chats and the search over all of them, by mouse, keyboard and thumb."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from agentkit.events import MessageSent
from agentkit.ledger import Ledger
from agentkit.ledger.store import utc_now
from agentkit.retrieval import FakeEmbedder
from agentkit.settings import Settings
from agentkit.workspace import Workspace
from tests.browser import driver
from tests.browser.serving import App, serving
from tests.ledger.conftest import record, say

OWNER = "local"
TITLES = ("Ferries", "<b>Leases</b>", "Käsekuchen", "Minutes of the board")


def _talk(ledger: Ledger, title: str, runs: list[list[MessageSent]], days_ago: float) -> None:
    chat = ledger.create_chat(OWNER, title, "answer", "offline", "Documents")
    for said in runs:
        record(ledger, said, owner=OWNER, chat_id=chat.id)
    when = utc_now() - timedelta(days=days_ago)
    sql = "update chats set updated_at = ? where id = ?"
    ledger.database.execute(sql, [when, chat.id])


def _long_talk() -> list[list[MessageSent]]:
    """Of 60 questions; after the first answer there is another way, which is not shown."""
    first = [say("fq0", None, "Question 0"), say("fa0", "fq0", "Answer 0: zebrafish", "assistant")]
    other = [say("qx", "fa0", "Another way"), say("ax", "qx", "By Känguru", "assistant")]
    runs = [first, other]
    for number in range(1, 60):
        asked, before = f"fq{number}", f"fa{number - 1}"
        answer = f"Answer {number} to that. " * 8
        question = say(asked, before, f"Question {number}")
        runs.append([question, say(f"fa{number}", asked, answer, "assistant")])
    return runs


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    """The app over a folder with four chats, one of them long."""
    workspace = Workspace(Settings(data=tmp_path / "data"), FakeEmbedder())
    ledger = workspace.ledger
    _talk(ledger, TITLES[0], _long_talk(), 0)
    for number, title in enumerate(TITLES[1:], start=1):
        said = [say(f"m{number}", None, f"About {title}, in short")]
        _talk(ledger, title, [said], number * 40)
    workspace.close()
    with serving(tmp_path, {}) as served:
        yield served


def _rows(page: Page) -> Locator:
    return page.locator("[class*='st-key-chat-row-']")


def _note(page: Page) -> Locator:
    return page.locator(".st-key-chat-list").get_by_role("status")


def test_chats_are_kept_in_order_by_mouse(app: App, page: Page) -> None:
    page.goto(app.url)
    expect(_rows(page)).to_contain_text(list(TITLES))
    expect(page.get_by_role("heading", name="Today", level=2)).to_be_visible()
    driver.act_on_chat(page, "Käsekuchen", "Pin")
    expect(page.get_by_role("heading", name="Pinned", level=2)).to_be_visible()
    expect(_rows(page).first).to_contain_text("Käsekuchen")

    driver.act_on_chat(page, "<b>Leases</b>", "Move to a folder…")
    page.get_by_role("menuitem", name="New folder…").click()
    page.get_by_label("Name of the folder").fill("   ")
    page.get_by_role("button", name="Move here").click()
    expect(page.get_by_text("The name of the folder is empty; type one.")).to_be_visible()
    page.get_by_label("Name of the folder").fill("Home & <i>rent</i>")
    page.get_by_role("button", name="Move here").click()
    view = page.get_by_label("Which chats are listed")
    view.select_option("Home & <i>rent</i>")
    expect(_rows(page)).to_have_count(1)
    expect(_rows(page)).to_contain_text("<b>Leases</b>")
    view.select_option("All chats")

    page.get_by_role("button", name="Select", exact=True).click()
    page.get_by_label("Select Ferries").check()
    page.get_by_label("Select Minutes of the board").check()
    page.get_by_role("toolbar").get_by_role("button", name="Delete").click()
    expect(_rows(page)).to_have_count(2)
    expect(_note(page)).to_contain_text("2 chats deleted.")
    page.get_by_role("button", name="Undo").click()
    expect(_rows(page)).to_have_count(4)

    driver.act_on_chat(page, "Minutes of the board", "Archive")
    expect(_rows(page)).to_have_count(3)
    view.select_option("Archived")
    driver.act_on_chat(page, "Minutes of the board", "Bring back")
    expect(_rows(page)).to_have_count(0)
    view.select_option("All chats")
    expect(_rows(page)).to_have_count(4)


def test_the_search_leads_to_what_was_said_by_keyboard(app: App, page: Page) -> None:
    page.goto(f"{app.url}/usage")
    expect(page.get_by_role("heading", level=1)).to_have_text("Usage")
    driver.settled(page)
    found = driver.search(page, "ZEBRAFISH answer")  # far above what a chat shows at first
    expect(found.locator("mark")).to_have_text(["Answer", "zebrafish"])
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Ferries")
    expect(page.get_by_text("Answer 0: zebrafish")).to_be_in_viewport()

    driver.settled(page)
    page.keyboard.press("Control+k")
    page.get_by_label("Only in this chat").check()
    page.get_by_label("Words to search for").fill("kanguru")  # in another branch
    expect(found).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.locator("#stMain").get_by_text("By Känguru")).to_be_in_viewport()
    expect(page.get_by_text("Question 1", exact=True)).to_have_count(0)

    driver.settled(page)
    page.keyboard.press("Control+k")
    expect(found).to_contain_text(["New chat", *TITLES])
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "ArrowDown"):
        page.keyboard.press(key)
    expect(found.nth(2)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("<b>Leases</b>")
    driver.settled(page)
    page.keyboard.press("Control+k")
    expect(found.first).to_contain_text("New chat")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_thumb_searches_chooses_and_deletes(app: App, browser: Browser) -> None:
    phone = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = phone.new_page()
    page.goto(app.url)
    sidebar = page.get_by_test_id("stSidebar")
    page.get_by_test_id("stExpandSidebarButton").tap()
    page.get_by_role("button", name="Actions for Minutes of the board").tap()
    page.get_by_role("menuitem", name="Delete").tap()
    expect(_note(page)).to_contain_text("1 chat deleted.")
    expect(_rows(page)).to_have_count(3)
    page.get_by_role("button", name="Search chats").tap()
    expect(sidebar).to_have_attribute("data-collapsed", "true")
    page.get_by_label("Words to search for").fill("zebrafish")
    page.get_by_role("option").filter(has_text="Answer 0").tap()
    expect(page.get_by_role("heading", level=1)).to_have_text("Ferries")
    expect(page.get_by_text("Answer 0: zebrafish")).to_be_in_viewport()
    driver.settled(page)
    page.get_by_test_id("stExpandSidebarButton").tap()
    _rows(page).filter(has_text="Käsekuchen").get_by_role("button").first.tap()
    expect(page.get_by_role("heading", level=1)).to_have_text("Käsekuchen")
    expect(sidebar).to_have_attribute("data-collapsed", "true")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    phone.close()
