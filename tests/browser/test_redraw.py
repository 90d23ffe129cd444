"""What the server draws is seen, and what is done on a page is done once, whatever happens on the
way.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.browser import driver, papers
from tests.browser.expecting import expect
from tests.browser.line import Line
from tests.browser.serving import App, serving
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

WHOLE = """  # what is told in a part of the page is asked of the whole page
from streamlit.runtime.app_session import AppSession

AppSession.has_fragment = lambda self, part: False
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

COMES_BACK = """
import streamlit as st

run = st.session_state["run"] = st.session_state.get("run", -1) + 1
st.button("Go on")
if run in (0, 3):
    st.code(20_000 * "x")
st.write(f"Run {run}")
"""

BEHIND = """  # a part is asked for and has begun before anything of the page is sent
import time
import streamlit as st
from streamlit.runtime import get_instance
from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState
from agentkit.ui.shell import reruns

@st.fragment
def part():
    seen["part"] = ThreadState.get().fragment_id
    seen["drawn"] = seen.get("drawn", 0) + 1
    st.text(f"Drawn: {seen['drawn']}")

seen = st.session_state
if not seen:
    reruns.mend()
if st.button("Show the part"):
    get_instance()._get_async_objs().eventloop.call_soon_threadsafe(time.sleep, 1)
    st.text("Above")
    part()
    st.text("Below")
    get_script_run_ctx().script_requests.request_rerun(RerunData(fragment_id=seen["part"]))
"""

AT_THE_END = """
import streamlit as st
from streamlit.runtime.scriptrunner import RerunData
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from agentkit.ui.shell import reruns

@st.fragment
def part():
    st.button("Draw the part")

def ask(runner, context, *ending):  # the page is asked for when the run of a part has all but ended
    if context.fragment_ids_this_run:
        runner.request_rerun(RerunData())
    end(runner, context, *ending)

run = st.session_state["run"] = st.session_state.get("run", 0) + 1
if run == 1:
    reruns.mend()
    end, ScriptRunner._on_script_finished = ScriptRunner._on_script_finished, ask
st.text(f"Run {run}")
with st.container(key="box"):
    part()
"""

BUSY = """() => setTimeout(() => {
    const since = performance.now();
    while (performance.now() - since < 1500);  // longer than any part of the page waits to look
}, 0)"""


def test_a_large_piece_that_comes_back_while_the_browser_forgets_it(
    tmp_path: Path, page: Page
) -> None:
    """The last click says which pieces the browser has; by the end of the run before it has
    forgotten one, and the last run names it.
    """
    script, line = tmp_path / "script.py", Line(page)
    script.write_text(COMES_BACK)
    with serving(tmp_path, {}, script=str(script)) as app:
        page.goto(app.url)
        onwards = page.get_by_role("button", name="Go on")
        expect(page.get_by_text("Run 0", exact=True)).to_be_visible()
        onwards.click()
        expect(page.get_by_text("Run 1", exact=True)).to_be_visible()
        driver.settled(page)
        line.is_held = True
        onwards.click()
        line.send_until("script_finished")
        onwards.click()
        line.release()
        expect(page.get_by_text("Run 3", exact=True)).to_be_visible()
        expect(page.get_by_test_id("stCode")).to_be_visible()


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


def test_a_question_sent_while_parts_of_the_page_are_late_is_asked_once(
    tmp_path: Path, page: Page
) -> None:
    with OpenAIServer(lambda body: Answer("At 21:40 [1].", halt_after=1)) as server:
        model = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "sk-browser"}
        with serving(tmp_path, model) as app:
            driver.open_app(page, app)
            expect(driver.ask(page, papers.FERRY_QUESTION)).to_contain_text("At")
            box = page.get_by_test_id("stChatInputTextArea")
            box.fill("What does it cost?")
            _send_while_busy(page)
            waiting = page.get_by_text("Asked after this answer:")
            expect(waiting).to_have_count(1)
            expect(box).to_have_value("")
            box.fill("And on Sundays?")
            box.press("Enter")
            expect(waiting.filter(has_text="And on Sundays?")).to_be_visible()
            expect(waiting).to_have_count(2)
            server.go_on.set()


def test_a_question_that_is_clicked_twice_is_asked_once(chat: Page) -> None:
    starter = chat.get_by_role("button", name="What is said about").first
    starter.dblclick(delay=30)  # ms, as a hand does it
    turn = chat.locator("[class*='st-key-turn-']").first
    driver.answered(chat, turn)
    driver.settled(chat)
    expect(chat.locator("[class*='st-key-chat-row-']")).to_have_count(1)
    expect(chat.get_by_text("Asked after this answer")).to_have_count(0)
    driver.new_chat(chat)
    starter.click()
    expect(chat.locator("[class*='st-key-chat-row-']")).to_have_count(2)


def test_a_part_that_is_drawn_before_the_page_was_sent_leaves_no_gap(
    tmp_path: Path, page: Page
) -> None:
    script = tmp_path / "page.py"
    script.write_text(BEHIND)
    with serving(tmp_path, {}, str(script)) as app:
        page.goto(app.url)
        page.get_by_role("button", name="Show the part").click()
        expect(page.get_by_text("Drawn: 2")).to_be_visible()
        expect(page.get_by_text("Below")).to_be_visible()


def test_a_page_that_is_asked_for_when_a_part_has_been_drawn_is_not_drawn_inside_of_it(
    tmp_path: Path, page: Page
) -> None:
    script = tmp_path / "page.py"
    script.write_text(AT_THE_END)
    with serving(tmp_path, {}, str(script)) as app:
        page.goto(app.url)
        page.get_by_role("button", name="Draw the part").click()
        expect(page.get_by_text("Run 2")).to_be_visible()
        expect(page.locator(".st-key-box").get_by_text("Run 2")).to_have_count(0)


def test_what_was_typed_when_another_page_was_asked_for_is_kept(app: App, page: Page) -> None:
    """It is told by the click on the link, however soon that comes, and heard together with it by a
    server that is busy with the old page.
    """
    line = Line(page)
    driver.open_app(page, app)
    driver.search(page, "no chat")
    page.keyboard.press("Escape")
    driver.settled(page)
    line.is_held = True
    page.get_by_role("button", name="Documents", exact=True).click()
    page.keyboard.press("Escape")
    box = driver.find_box(page)
    box.fill("Half of a question")
    page.get_by_test_id("stSidebarNav").get_by_role("link", name="Settings").click()
    line.release()
    expect(page.get_by_role("heading", name="Settings", level=1)).to_be_visible()
    driver.go(page, "Chat")
    expect(box).to_have_value("Half of a question")


@pytest.mark.parametrize("patch", ["", WHOLE.strip()], ids=["drawn", "not drawn"])
def test_what_was_typed_when_its_dialog_was_closed_is_kept_and_shown(
    ferry: None, tmp_path: Path, page: Page, patch: str
) -> None:
    """Escape tells both at once; on a busy machine the dialog may not be drawn again for that."""
    (tmp_path / "sitecustomize.py").write_text(patch)
    with serving(tmp_path, {"PYTHONPATH": str(tmp_path)}) as app:
        driver.open_app(page, app)
        _type_and_leave(page, "Chat settings", "Most tokens of a reply")
        expect(page.get_by_text("most tokens of a reply 300")).to_be_visible()
        _type_and_leave(page, "Narrow", "From page")
        expect(page.get_by_text("from page 300")).to_be_visible()


def test_a_dialog_stays_as_it_is_when_an_answer_ends_behind_it(
    ferry: None, tmp_path: Path, page: Page
) -> None:
    with OpenAIServer(lambda body: Answer("At 21:40 [1].", halt_after=1)) as server:
        model = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "sk-browser"}
        with serving(tmp_path, model) as app:
            driver.open_app(page, app)
            turn = driver.ask(page, papers.FERRY_QUESTION)
            expect(turn).to_contain_text("At")
            page.get_by_role("button", name="Chat settings", exact=True).click()
            field = page.get_by_role("dialog").get_by_label("Most tokens of a reply")
            field.fill("3")
            server.go_on.set()
            expect(turn).to_contain_text("Done")
            page.emulate_media(color_scheme="dark")  # for which graphs are drawn anew
            driver.settled(page)
            page.keyboard.type("00")
            expect(field).to_have_value("300")
            page.keyboard.press("Escape")
            driver.answered(page, turn)
            expect(page.get_by_text("most tokens of a reply 300")).to_be_visible()


def _type_and_leave(page: Page, opener: str, field: str) -> None:
    page.get_by_role("button", name=opener, exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label(field).fill("300")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def _send_while_busy(page: Page) -> None:
    """Press Enter while the page is busy: it comes before what became due meanwhile."""
    page.evaluate(BUSY)
    page.keyboard.press("Enter")
