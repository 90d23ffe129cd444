"""The sidebar of the chats: what stands out of each, how it is told, and how it gives way on a
phone.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page

from tests.browser import driver, papers
from tests.browser.expecting import expect
from tests.browser.serving import App
from tests.servers.openai_server import Answer, OpenAIServer, words

BEGUN = "The last ferry leaves"
ANSWER = f"{BEGUN} at 21:40 [1]."
COUNT_TITLES = """() => {
    const count = () => document.querySelectorAll('[data-testid="stMain"] h1').length;
    window.mostTitles = count();
    const look = () => { window.mostTitles = Math.max(window.mostTitles, count()); };
    new MutationObserver(look).observe(document.body, {childList: true, subtree: true});
}"""


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    """Halts in the middle of each answer until it may go on."""
    with OpenAIServer(lambda body: Answer(ANSWER, halt_after=len(words(BEGUN)))) as running:
        yield running


def _row(page: Page, title: str) -> Locator:
    return page.locator("[class*='st-key-chat-row-']").filter(has_text=title)


def _open_button(page: Page, title: str, mark: str = "") -> Locator:
    """The button of a chat, by its whole name as a screen reader says it."""
    return _row(page, title).get_by_role("button", name=f"{title} {mark}".strip(), exact=True)


def _half_written(page: Page, question: str) -> None:
    turn = driver.ask(page, question)
    expect(turn).to_contain_text(BEGUN)


def _with_ferry(app: App, page: Page) -> None:
    page.goto(f"{app.url}/documents")
    driver.add_files(page, [driver.file("ferry.docx", papers.ferry_docx())])
    driver.go(page, "Chat")


def test_marks_tell_what_goes_on_without_being_asked(
    app: App, page: Page, server: OpenAIServer
) -> None:
    _with_ferry(app, page)
    first = papers.FERRY_QUESTION
    _half_written(page, first)
    expect(_open_button(page, first, "answering")).to_be_visible()
    page.get_by_role("button", name="New chat").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Chat")
    expect(_open_button(page, first, "answering")).to_be_visible()
    server.go_on.set()  # nothing is clicked: the list looks by itself
    expect(_open_button(page, first, "has finished")).to_be_visible()
    _open_button(page, first, "has finished").click()
    expect(_open_button(page, first)).to_be_visible()
    expect(_row(page, first).get_by_role("button", name=f"Actions for {first}")).to_be_visible()

    server.go_on.clear()
    driver.new_chat(page)
    driver.resize(page, 390, 844)  # the same on a phone
    unfold, other = page.get_by_test_id("stExpandSidebarButton"), "When does the ferry leave?"
    _half_written(page, other)
    unfold.click()
    page.get_by_role("button", name="New chat").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Chat")
    unfold.click()
    expect(_open_button(page, other, "answering")).to_be_in_viewport()
    server.go_on.set()
    expect(_open_button(page, other, "has finished")).to_be_in_viewport()


def test_a_chat_of_another_tab_is_listed_when_one_comes_back(
    app: App, page: Page, server: OpenAIServer
) -> None:
    server.go_on.set()
    _with_ferry(app, page)
    expect(page.locator("[class*='st-key-chat-row-']")).to_have_count(0)
    other = page.context.new_page()
    other.goto(app.url)
    driver.answered(other, driver.ask(other, papers.FERRY_QUESTION))
    page.bring_to_front()
    page.evaluate(
        "window.dispatchEvent(new Event('focus'))"
    )  # a browser without a screen tells no page that it is in front
    expect(_open_button(page, papers.FERRY_QUESTION)).to_be_visible()


def test_chat_in_the_navigation_leads_to_the_open_chat_and_back_leads_out_of_it(
    app: App, page: Page, server: OpenAIServer
) -> None:
    server.go_on.set()
    _with_ferry(app, page)
    driver.answered(page, driver.ask(page, papers.FERRY_QUESTION))
    chat, heading = page.url, page.get_by_role("heading", level=1)
    driver.go(page, "Documents")
    driver.go(page, "Chat")
    expect(heading).to_have_text(papers.FERRY_QUESTION)
    assert page.url == chat
    page.get_by_test_id("stSidebarNav").get_by_role("link", name="Chat").click()
    driver.settled(page)
    expect(heading).to_have_text(papers.FERRY_QUESTION)
    assert page.url == chat
    page.evaluate(COUNT_TITLES)
    page.get_by_role("button", name="New chat").click()
    expect(heading).to_have_text("Chat")
    page.go_back()
    expect(heading).to_have_text(papers.FERRY_QUESTION)
    page.go_forward()
    expect(heading).to_have_text("Chat")
    assert page.evaluate("window.mostTitles") == 1, "a title stands beside the one before it"


def test_on_a_phone_the_sidebar_closes_after_a_choice(
    app: App, page: Page, server: OpenAIServer
) -> None:
    server.go_on.set()
    page.set_viewport_size({"width": 400, "height": 850})
    page.goto(app.url)
    driver.ask(page, papers.FERRY_QUESTION)
    expect(page.get_by_role("heading", level=1)).to_have_text(papers.FERRY_QUESTION)
    pages = page.get_by_test_id("stSidebarNav")  # a page has such links, too, while it is leaving
    for choose, heading in (
        (page.get_by_role("button", name="New chat"), "Chat"),
        (_row(page, papers.FERRY_QUESTION).get_by_role("button").first, papers.FERRY_QUESTION),
        (pages.get_by_role("link", name="Chat"), papers.FERRY_QUESTION),
        (pages.get_by_role("link", name="Documents"), "Documents"),
    ):
        page.get_by_test_id("stExpandSidebarButton").click()
        choose.click()
        expect(page.get_by_role("heading", level=1)).to_have_text(heading)
        expect(page.get_by_test_id("stSidebar")).to_have_attribute("data-collapsed", "true")
        # Out of the keyboard's way, too: what is folded away has no place among the keys.
        expect(page.get_by_test_id("stSidebarNav").get_by_role("link")).to_have_count(0)


def test_a_screen_reader_is_told_and_the_tab_is_called_like_the_chat(
    app: App, page: Page, server: OpenAIServer
) -> None:
    _with_ferry(app, page)
    spoken = page.locator(".st-key-spoken").get_by_role("status")
    expect(spoken).to_have_text("")
    expect(page).to_have_title("agentkit")
    _half_written(page, papers.FERRY_QUESTION)
    expect(spoken).to_have_text("Answering")
    expect(page).to_have_title(f"{papers.FERRY_QUESTION} · agentkit")
    server.go_on.set()
    expect(spoken).to_have_text(ANSWER)
    page.reload()
    expect(page.locator("[class*='st-key-answer-']")).to_have_text(ANSWER)
    driver.settled(page)
    expect(spoken).to_have_text("")  # it is read as one comes to it
    driver.go(page, "Documents")
    expect(page).to_have_title("agentkit")


@pytest.mark.parametrize("way", ["mouse", pytest.param("keyboard", marks=pytest.mark.walk)])
def test_a_click_that_closes_a_popover_leads_to_another_page_all_the_same(
    app: App, page: Page, way: str
) -> None:
    page.goto(app.url)
    page.get_by_role("button", name="Pictures", exact=True).click()
    expect(page.get_by_test_id("stPopoverBody").locator("input[type=file]")).to_be_attached()
    driver.settled(page)
    link = page.get_by_test_id("stSidebarNav").get_by_role("link", name="Documents")
    {"mouse": link.click, "keyboard": lambda: link.press("Enter")}[way]()
    expect(page).to_have_url(f"{app.url}/documents")
    driver.settled(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("Documents")
    driver.go(page, "Chat")
    expect(page.get_by_test_id("stPopoverBody")).to_have_count(0)
