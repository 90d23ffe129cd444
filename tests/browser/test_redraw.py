"""What the server draws is seen, whatever happens to it on its way to the browser."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser import driver, papers
from tests.browser.serving import serving
from tests.servers.openai_server import Answer, OpenAIServer

STALLS = """  # a part of the page runs again before what the page's run drew was sent
import copy
from streamlit.runtime.app_session import AppSession

heard, parts = AppSession.request_rerun, {}

def late(self, client_state):
    heard(self, client_state)
    if client_state.fragment_id:
        parts[self.id] = copy.deepcopy(client_state)
    elif self.id in parts:
        self._scriptrunner._script_thread.join(60)
        heard(self, parts[self.id])

AppSession.request_rerun = late
"""

LOSES = """  # what is drawn for the first question does not arrive, but for the new address
from streamlit.runtime.app_session import AppSession

send, lost = AppSession._enqueue_forward_msg, []

def lossy(self, msg):
    if msg.WhichOneof("type") == "page_info_changed":
        lost.append(self)
        send(self, msg)
    elif len(lost) != 1:
        send(self, msg)
    elif msg.WhichOneof("type") == "script_finished":
        lost.append(self)

AppSession._enqueue_forward_msg = lossy
"""


def test_a_part_of_the_page_that_runs_again_does_not_hide_what_was_drawn(
    tmp_path: Path, page: Page
) -> None:
    (tmp_path / "sitecustomize.py").write_text(STALLS.strip())
    with OpenAIServer(lambda body: Answer("At 21:40 [1].", halt_after=1)) as server:
        model = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "sk-browser"}
        with serving(tmp_path, {"PYTHONPATH": str(tmp_path), **model}) as app:
            page.goto(f"{app.url}/documents")
            driver.add_files(page, [driver.file("ferry.docx", papers.ferry_docx())])
            driver.go(page, "Chat")
            turn = driver.ask(page, papers.FERRY_QUESTION)
            expect(turn).to_contain_text("At")  # and looks again and again
            driver.search(page, "no chat")
            expect(page.get_by_text("No message has all these words.")).to_be_visible()
            page.keyboard.press("Escape")
            server.go_on.set()
            driver.answered(page, turn)


def test_what_was_drawn_and_lost_is_drawn_anew(tmp_path: Path, page: Page) -> None:
    (tmp_path / "sitecustomize.py").write_text(LOSES.strip())
    with serving(tmp_path, {"PYTHONPATH": str(tmp_path)}) as app:
        page.goto(f"{app.url}/documents")
        driver.add_files(page, [driver.file("ferry.docx", papers.ferry_docx())])
        driver.go(page, "Chat")
        driver.answered(page, driver.ask(page, papers.FERRY_QUESTION))
