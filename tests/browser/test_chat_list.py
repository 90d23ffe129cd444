"""The list of chats and the search over all of them, by mouse, keyboard and thumb."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page

from agentkit.events import MessageSent
from agentkit.ledger import Ledger
from agentkit.ledger.store import utc_now
from agentkit.retrieval import FakeEmbedder
from agentkit.settings import Settings
from agentkit.workspace import Workspace
from tests.browser import driver
from tests.browser.expecting import expect
from tests.browser.line import Line
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


@pytest.mark.walk
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


def test_the_search_leads_into_another_branch_by_mouse(app: App, page: Page) -> None:
    page.goto(app.url)
    page.get_by_role("button", name="Search chats").click()
    page.get_by_label("Words to search for").fill("kanguru")
    page.get_by_role("option").filter(has_text="By Känguru").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Ferries")
    expect(page.locator("#stMain").get_by_text("By Känguru")).to_be_in_viewport()
    expect(page.get_by_text("Question 1", exact=True)).to_have_count(0)


@pytest.mark.walk
def test_chats_are_kept_in_order_by_keyboard(app: App, page: Page) -> None:
    page.goto(app.url)
    expect(_rows(page)).to_contain_text(list(TITLES))
    driver.settled(page)
    _act_by_keyboard(page, "Käsekuchen", "Pin")
    expect(_rows(page).first).to_contain_text("Käsekuchen")
    expect(_menu_of(page, "Käsekuchen")).to_be_focused()

    _act_by_keyboard(page, "<b>Leases</b>", "Move to a folder…")
    expect(page.get_by_role("menuitem", name="New folder…")).to_be_focused()
    page.keyboard.press("Enter")
    driver.tab_to(page, page.get_by_label("Name of the folder"))
    page.keyboard.type("Home")
    driver.tab_to(page, page.get_by_role("button", name="Move here"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(_menu_of(page, "<b>Leases</b>")).to_be_focused()
    _view_by_keyboard(page, "Home")
    expect(_rows(page)).to_have_count(1)
    _view_by_keyboard(page, "All chats")
    expect(_rows(page)).to_have_count(4)

    driver.tab_to(page, page.get_by_role("button", name="Select", exact=True))
    page.keyboard.press("Enter")
    for title in ("Ferries", "Minutes of the board"):
        chosen = page.get_by_label(f"Select {title}")
        driver.tab_to(page, chosen)
        page.keyboard.press("Space")
        expect(chosen).to_be_checked()
        expect(chosen).to_be_focused()
    driver.tab_to(page, page.get_by_role("toolbar").get_by_role("button", name="Delete"))
    page.keyboard.press("Enter")
    expect(_rows(page)).to_have_count(2)
    undo = page.get_by_role("button", name="Undo")
    expect(undo).to_be_focused()
    page.keyboard.press("Enter")
    expect(_rows(page)).to_have_count(4)

    _act_by_keyboard(page, "Minutes of the board", "Archive")
    expect(_rows(page)).to_have_count(3)
    expect(undo).to_be_focused()
    _view_by_keyboard(page, "Archived")
    _act_by_keyboard(page, "Minutes of the board", "Bring back")
    expect(_rows(page)).to_have_count(0)
    _view_by_keyboard(page, "All chats")
    expect(_rows(page)).to_have_count(4)


def test_the_focus_waits_for_what_undoes_a_deletion(app: App, page: Page) -> None:
    """However long the server takes: nothing else may get it meanwhile."""
    line = Line(page)
    page.goto(app.url)
    expect(_rows(page)).to_contain_text(list(TITLES))
    driver.settled(page)
    driver.tab_to(page, page.get_by_role("button", name="Select", exact=True))
    page.keyboard.press("Enter")
    chosen = page.get_by_label("Select Ferries")
    driver.tab_to(page, chosen)
    page.keyboard.press("Space")
    driver.tab_to(page, page.get_by_role("toolbar").get_by_role("button", name="Delete"))
    line.is_held = True
    page.keyboard.press("Enter")
    page.wait_for_timeout(500)  # ms: longer than a part of the page takes to see a lost focus
    line.release()
    expect(page.get_by_role("button", name="Undo")).to_be_focused()


def _menu_of(page: Page, title: str) -> Locator:
    return page.get_by_role("button", name=f"Actions for {title}")


def _act_by_keyboard(page: Page, title: str, action: str) -> None:
    driver.tab_to(page, _menu_of(page, title))
    page.keyboard.press("Enter")
    expect(page.get_by_role("menuitem").first).to_be_focused()
    driver.tab_to(page, page.get_by_role("menuitem", name=action, exact=True), "ArrowDown")
    page.keyboard.press("Enter")


def _view_by_keyboard(page: Page, name: str) -> None:
    view = page.get_by_label("Which chats are listed")
    driver.tab_to(page, view)
    page.keyboard.press("Home")
    for _ in range(view.locator("option").all_inner_texts().index(name)):
        page.keyboard.press("ArrowDown")
    expect(view.locator("option:checked")).to_have_text(name)


@pytest.mark.walk
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
    driver.open_search(page)
    page.get_by_label("Only in this chat").check()
    page.get_by_label("Words to search for").fill("kanguru")  # in another branch
    expect(found).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.locator("#stMain").get_by_text("By Känguru")).to_be_in_viewport()
    expect(page.get_by_text("Question 1", exact=True)).to_have_count(0)

    driver.settled(page)
    driver.open_search(page)
    expect(found).to_contain_text(["New chat", *TITLES])
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "ArrowDown"):
        page.keyboard.press(key)
    expect(found.nth(2)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("<b>Leases</b>")
    driver.settled(page)
    driver.open_search(page)
    expect(found.first).to_contain_text("New chat")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


@pytest.mark.walk
def test_a_thumb_searches_chooses_and_deletes(app: App, browser: Browser) -> None:
    phone = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = phone.new_page()
    page.goto(app.url)
    sidebar = page.get_by_test_id("stSidebar")
    page.get_by_test_id("stExpandSidebarButton").tap()
    _keep_in_order_by_thumb(page)
    _tap_on_chat(page, "Minutes of the board", "Delete")
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


def _keep_in_order_by_thumb(page: Page) -> None:
    """Pin, move, archive and bring back; delete two and have them back."""
    view = page.get_by_label("Which chats are listed")
    _tap_on_chat(page, "Käsekuchen", "Pin")
    expect(_rows(page).first).to_contain_text("Käsekuchen")
    _tap_on_chat(page, "<b>Leases</b>", "Move to a folder…")
    page.get_by_role("menuitem", name="New folder…").tap()
    page.get_by_label("Name of the folder").fill("Home")
    page.get_by_role("button", name="Move here").tap()
    expect(page.get_by_role("dialog")).to_have_count(0)
    view.select_option("Home")
    expect(_rows(page)).to_have_count(1)
    view.select_option("All chats")
    expect(_rows(page)).to_have_count(4)
    _tap_on_chat(page, "Minutes of the board", "Archive")
    expect(_rows(page)).to_have_count(3)
    view.select_option("Archived")
    _tap_on_chat(page, "Minutes of the board", "Bring back")
    expect(_rows(page)).to_have_count(0)
    view.select_option("All chats")
    expect(_rows(page)).to_have_count(4)
    page.get_by_role("button", name="Select", exact=True).tap()
    for title in ("Ferries", "Minutes of the board"):
        page.get_by_label(f"Select {title}").tap()
    page.get_by_role("toolbar").get_by_role("button", name="Delete").tap()
    expect(_rows(page)).to_have_count(2)
    expect(_note(page)).to_contain_text("2 chats deleted.")
    page.get_by_role("button", name="Undo").tap()
    expect(_rows(page)).to_have_count(4)


def _tap_on_chat(page: Page, title: str, action: str) -> None:
    _menu_of(page, title).tap()
    page.get_by_role("menuitem", name=action, exact=True).tap()
