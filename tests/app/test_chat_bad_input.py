"""Chats whose model's server, tool or listener misbehaves: it is told on the page, there is a way
to go on, and what is stored is whole.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from agentkit import runs
from agentkit.core import bus
from agentkit.events import Event, ModelReplied, Retrieved, TokenDelta, ToolCalled
from agentkit.ledger import queries
from agentkit.teams import Question
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, press, settle, texts, until_asked
from tests.browser.serving import free_port
from tests.retrieval.full_disk import at_most
from tests.servers.openai_server import Answer, OpenAIServer, tool_call

QUESTION = "How hot for green tea?"
WHOLE = "It is 80 degrees [1]."
FAULTY = {
    "is limited": (
        Answer(status=429, error={"message": "later"}, headers={"retry-after": "3600"}),
        "3600 s",
    ),
    "fails": (Answer(status=500, error={"message": "out of memory"}), "out of memory"),
    "sends garbage": (Answer(body="<html>It works!</html>"), "ended its reply without a word"),
    "cuts the stream": (Answer("It is 80 degrees", drop_after=2), "The answer broke off."),
}
"""What a server does, and what is told of it."""
TOOL = """
from pathlib import Path
import time


def steep(leaves: str) -> str:
    \"""Steep leaves.\"""
    while not Path({go_on!r}).exists():
        time.sleep(0.01)
    Path({done!r}).touch()
    return "steeped too late"
"""


def ends_of(workspace: ScriptableWorkspace, run_id: str) -> list[str]:
    """The kinds of the stored events with which the run, and its calls, began and ended."""
    kinds = ("RunStarted", "RunFinished", "RunFailed", "RunStopped", "ModelCalled", "ModelReplied")
    told = queries.events(workspace.ledger, OWNER, run_id)
    names = [type(one.event).__name__ for one in told]
    return [name for name in names if name in kinds]


@pytest.fixture
def server(kitchen: ScriptableWorkspace) -> Iterator[OpenAIServer]:
    """The model's server of the workspace."""
    with OpenAIServer(lambda body: Answer(WHOLE)) as running:
        kitchen.settings = dataclasses.replace(
            kitchen.settings, openai_base_url=running.base_url, openai_model="test-model"
        )
        yield running


def ask(app: AppTest) -> AppTest:
    return settle(app.chat_input[0].set_value(QUESTION).run())


def try_again(app: AppTest) -> None:
    """Ask the same once more by the button; it is answered and nothing else is on the page."""
    again = next(one for one in app.button if str(one.key).startswith("again-"))
    settle(again.click().run())
    assert "It is 80 degrees" in texts(app)
    assert not app.error


@pytest.mark.parametrize("trouble", FAULTY)
def test_a_server_that_misbehaves_is_told_and_the_question_is_asked_again(
    kitchen: ScriptableWorkspace, server: OpenAIServer, trouble: str
) -> None:
    answer, told = FAULTY[trouble]
    server.script = lambda body: answer
    app = ask(open_page("chat"))
    assert told in texts(app)
    (failed,) = queries.runs(kitchen.ledger, OWNER, kind="chat")
    ends = ends_of(kitchen, failed["id"])
    assert (ends[0], ends[-1], failed["state"]) == ("RunStarted", "RunFailed", "failed")
    assert ends.count("ModelCalled") == ends.count("ModelReplied")
    assert told in texts(open_page("chat", chat=app.query_params["chat"])), "after a refresh, too"
    server.script = lambda body: Answer(WHOLE)
    try_again(app)


def test_a_server_that_is_gone_is_told_and_asked_once_it_is_back(
    kitchen: ScriptableWorkspace,
) -> None:
    port = free_port()
    kitchen.settings = dataclasses.replace(
        kitchen.settings, openai_base_url=f"http://127.0.0.1:{port}/v1", openai_model="test-model"
    )
    app = ask(open_page("chat"))
    assert f"http://127.0.0.1:{port}/v1 cannot be reached" in texts(app)
    with OpenAIServer(lambda body: Answer(WHOLE), port=port):
        try_again(app)


@pytest.mark.parametrize("kind", [Retrieved, ModelReplied])
def test_a_listener_that_raises_is_told_and_the_question_is_asked_again(
    kitchen: ScriptableWorkspace, server: OpenAIServer, kind: type[Event]
) -> None:
    def listen(event: Event) -> None:
        if isinstance(event, kind):
            raise RuntimeError("this listener is broken")

    with bus.listening(listen):
        run = kitchen.ask(OWNER, Question(QUESTION, "Kitchen", "answer"))
    assert run.wait(60)
    app = open_page("chat", chat=str(run.chat_id))
    assert "this listener is broken" in texts(app)
    ends = ends_of(kitchen, run.id)
    assert (ends[0], ends[-1]) == ("RunStarted", "RunFailed")
    assert ends.count("ModelCalled") == ends.count("ModelReplied")
    try_again(app)


def test_a_tool_that_does_not_come_back_is_left_behind_by_a_stop(
    kitchen: ScriptableWorkspace, server: OpenAIServer, tmp_path: Path
) -> None:
    tools, go_on, done = (tmp_path / name for name in ("tools.py", "go-on", "done"))
    tools.write_text(TOOL.format(go_on=str(go_on), done=str(done)))
    kitchen.settings = dataclasses.replace(kitchen.settings, tools=str(tools))
    server.script = lambda body: tool_call("steep", leaves="green")
    app = open_page("chat")
    app.selectbox(key="team-new").set_value("tools").run()
    app.chat_input[0].set_value(QUESTION).run()
    (run,) = runs.live(OWNER, chat_id=app.query_params["chat"])
    press(app, "option-0", until_asked(app, run))
    assert any(isinstance(one.event, ToolCalled) for one in run)
    app.button(key=f"stop-{run.id}").click().run()
    settle(app)
    assert "Stopped." in texts(app)
    app.session_state[f"steps-{run.id}"] = True  # what a click on the expander does
    app.run()
    assert any("was left behind" in code.value for code in app.code)
    told = run.events()
    go_on.touch()
    while not done.exists():
        time.sleep(0.01)
    server.script = lambda body: Answer("It is 80 degrees.\nTERMINATE")
    try_again(app)
    assert (run.events(), "steeped too late" in texts(app)) == (told, False)
    assert all("steeped too late" not in str(body) for body in server.chats)


def test_a_full_disk_is_told_and_the_answer_goes_on_once_it_has_space(
    kitchen: ScriptableWorkspace, server: OpenAIServer
) -> None:
    server.script = lambda body: Answer(WHOLE, halt_after=2)
    app = open_page("chat")
    app.chat_input[0].set_value(QUESTION).run()
    (run,) = runs.live(OWNER, chat_id=app.query_params["chat"])
    assert any(isinstance(one.event, TokenDelta) for one in run)
    with at_most(10):
        server.go_on.set()
        settle(app)
        assert "check free space" in texts(app)
    (again,) = [one for one in app.button if str(one.key).startswith("resume-")]
    settle(again.click().run())
    assert "It is 80 degrees" in texts(app)
    assert not app.error
    assert len(kitchen.ledger.thread(OWNER, str(run.chat_id))) == 2
    assert kitchen.library.check() == []
