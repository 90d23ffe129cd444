"""Opening a source does not move the reader: it stands beside the answer, has the focus, and closes
back to it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, Locator, Page

from agentkit.ledger.store import utc_now
from agentkit.messages import new_id
from agentkit.retrieval import FakeEmbedder, sources_from_paths
from agentkit.settings import Settings
from agentkit.teams.citing import cite_hits
from agentkit.workspace import Workspace
from tests.browser import driver
from tests.browser.expecting import PATIENCE_MS, expect
from tests.browser.serving import App, serving
from tests.documents.makers import pdf

LID = "The lid of the Copperline kettle locks at ninety degrees."
CORD = "The cord of the Copperline kettle is two metres long."
NOTES = f"Chapter of the kitchen. {LID} It has a round handle of oak. {CORD} Keep both of them dry."
FILLER = (
    "What follows here says nothing about it, but takes its place on the page all the same. " * 8
)
ANSWER = f"{LID} [1]\n\n{FILLER}\n\n{FILLER}\n\n{CORD} [1]\n\n{FILLER}\n\n{FILLER}"
QUESTIONS = 24
TOP = "part => part.getBoundingClientRect().top"
PIXEL = 1.5
AT_ITS_END = """() => {  // where a chat opens
    const { scrollHeight, scrollTop, clientHeight } = document.getElementById("stMain");
    return scrollTop > 0 && scrollHeight - scrollTop - clientHeight < 2;
}"""
HELD_BACK = """() => {  // while `holding`, what the server sends is kept, until `release()`
    window.kept = [];
    const held = (deliver) => (event) => {
        if (window.holding) window.kept.push(() => deliver(event)); else deliver(event);
    };
    window.release = () => {
        window.holding = false;
        for (const deliver of window.kept) deliver();
    };
    const real = Object.getOwnPropertyDescriptor(WebSocket.prototype, "onmessage");
    Object.defineProperty(WebSocket.prototype, "onmessage", {
        ...real, set(deliver) { real.set.call(this, deliver && held(deliver)); },
    });
    const listen = WebSocket.prototype.addEventListener;
    WebSocket.prototype.addEventListener = function (kind, deliver, ...rest) {
        return listen.call(this, kind, kind === "message" ? held(deliver) : deliver, ...rest);
    };
}"""


class Chats(NamedTuple):
    """A served app with a chat of many long answers."""

    app: App
    address: str


@pytest.fixture(scope="module")
def chats(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chats]:
    folder = tmp_path_factory.mktemp("sources")
    chat = _stored(folder)
    with serving(folder, {}) as app:
        yield Chats(app, f"{app.url}/?chat={chat}")


def _stored(folder: Path) -> str:
    """A chat over one document whose answers cite it twice; gives its id."""
    (folder / "kettle.pdf").write_bytes(pdf([NOTES]))
    workspace = Workspace(Settings(data=folder / "data"), FakeEmbedder())
    owner, library = workspace.settings.owner, workspace.library
    library.ingest(owner, "Kitchen", sources_from_paths([folder / "kettle.pdf"]))
    (citation,) = cite_hits("[1]", library.retrieve(owner, "Kitchen", LID))
    chat = workspace.ledger.create_chat(owner, "Kettles", "answer", "extractive", "Kitchen")
    parent = None
    with workspace.database.transaction():
        for number in range(QUESTIONS):
            for role, text, extra in (
                ("user", f"Question {number}?", {}),
                ("assistant", ANSWER, {"citations": [citation.to_json()]}),
            ):
                row: dict[str, object] = {
                    "id": new_id(),
                    "chat_id": chat.id,
                    "parent_id": parent,
                    "run_id": f"run-{number}",
                    "sender": role,
                    "recipient": "",
                    "role": role,
                    "content": text,
                    "status": "complete",
                    "extra": json.dumps(extra),
                    "created_at": utc_now(),
                }
                workspace.database.insert("messages", row)
                parent = row["id"]
        workspace.database.execute("update chats set head_id = ? where id = ?", [parent, chat.id])
    workspace.close()
    return chat.id


@pytest.fixture(params=[1400, pytest.param(1000, marks=pytest.mark.walk), 400])
def opened(chats: Chats, browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """The chat on screens of several widths."""
    size = {"width": int(request.param), "height": 900}
    context = browser.new_context(viewport={"width": size["width"], "height": size["height"]})
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.goto(chats.address)
    expect(page.locator("a[href^='#cite-']").first).to_be_visible()
    driver.settled(page)
    page.wait_for_function(AT_ITS_END)
    yield page
    context.close()


def _put(page: Page, part: Locator, below: int = 420) -> float:
    """Scroll as with a wheel until `part` stands so far below the top of the window; gives where it
    is.
    """
    page.mouse.move(700 if page.viewport_size and page.viewport_size["width"] > 900 else 200, 300)
    for _ in range(50):
        if abs(_top(part) - below) < 30:
            break
        page.mouse.wheel(0, part.evaluate(TOP) - below)
    return _top(part)


def _top(part: Locator) -> float:
    """Where a part is once the page is still: the same in ten frames in a row."""
    driver.settled(part.page)
    top: float = part.evaluate(
        """part => new Promise((done) => {
            let last = NaN, same = 0;
            const look = () => {
                const top = part.getBoundingClientRect().top;
                same = top === last ? same + 1 : 0;
                last = top;
                if (same < 10) requestAnimationFrame(look); else done(top);
            };
            look();
        })"""
    )
    return top


def _focused(page: Page, part: Locator) -> None:
    page.wait_for_function("part => part === document.activeElement", arg=part.element_handle())


def test_the_reader_stays_while_a_source_opens_changes_and_closes(opened: Page) -> None:
    page, source = opened, opened.locator(".st-key-source")
    turn = page.locator("[class*='st-key-turn-']").nth(7)
    first, second = turn.locator("a[href^='#cite-']").first, turn.locator("a[href^='#cite-']").last
    before = _put(page, second)
    second.click()
    expect(source.locator("img")).to_be_visible()
    expect(source.locator("mark.sentence")).to_have_text(
        CORD
    )  # what the clicked marker stands for, not the first
    assert _top(second) == pytest.approx(before, abs=PIXEL)
    _focused(page, source)
    box = source.locator("..").bounding_box()
    size = page.viewport_size
    assert box is not None
    assert size is not None
    assert box["x"] >= 0
    assert box["y"] >= 0
    assert box["x"] + box["width"] <= size["width"]
    assert box["y"] + box["height"] <= size["height"]
    page.keyboard.press("Escape")
    expect(source).to_have_count(0)
    assert _top(second) == pytest.approx(before, abs=PIXEL)
    _focused(page, second)

    before = _put(page, first)
    page.keyboard.press("Enter")  # on the second, which has the focus
    expect(source.locator("mark.sentence")).to_have_text(CORD)
    source.get_by_role("button", name="Close").click()
    expect(source).to_have_count(0)
    _focused(page, second)
    first.focus()
    before = _put(page, first)
    page.keyboard.press("Enter")
    expect(source.locator("mark.sentence")).to_have_text(LID)
    assert _top(first) == pytest.approx(before, abs=PIXEL)
    source.get_by_role("button", name="Close").click()
    expect(source).to_have_count(0)
    assert _top(first) == pytest.approx(before, abs=PIXEL)
    _focused(page, first)


def test_the_source_stays_in_sight_while_the_answer_is_read(chats: Chats, page: Page) -> None:
    page.goto(chats.address)
    turn = page.locator("[class*='st-key-turn-']").nth(9)
    chip = turn.locator("[class*='st-key-sources-'] button")
    before = _put(page, chip)
    chip.click()
    source = page.locator(".st-key-source")
    expect(source.locator("img")).to_be_visible()
    assert _top(chip) == pytest.approx(before, abs=PIXEL)
    _focused(page, source)
    place = _top(source)
    _put(page, turn.locator("a[href^='#cite-']").first)
    assert _top(source) == place
    beside, text = source.locator("..").bounding_box(), turn.locator("p").first.bounding_box()
    assert beside is not None
    assert text is not None
    assert text["x"] + text["width"] <= beside["x"]
    chip.click()  # once more: closed
    expect(source).to_have_count(0)
    _focused(page, chip)


def test_earlier_messages_keep_the_line(opened: Page) -> None:
    earlier = opened.get_by_role("button", name="Earlier messages")
    expect(earlier).to_be_visible()
    question = opened.get_by_text(f"Question {QUESTIONS - 15}?", exact=True)
    before = _put(opened, earlier, 200)
    before = _top(question)
    earlier.click()
    expect(opened.get_by_text("Question 0?", exact=True)).to_be_attached()
    assert _top(question) == pytest.approx(before, abs=PIXEL)
    first, last = opened.get_by_text("Question 0?", exact=True).evaluate(TOP), before
    assert first < last - 1000


def test_a_marker_that_is_clicked_before_the_page_listens_opens_and_closes_all_the_same(
    chats: Chats, page: Page
) -> None:
    page.goto(chats.address)
    links = page.locator("a[href^='#cite-']")
    expect(links.last).to_be_visible()
    driver.settled(page)
    marker = links.last.get_attribute("href")
    page.goto("about:blank")
    page.goto(f"{chats.address}{marker}")  # what the browser does when nobody holds it back
    source = page.locator(".st-key-source")
    expect(source.locator("mark.sentence")).to_be_visible()
    _focused(page, source)
    page.keyboard.press("Escape")
    expect(source).to_have_count(0)
    expect(links.last).to_be_visible()


def test_a_source_stays_open_when_the_browser_learns_late_that_it_is(
    chats: Chats, page: Page
) -> None:
    """What is clicked meanwhile comes with the chips as the browser still knows them."""
    page.add_init_script(f"({HELD_BACK})()")
    page.goto(chats.address)
    turn = page.locator("[class*='st-key-turn-']").last
    link = turn.locator("a[href^='#cite-']").first
    expect(link).to_be_visible()
    driver.settled(page)
    page.evaluate("() => { window.holding = true; }")
    link.click()
    page.wait_for_function("() => window.kept.length > 20")
    turn.locator("summary").click()
    page.wait_for_timeout(500)  # until the click has been sent
    page.evaluate("() => { window.release(); }")
    driver.settled(page)
    expect(page.locator(".st-key-source mark.sentence")).to_have_text(LID)
