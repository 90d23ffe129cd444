"""What a team may do in a chat once the person has approved it: a function written in the page, a
tool of an MCP server, and a store of its own with files of this computer.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page

from tests.browser import driver
from tests.browser.axe import violations
from tests.browser.expecting import expect
from tests.browser.serving import App
from tests.browser.team_forms import begin, choose, fill, press, save_and_use
from tests.servers import mcp_server
from tests.servers.openai_server import Answer, OpenAIServer, tool_call
from tests.teams.built import drafts

pytestmark = pytest.mark.walk

SHOUT = 'def shout(text: str) -> str:\n    """Say it loudly."""\n    return text.upper() + "!"\n'
_NO_WIDER = "() => document.documentElement.scrollWidth <= window.innerWidth"


def call_both(body: dict[str, Any]) -> Answer:
    """A model that calls the server's tool, then the function, and says what they gave."""
    given = [turn["content"] for turn in body["messages"] if turn["role"] == "tool"]
    calls = [tool_call("shop__stock", product="tea"), tool_call("shout", text="tea")]
    return [*calls, Answer(f"They say: {' and '.join(map(str, given))}")][len(given)]


def tell_notes(body: dict[str, Any]) -> Answer:
    """A model without tools, which knows what it is told."""
    told = "midnight" in str(body["messages"])
    return Answer("It sails at midnight." if told else "I do not know.")


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(lambda body: (call_both if "tools" in body else tell_notes)(body)) as running:
        yield running


def add_server(page: Page, folder: Path) -> None:
    """Add a program, see its command, start it, and allow one of its tools."""
    page.get_by_role("button", name="Add an MCP server").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("radio", name="A program on this machine").click()
    dialog.get_by_role("textbox", name="Name", exact=True).fill("shop")
    command = f"{sys.executable} {mcp_server.__file__} {folder}"
    dialog.get_by_role("textbox", name="Command").fill(command)
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_text("nothing of it has run")).to_be_visible()
    page.get_by_role("button", name="See and start").click()
    expect(dialog).to_contain_text(str(folder))
    assert not (folder / "started").exists()
    dialog.get_by_role("button", name="Start it").click()
    place = page.locator(".st-key-tool-server-shop")
    expect(place.get_by_text("How many of a product are there")).to_be_visible()
    place.locator("label").filter(has_text=re.compile("^stock$")).click()
    place.get_by_role("button", name="Allow what is ticked").click()
    expect(place.get_by_text("1 tool allowed to teams: stock")).to_be_visible()
    driver.settled(page)


def write_function(page: Page) -> None:
    """Write one, and try it before it is used: it is called as its code calls it."""
    press(page, "Write a function")
    driver.settled(page)
    fill(page, "Code", SHOUT)
    expect(page.get_by_role("textbox", name="Name", exact=True).last).to_have_value("shout")
    expect(page.get_by_text("No agent may call it yet")).to_be_visible()
    fill(page, "Arguments (JSON)", '{"text": "green"}')
    press(page, "Test it")
    expect(page.get_by_text("GREEN!", exact=True)).to_be_visible()
    driver.settled(page)


def give_tools(page: Page, agent: str, *tools: str) -> None:
    """Let the agent have these tools."""
    driver.unfold(page.locator("#stMain"), agent)
    for tool in tools:
        choose(page, "Add a tool", tool)
        expect(page.get_by_text(tool, exact=True).first).to_be_visible()
    expect(page.get_by_text("No agent may call it yet")).to_have_count(0)


def approve(page: Page, turn: Locator, told: str) -> None:
    expect(turn).to_contain_text(told)
    turn.get_by_role("button", name="Approve", exact=True).click()


def test_a_function_and_a_server_are_used_once_they_are_approved(
    app: App, page: Page, tmp_path: Path
) -> None:
    page.goto(f"{app.url}/settings")
    add_server(page, tmp_path)
    assert violations(page, "settings with a server of tools") == []
    driver.go(page, "Teams")
    begin(page, "One agent")
    write_function(page)
    give_tools(page, "Reader", "shop/stock", "shout")
    driver.resize(page, 390, 844)
    assert page.evaluate(_NO_WIDER)
    driver.resize(page, 1400, 950)
    driver.settled(page)
    save_and_use(page)
    turn = driver.ask(page, "How much tea is there?")
    approve(page, turn, "Reader asks: May I use stock of the MCP server shop")
    approve(page, turn, "Reader asks: May I use shout with these arguments?")
    driver.answered(page, turn)
    expect(turn).to_contain_text("They say: 7 tea in Vienna and TEA!")
    assert (tmp_path / "calls").read_text() == "tea Vienna\n"


def test_a_team_of_somebody_else_reads_no_files_before_it_is_approved(
    chat: Page, tmp_path: Path
) -> None:
    notes = tmp_path / "notes.md"
    notes.write_text("The last ferry sails at midnight.")
    config = {"vector_db": "duckdb", "docs_path": [str(notes)]}
    team = json.dumps(drafts.retrieve_chat(retrieve_config=config))
    driver.go(chat, "Teams")
    chat.get_by_role("button", name="Import", exact=True).click()
    uploader = chat.get_by_test_id("stPopoverBody").locator("input[type=file]")
    uploader.set_input_files(driver.file("team.json", team))
    expect(chat.get_by_role("heading", name="RetrieveChat", level=1)).to_be_visible()
    driver.settled(chat)
    save_and_use(chat)
    turn = driver.ask(chat, "When does the last ferry sail?")
    expect(turn).to_contain_text(str(notes))
    approve(chat, turn, "Documents asks: May a store of this team's own be opened?")
    driver.answered(chat, turn)
    expect(turn).to_contain_text("It sails at midnight.")
