"""The assistant with tools and code in the browser: what is to run is seen, survives a reload, and
is approved or rejected.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page

from agentkit import coding
from agentkit.messages import text_of
from tests.browser import driver
from tests.browser.expecting import expect
from tests.browser.serving import App, serving
from tests.servers.openai_server import Answer, OpenAIServer

CODE = (
    "fares = [4.5, 6.0, 9.5]\n"
    + "".join(f"# remark {number}\n" for number in range(200))
    + "print('total', sum(fares))"
)
QUESTION = "When does the last ferry leave, and what do the three tickets cost together?"
TOOLS = """
def reserve(place: str) -> str:
    '''Reserve a seat on the ferry.'''
    return f"Reserved: {place}."
"""
REASON = "count it in your head"
TABLE = (
    f"| Ticket | Remark | Price |\n|---|---|---|\n| Skarholm | {'Fahrkartenautomat' * 2}"
    f" {'Hafenverwaltung' * 2} | $4.50 |"
)
pytestmark = [
    pytest.mark.walk,
    pytest.mark.usefixtures("ferry"),
    pytest.mark.skipif(
        not (coding.bubblewrap_works() or coding.docker_works()),
        reason="nothing to isolate code with",
    ),
]


def _play(body: dict[str, Any]) -> Answer:
    """Look up, compute, answer; after a rejection, answer without code."""
    last = body["messages"][-1]
    text = text_of(last.get("content"))
    if last["role"] == "tool":
        return Answer(f"Now the sum of the fares:\n\n```python\n{CODE}\n```")
    if text.startswith("exitcode: 0"):
        output = text.strip().splitlines()[-1].removeprefix("Code output: ")
        return Answer(f"The last ferry leaves at 21:40 [1]; output was: {output}.\n\nTERMINATE")
    if "rejected" in text:
        reason = text.rpartition("They say: ")[2].strip()
        return Answer(
            f"As you wish ({reason}): about 20 euros, with \\(x = 3^2\\).\n\n{TABLE}\n\nTERMINATE"
        )
    wanted = {
        "search_documents": {"query": "last ferry to Skarholm"},
        "reserve": {"place": "Skarholm"},
    }
    functions = [{"name": name, "arguments": json.dumps(given)} for name, given in wanted.items()]
    return Answer(
        tool_calls=[{"id": one["name"], "type": "function", "function": one} for one in functions]
    )


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(_play) as running:
        yield running


@pytest.fixture
def app(tmp_path: Path, server: OpenAIServer) -> Iterator[App]:
    (tmp_path / "tools.py").write_text(TOOLS)
    environment = {
        "AGENTKIT_TOOLS": str(tmp_path / "tools.py"),
        "OPENAI_BASE_URL": server.base_url,
        "OPENAI_API_KEY": "sk-browser",
        "OPENAI_MODEL": "test-model",
    }
    with serving(tmp_path, environment) as served:
        yield served


def test_nothing_runs_before_the_person_agrees(app: App, page: Page, server: OpenAIServer) -> None:
    driver.open_app(page, app)
    driver.choose_team(page, "Assistant with tools and code")
    _approved(page)
    _edited_over_a_reload(page, server)
    _rejected(page, server)


def _press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def _waits(page: Page, what: str) -> Locator:
    """The card in which the run asks whether this may run."""
    card = page.locator("[class*='st-key-asks-']")
    expect(card).to_contain_text(what)
    return card


def _approved(page: Page) -> None:
    turn = driver.ask(page, QUESTION)
    expect(_waits(page, "May reserve run with these arguments?")).to_contain_text("Skarholm")
    _press(page, "Approve")
    expect(_waits(page, "May this Python code run?")).to_contain_text("sum(fares)")
    expect(turn).to_contain_text("Now the sum of the fares:")
    expect(_waits(page, "May this Python code run?")).to_be_in_viewport(
        ratio=1
    )  # long code scrolls in itself
    _press(page, "Approve")
    driver.answered(page, turn)
    expect(turn).to_contain_text("output was: total 20.0")
    expect(turn.locator("a[href^='#cite-']")).to_have_count(1)
    driver.unfold(turn, "Steps")
    driver.unfold(turn, "Ran Python")
    expect(turn.get_by_test_id("stCode").filter(has_text="total 20.0")).to_be_visible()


def _edited_over_a_reload(page: Page, server: OpenAIServer) -> None:
    driver.ask(page, "And once more?")
    _waits(page, "May reserve run")
    _press(page, "Always allow")
    card = _waits(page, "May this Python code run?")
    asked = len(server.chats)
    page.reload()
    expect(card).to_contain_text("sum(fares)")
    _press(page, "Edit")
    box = card.get_by_role("textbox", name="Code")
    box.fill("print('total', 11)")
    page.wait_for_timeout(1500)  # the page looks at the run meanwhile, several times
    expect(box).to_have_value("print('total', 11)")
    assert len(server.chats) == asked, "the model was asked before the person had answered"
    _press(page, "Run this")
    turn = page.locator("[class*='st-key-turn-']").last
    driver.answered(page, turn)
    expect(turn).to_contain_text("output was: total 11.")
    assert "The user changed the code" in text_of(server.chats[-1]["messages"][-1]["content"])


def _rejected(page: Page, server: OpenAIServer) -> None:
    turn = driver.ask(page, "A third time?")  # reserve is not asked about any more
    card = _waits(page, "May this Python code run?")
    _press(page, "Reject")
    box = card.get_by_label("Why not?")
    box.fill(REASON)
    page.wait_for_timeout(1000)
    expect(box).to_have_value(REASON)
    _press(page, "Reject")
    driver.answered(page, turn)
    expect(turn).to_contain_text(f"As you wish ({REASON})")
    expect(turn.locator(".katex")).to_have_count(1)
    driver.resize(page, 400, 850)
    expect(turn.locator("table")).to_contain_text("$4.50")
    driver.settled(page)
    assert turn.locator("table").evaluate("table => table.scrollWidth > table.clientWidth"), (
        "too narrow to show anything"
    )
    assert page.locator("#stMain").evaluate("main => main.scrollWidth <= main.clientWidth"), (
        "a table makes the page scroll sideways"
    )
    driver.unfold(turn, "Steps")
    expect(turn).to_contain_text(f"You: no: {REASON}")
    assert "sum(fares)" not in text_of(server.chats[-1]["messages"][-1]["content"])
