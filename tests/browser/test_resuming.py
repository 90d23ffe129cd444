"""An app that is killed while agents work: each answer goes on to its right end, by a click or by
itself, and nothing is done twice.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page

from agentkit.messages import text_of
from tests.browser import driver, papers
from tests.browser.expecting import expect
from tests.browser.serving import App, serving
from tests.servers.openai_server import Answer, OpenAIServer, tool_call, words

pytestmark = [pytest.mark.walk, pytest.mark.usefixtures("ferry")]

HEIGHTS = """() => {  // of the switch above what is clicked, also while it loads
    window.heights = [];
    const look = () => {
        const part = document.querySelector("[class*='st-key-stepping-on-']");
        if (part) window.heights.push(part.getBoundingClientRect().height);
        requestAnimationFrame(look);
    };
    look();
}"""
ANSWER = f"{papers.FERRY} [1]"
REMARK = "The pier is not named, but nothing else is missing."
TOOLS = """
from pathlib import Path
import time


def book(place: str) -> str:
    \"\"\"Book a place on the ferry.\"\"\"
    log = Path({log!r})
    log.write_text((log.read_text() if log.exists() else "") + place + "\\n")
    while Path({halt!r}).exists():
        time.sleep(0.05)
    return "booked for " + place
"""


@dataclass
class Group:
    """The group of three; the critic halts in the middle of its words, the first time."""

    bodies: list[dict[str, Any]] = field(default_factory=list)
    has_halted: bool = False

    def __call__(self, body: dict[str, Any]) -> Answer:
        self.bodies.append(body)
        system = text_of(body["messages"][0]["content"])
        if "you are the researcher" in system:
            done = body["messages"][-1]["role"] == "tool"
            return (
                Answer(ANSWER)
                if done
                else tool_call("search_documents", query=papers.FERRY_QUESTION)
            )
        if "you are the critic" in system:
            halt, self.has_halted = not self.has_halted, True
            return Answer(REMARK, halt_after=len(words("The pier is")) if halt else None)
        return Answer(f"{ANSWER}\n\nTERMINATE")


@dataclass
class Booking:
    """Books a place, and answers with what the tool gave."""

    bodies: list[dict[str, Any]] = field(default_factory=list)

    def __call__(self, body: dict[str, Any]) -> Answer:
        self.bodies.append(body)
        results = [text_of(one["content"]) for one in body["messages"] if one["role"] == "tool"]
        if not results:
            return tool_call("book", place="Riga")
        return Answer(f"It is {results[-1]}.\nTERMINATE")


@dataclass(frozen=True)
class Harbour:
    """The app's folder and server, with a tool that halts while a file is there."""

    folder: Path
    server: OpenAIServer

    @property
    def log(self) -> Path:
        return self.folder / "booked"

    @property
    def halt(self) -> Path:
        return self.folder / "halt"

    @contextmanager
    def serving(self) -> Iterator[App]:
        tools = self.folder / "tools.py"
        tools.write_text(TOOLS.format(log=str(self.log), halt=str(self.halt)))
        environment = {
            "OPENAI_BASE_URL": self.server.base_url,
            "OPENAI_MODEL": "test-model",
            "OPENAI_API_KEY": "sk-browser",
            "AGENTKIT_TOOLS": str(tools),
        }
        with serving(self.folder, environment) as app:
            yield app


@pytest.fixture
def harbour(tmp_path: Path) -> Iterator[Harbour]:
    with OpenAIServer(lambda body: Answer("")) as server:
        yield Harbour(tmp_path, server)
        server.go_on.set()


def begin(app: App, page: Page, team: str, question: str) -> Locator:
    """Choose the team and ask; gives the turn."""
    driver.open_app(page, app)
    driver.choose_team(page, team)
    driver.leave_choices(page)
    return driver.ask(page, question)


def kill(app: App, page: Page) -> str:
    """End the app at once; gives the chat's address."""
    address = page.url.removeprefix(app.url)
    os.kill(app.process.pid, signal.SIGKILL)
    return address


def wait_until(is_true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def last_turn(page: Page) -> Locator:
    return page.locator("[class*='st-key-turn-']").last


def test_killed_while_a_critic_speaks_it_goes_on_by_a_click(harbour: Harbour, page: Page) -> None:
    script = harbour.server.script = Group()
    with harbour.serving() as app:
        turn = begin(app, page, "Group of three", papers.FERRY_QUESTION)
        expect(turn).to_contain_text("Critic")
        page.reload()  # it goes on meanwhile
        wait_until(lambda: script.has_halted)
        address = kill(app, page)
    harbour.server.go_on.set()
    with harbour.serving() as app:
        page.goto(f"{app.url}{address}")
        expect(last_turn(page)).to_contain_text("The app was closed")
        last_turn(page).get_by_role("button", name="Continue").click()
        expect(last_turn(page)).to_contain_text(papers.FERRY)
        driver.answered(page, last_turn(page))
        expect(last_turn(page)).not_to_contain_text("The app was closed")
        expect(page.locator("[class*='st-key-turn-']")).to_have_count(1)
        page.reload()
        expect(last_turn(page)).to_contain_text(papers.FERRY)
    asked = Counter(json.dumps(body["messages"]) for body in script.bodies)
    twice = [messages for messages, times in asked.items() if times > 1]
    assert len(twice) == 1  # what the critic was asked: its words had not come to their end
    assert "you are the critic" in twice[0]


def test_killed_while_a_tool_runs_the_person_is_asked(harbour: Harbour, page: Page) -> None:
    script = harbour.server.script = Booking()
    harbour.halt.touch()
    with harbour.serving() as app:
        turn = begin(app, page, "Assistant with tools and code", "Book a place to Riga.")
        turn.get_by_role("button", name="Approve", exact=True).click()
        wait_until(lambda: bool(harbour.log.exists() and harbour.log.read_text()))
        address = kill(app, page)
    harbour.halt.unlink()
    page.add_init_script(f"({HEIGHTS})()")
    with harbour.serving() as app:
        page.goto(f"{app.url}{address}")
        last_turn(page).get_by_text("Step through").wait_for()
        heights = page.evaluate("window.heights")
        assert heights == heights[-1:] * len(heights)  # else a click below it could miss
        last_turn(page).get_by_role("button", name="Continue").click()
        expect(last_turn(page)).to_contain_text("it is not known whether it was done")
        page.reload()
        last_turn(page).get_by_role("button", name="Approve", exact=True).click()
        expect(last_turn(page)).to_contain_text("It is booked for Riga.")
        driver.answered(page, last_turn(page))
    assert harbour.log.read_text().split() == ["Riga", "Riga"]
    assert len(script.bodies) == 2


def test_killed_while_it_waits_it_waits_on(harbour: Harbour, page: Page) -> None:
    script = harbour.server.script = Booking()
    with harbour.serving() as app:
        turn = begin(app, page, "Assistant with tools and code", "Book a place to Riga.")
        expect(turn.get_by_role("button", name="Approve", exact=True)).to_be_visible()
        address = kill(app, page)
    with harbour.serving() as app:
        page.goto(f"{app.url}{address}")
        last_turn(page).get_by_role("button", name="Approve", exact=True).click()
        expect(last_turn(page)).to_contain_text("It is booked for Riga.")
        driver.answered(page, last_turn(page))
        expect(page.locator("[class*='st-key-turn-']")).to_have_count(1)
    assert harbour.log.read_text().split() == ["Riga"]
    assert len(script.bodies) == 2
