"""What a person does in the app, step by step, and what can be read off the page. Each step waits
for its effect.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from playwright.sync_api import FilePayload, Locator, Page, Request

from tests.browser.expecting import expect
from tests.browser.serving import App

_LISTENERS = ("popovers", "chat-search", "chat-page", "chat-draft", "mention-key", "own-link")
_DEAF = ", ".join(
    f".st-key-{name} [data-testid='stBidiComponentIsolated']:not([data-listens])"
    for name in _LISTENERS
)
ROW = 35  # pixels: the height of a row of a table, which is drawn on a canvas


def file(name: str, content: bytes | str) -> FilePayload:
    """A file to upload; the app looks at its bytes, not at the media type."""
    whole = content.encode() if isinstance(content, str) else content
    return {"name": name, "mimeType": "application/octet-stream", "buffer": whole}


def foreign(page: Page, app: App) -> list[str]:
    """Collects, from now on, the addresses of requests that leave the app's server."""
    asked: list[str] = []

    def note(request: Request) -> None:
        if not request.url.startswith((app.url, "data:", "blob:")):
            asked.append(request.url)

    page.on("request", note)
    return asked


def go(page: Page, name: str) -> None:
    """Open a page of the navigation, as a person does: by its link."""
    page.get_by_test_id("stSidebarNav").get_by_role("link", name=name).click()
    if name != "Chat":
        expect(page.get_by_role("heading", name=name, exact=True, level=1)).to_be_visible()
    else:
        page.get_by_test_id("stChatInputTextArea").wait_for()
    settled(page)


def go_home(page: Page, name: str, home: Locator) -> None:
    """From a view of a page to its first one, by its own link, however often that takes: at first
    nothing of ours listens to it yet.
    """
    _until(expect(home).to_be_visible, partial(go, page, name))


def _until(is_seen: Callable[..., None], act: Callable[[], None]) -> None:
    """Do it again until what it is for is seen: while a page is drawn anew, some of it is lost."""
    for _ in range(20):
        act()
        try:
            is_seen(timeout=5_000)
        except AssertionError:
            continue
        return
    is_seen()


def open_app(page: Page, app: App) -> None:
    """Open the app by its address: a new chat."""
    page.goto(app.url)
    page.get_by_test_id("stChatInputTextArea").wait_for()
    settled(page)


def new_chat(page: Page) -> None:
    """Leave the open chat for a new one."""
    page.get_by_role("button", name="New chat").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Chat")
    settled(page)


def open_search(page: Page) -> None:
    """Open the search by its keys, once they are heard: a moment after the page is drawn."""
    expect(page.locator(".st-key-chat-search [data-listens]")).to_be_attached()
    page.keyboard.press("Control+k")


def find_box(page: Page) -> Locator:
    """The composer, once what is pressed in it (`/`, `@`) is heard."""
    for name in ("chat-draft", "mention-key"):
        expect(page.locator(f".st-key-{name} [data-listens]")).to_be_attached()
    return page.get_by_test_id("stChatInputTextArea")


def search(page: Page, words: str) -> Locator:
    """Open the search by its keys and look for words; gives what is found, once it is there."""
    open_search(page)
    page.get_by_label("Words to search for").fill(words)
    found = page.locator(".st-key-chat-search [role=option]")
    expect(found.or_(page.get_by_text("No message has all these words.")).first).to_be_visible()
    return found


def act_on_chat(page: Page, title: str, action: str) -> None:
    """Choose something from the menu of a chat in the list."""
    row = page.locator("[class*='st-key-chat-row-']").filter(has_text=title)
    row.hover()
    row.get_by_role("button", name=f"Actions for {title}").click()
    page.get_by_role("menuitem", name=action, exact=True).click()


def tab_to(page: Page, part: Locator, key: str = "Tab") -> None:
    """Press the key until this has the focus, at most as often as a page has parts."""
    expect(part).to_be_visible()
    for _ in range(200):
        if part.evaluate("part => part === part.getRootNode().activeElement"):
            return
        page.keyboard.press(key)
    expect(part).to_be_focused(timeout=1)


def settled(page: Page) -> None:
    """Until the script of the page is no longer running, and the pieces of ours that it has drawn
    hear what is pressed.
    """
    expect(page.locator("[data-test-script-state='running']")).to_have_count(0)
    expect(page.locator(_DEAF)).to_have_count(0)


def warmed_up(page: Page) -> None:
    """Type something, and wait until the browser has what it draws answers with: while people type
    there is time for that.
    """
    page.get_by_test_id("stChatInputTextArea").press_sequentially("?")
    ready = page.locator(".st-key-warm-up")
    expect(ready.locator("pre code")).to_be_attached()
    expect(ready.locator(".katex")).to_be_attached()
    expect(ready.get_by_test_id("stSkeleton")).to_have_count(0)


def ask(page: Page, question: str) -> Locator:
    """Send a question; gives the turn that it begins on the page."""
    # The heading of a page is there before its composer: a robot is fast enough to write into the
    # one of the page before.
    settled(page)
    box = page.get_by_test_id("stChatInputTextArea")
    box.fill(question)
    box.press("Enter")
    expect(box).to_have_value("")
    turn = page.locator("[class*='st-key-turn-']").filter(has_text=question).last
    expect(turn).to_be_visible()
    return turn


def answered(page: Page, turn: Locator) -> Locator:
    """Wait until the turn has ended; gives the line that tells in short what it took."""
    caption = turn.locator("[class*='st-key-took-'] button:visible").filter(
        has_text=re.compile(r"· [\d.]+ s")
    )
    expect(caption).to_be_visible()
    expect(page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)
    return caption


def what_it_took(page: Page, turn: Locator) -> str:
    """All that is told of what a turn took, which is folded; its lines are joined by dots."""
    answered(page, turn).click()
    body = page.get_by_test_id("stPopoverBody")
    expect(body).to_contain_text("tokens in")
    told = " · ".join(body.inner_text().split("\n"))
    settled(page)
    page.keyboard.press("Escape")
    expect(body).to_have_count(0)
    return told


def unfold(part: Locator, label: str) -> None:
    """Open the expander with this label, however often that takes: it moves under the click while
    one above it unfolds.
    """
    summary = part.locator("summary").filter(has_text=label).first
    folded = summary.locator("..")
    expect(summary).to_be_visible()

    def press() -> None:
        settled(part.page)
        if folded.get_attribute("open") is None:
            summary.click()

    _until(partial(expect(folded).to_have_attribute, "open", ""), press)
    settled(part.page)
    still(part)


_STILL = """part => new Promise((done) => {
    let last = "", frames = 0;
    const look = () => {
        const { top, height } = part.getBoundingClientRect(), now = `${top} ${height}`;
        frames = now === last ? frames + 1 : 0;
        last = now;
        frames < 15 ? requestAnimationFrame(look) : done();
    };
    look();
})"""


def still(part: Locator) -> None:
    """Until it no longer moves or grows.

    The mouse would go down on one thing and up on another, and nothing would be clicked.
    """
    part.evaluate(_STILL)


def resize(page: Page, width: int, height: int) -> None:
    """Give the window another size, and wait until the page has taken to it."""
    page.set_viewport_size({"width": width, "height": height})
    still(page.get_by_test_id("stMainBlockContainer"))


def upload(uploader: Locator, given: FilePayload | Path) -> None:
    """Choose a file, and wait until the app has it: its name is shown before."""
    with uploader.page.expect_response(lambda response: response.request.method == "PUT"):
        uploader.set_input_files(given)
    name = given.name if isinstance(given, Path) else given["name"]
    expect(uploader.page.get_by_text(name).first).to_be_visible()
    settled(uploader.page)


def add_files(page: Page, files: Iterable[FilePayload]) -> None:
    """Upload files on the Documents page and wait for the summary of what came of them."""
    given = list(files)
    folded = page.locator(".st-key-add")
    if folded.count() and not folded.locator("input[type=file]").first.is_visible():
        unfold(folded, "Add documents")
    uploaders = page.locator(".st-key-add input[type=file], .st-key-add-first input[type=file]")
    uploaders.and_(page.locator(":not([webkitdirectory])")).first.set_input_files(given)
    page.get_by_role("button", name=re.compile(rf"^Add {len(given)} documents? to")).click()
    expect(page.locator("[class*='st-key-ingested-']").last).to_be_visible()


def table(page: Page) -> list[list[str]]:
    """The cells of the first table on the page, row by row (the canvas keeps them in a table for
    screen readers).
    """
    body = page.get_by_test_id("stDataFrame").first.locator("tbody tr")
    expect(body.first).to_be_attached()
    rows: list[list[str]] = body.evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
    )
    return rows


def select_row(page: Page, document: str) -> None:
    """Tick the row of a table whose first cell has this text."""
    canvas = page.get_by_test_id("stDataFrame").first.get_by_test_id("data-grid-canvas")
    canvas.scroll_into_view_if_needed()
    row = [cells[0] for cells in table(page)].index(document)
    canvas.click(
        position={"x": 16, "y": ROW * (row + 1) + ROW // 2}, force=True
    )  # what takes the click lies above the canvas


def find_metric(page: Page, name: str) -> Locator:
    """The value of one of the figures on the Usage page."""
    shown = page.get_by_test_id("stMetric").filter(has=page.get_by_text(name, exact=True))
    return shown.get_by_test_id("stMetricValue")


def metric(page: Page, name: str) -> str:
    """The same as it stands there now."""
    return find_metric(page, name).inner_text().strip()


def choose_team(page: Page, name: str) -> None:
    """Choose whom the next question asks."""
    page.locator(".st-key-choice button").first.click()
    page.get_by_role("combobox", name="Team").click()
    page.get_by_role("option", name=name).click()
    expect(page.locator(".st-key-choice")).to_contain_text(name)
    leave_choices(page)


def leave_choices(page: Page) -> None:
    """Close the choices; what is pressed while the page is drawn anew is lost at times."""

    def press() -> None:
        settled(page)
        page.keyboard.press("Escape")

    _until(expect(page.get_by_role("combobox", name="Team")).to_be_hidden, press)
