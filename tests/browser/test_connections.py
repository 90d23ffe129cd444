"""A model server is connected on the Settings page, tested, and asked; its key is never shown
again.
"""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, WebSocket

from tests.browser import driver, papers
from tests.browser.expecting import expect
from tests.browser.serving import App, free_port, serving
from tests.servers.openai_server import OpenAIServer

pytestmark = pytest.mark.walk

KEY = "sk-never-shown-7Q2"
PATIENT = """
from agentkit.llm.connections import discover

discover.probe.__kwdefaults__["timeout_s"] = 600
"""
"""On a busy machine the 10 s of a test are over before anything else was done on the page."""


def test_a_connection_is_added_tested_and_asked(app: App, page: Page) -> None:
    sent = _sent_by_the_server(page)
    with OpenAIServer() as server:
        page.goto(f"{app.url}/settings")
        dead = f"http://127.0.0.1:{free_port()}/v1"
        _add(page, "Wrong port", dead, "")
        _add(page, "Our server", server.base_url, KEY)

        steps = _test(page, "Wrong port")
        expect(steps.last).to_contain_text("refused", ignore_case=True)
        expect(steps.last).to_contain_text(dead)
        steps = _test(page, "Our server")
        expect(page.locator(".st-key-connection-Our-server")).to_contain_text(
            "The server offers 1 model"
        )
        assert steps.count() >= 2
        assert all("error" not in text for text in steps.all_inner_texts())

        _open_its_settings(page)
        expect(page.get_by_role("dialog").locator("input[type=password]")).to_have_value("")
        page.keyboard.press("Escape")
        _ask_it(page, server)
        assert KEY not in page.content()
        assert not [frame for frame in sent if KEY.encode() in frame]


def test_a_hanging_server_does_not_hold_the_page_and_what_is_chosen_counts_at_once(
    tmp_path: Path, page: Page
) -> None:
    (tmp_path / "sitecustomize.py").write_text(PATIENT)
    with (
        OpenAIServer() as server,
        socket.create_server(("127.0.0.1", 0)) as silent,
        serving(tmp_path, {"PYTHONPATH": str(tmp_path)}) as app,
    ):
        page.goto(f"{app.url}/settings")
        _add(page, "Hanging", f"http://127.0.0.1:{silent.getsockname()[1]}/v1", "")
        _add(page, "Ours", server.base_url, "")
        hanging = page.locator(".st-key-connection-Hanging")
        hanging.get_by_role("button", name="Test ").click()
        expect(hanging.get_by_text("for 10 s at most")).to_be_visible()
        page.get_by_role("combobox", name="Model of new chats").click()
        page.get_by_role("option", name="test-model (Ours)").click()
        hanging.get_by_role("button", name="Cancel").click()
        expect(hanging.get_by_text("The test was cancelled.")).to_be_visible()
        _limit(page, "30")

        driver.go(page, "Documents")
        driver.add_files(page, [driver.file("ferry.docx", papers.ferry_docx())])
        driver.go(page, "Chat")
        expect(page.locator(".st-key-choice button:visible")).to_contain_text("test-model (Ours)")
        turn = driver.ask(page, papers.FERRY_QUESTION)
        expect(turn.get_by_text("No answer. The limit of 30 tokens was reached")).to_be_visible()
        assert server.chats == []
        driver.go(page, "Settings")
        _limit(page, "30,000")
        driver.go(page, "Chat")
        driver.new_chat(page)
        driver.answered(page, driver.ask(page, papers.FERRY_QUESTION))
        assert len(server.chats) == 1


def _limit(page: Page, tokens: str) -> None:
    """Choose how many tokens a question may take."""
    row = page.locator(".st-key-limit-run_tokens")
    row.get_by_role("button", name="Change").filter(visible=True).first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox").fill(tokens)
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_have_count(0)
    expect(row).to_contain_text(f"{tokens} tokens")


def _sent_by_the_server(page: Page) -> list[bytes]:
    """Collects everything that the server sends to the page from now on."""
    frames: list[bytes] = []

    def opened(socket: WebSocket) -> None:
        socket.on(
            "framereceived",
            lambda frame: frames.append(frame if isinstance(frame, bytes) else frame.encode()),
        )

    page.on("websocket", opened)
    return frames


def _add(page: Page, name: str, address: str, key: str) -> None:
    page.get_by_role("button", name="Add a connection").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name="Name").fill(name)
    dialog.get_by_role("textbox", name="Address").fill(address)
    dialog.get_by_label("Key", exact=True).fill(key)
    dialog.get_by_role("textbox", name="Models, one a line", exact=True).fill("test-model")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_have_count(0)
    expect(page.locator("[class*='st-key-connection-']").filter(has_text=name)).to_contain_text(
        "a key is set" if key else "no key"
    )


def _test(page: Page, name: str) -> Locator:
    """The steps of a test, once it has ended."""
    connection = page.locator("[class*='st-key-connection-']").filter(has_text=name)
    connection.get_by_role("button", name="Test ").click()
    steps = connection.get_by_test_id("stAlert")
    expect(steps.first).to_be_visible()
    driver.settled(page)
    return steps


def _open_its_settings(page: Page) -> None:
    page.locator("[class*='st-key-server-menu-Our'] button:visible").click()
    page.get_by_role("menuitem", name="Edit").click()
    expect(page.get_by_role("dialog").get_by_role("textbox", name="Address")).to_be_visible()


def _ask_it(page: Page, server: OpenAIServer) -> None:
    driver.go(page, "Documents")
    driver.add_files(page, [driver.file("ferry.docx", papers.ferry_docx())])
    driver.go(page, "Chat")
    page.locator(".st-key-choice button:visible").click()
    page.get_by_role("combobox", name="Model").click()
    page.get_by_role("option", name="test-model (Our server)").click()
    expect(page.locator(".st-key-choice button:visible")).to_contain_text("test-model (Our server)")
    page.keyboard.press("Escape")
    turn = driver.ask(page, papers.FERRY_QUESTION)
    caption = driver.answered(page, turn)
    assert caption.inner_text().startswith("test-model (Our server)")
    assert [asked.headers["authorization"] for asked in server.requests] == [f"Bearer {KEY}"] * len(
        server.requests
    )
    assert server.chats[-1]["stream"]
