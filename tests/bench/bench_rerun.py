"""How long the chat page takes to open and to run again, by what the chat holds: `pytest -s
tests/bench/bench_rerun.py`.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from agentkit.settings import Settings
from agentkit.ui.shared import state
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page
from tests.app.talk import Talk, begin
from tests.app.test_chat import long_chat, say
from tests.bench.bench_support import processor

PASSAGE = "Green tea is steeped at 80 degrees for two minutes, says the label on the tin. " * 15


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[ScriptableWorkspace]:
    """One that pages may use."""
    opened = ScriptableWorkspace(Settings(data=tmp_path / "data"))
    state.use(opened)
    yield opened
    state.close()


def measure(what: str, chat: str, *, opened: str = "") -> AppTest:
    """Print how long the page takes to open, and the median of 15 runs of the whole page after;
    each by the clock and on the processor.

    `opened`: the key of what is unfolded then.
    """
    open_page("chat", chat=chat)  # what is imported once is not counted
    began, busy = time.perf_counter(), time.process_time()
    app = open_page("chat", chat=chat)
    first = time.perf_counter() - began, time.process_time() - busy
    if opened:
        app.session_state[opened] = True
        app.run()
    took = []
    for _ in range(15):
        began, busy = time.perf_counter(), time.process_time()
        app.run()
        took.append((time.perf_counter() - began, time.process_time() - busy))
    assert not app.exception
    again = [statistics.median(times) for times in zip(*took, strict=True)]
    sys.stdout.write(f"\n{what}: opens in {_told(*first)}, again {_told(*again)}\n")
    return app


def _told(clock: float, busy: float) -> str:
    return f"{clock * 1000:.0f} ms ({busy * 1000:.0f} busy)"


@pytest.mark.parametrize("citations", [0, 5])
@pytest.mark.parametrize("messages", [20, 200, 1_000])
def test_questions_and_answers(
    workspace: ScriptableWorkspace, messages: int, citations: int
) -> None:
    """Among 20 other chats of that length (2 of the longest)."""
    for _ in range(20 if messages <= 200 else 2):
        chat = long_chat(workspace, messages, [PASSAGE] * citations)
    sys.stdout.write(f"\n{processor()}")
    measure(f"{messages:>5,} messages, {citations} citations in each answer", chat.id)


def test_words_among_agents(workspace: ScriptableWorkspace) -> None:
    """1,000 of them for one answer, folded and unfolded."""
    run = begin(workspace, Talk(1_000, PASSAGE))
    run.result()
    what = "1,000 words among agents"
    measure(f"{what}, folded", str(run.chat_id))
    measure(f"{what}, unfolded", str(run.chat_id), opened=f"steps-{run.id}")


def test_words_among_agents_that_go_on(workspace: ScriptableWorkspace) -> None:
    """1,000 of them so far."""
    talk = Talk(1_000, PASSAGE)
    run = begin(workspace, talk, halts=True)
    try:
        assert talk.halted.wait(120)
        measure("1,000 words among agents, live", str(run.chat_id))
    finally:
        talk.go_on.set()
        run.result()


def test_switching_a_branch(workspace: ScriptableWorkspace) -> None:
    """To another version of the last question of 1,000 messages: `›` and `‹` in turn."""
    chat = long_chat(workspace, 1_000, [PASSAGE] * 5)
    before, first = (said.id for said in workspace.ledger.thread(OWNER, chat.id)[-3:-1])
    asked = say(workspace, chat, "other", before, "user", "Question 499, in other words")
    say(workspace, chat, "reply", asked, "assistant", "Another answer [1].", [PASSAGE])
    app = measure("1,000 messages with two versions of the last question", chat.id)
    took = []
    for _ in range(16):
        ways = [app.button(key=f"{way}-{first}") for way in ("older", "newer")]
        way = next(one for one in ways if not one.disabled)
        began, busy = time.perf_counter(), time.process_time()
        way.click().run()
        took.append((time.perf_counter() - began, time.process_time() - busy))
    assert not app.exception
    median = [statistics.median(times) for times in zip(*took, strict=True)]
    sys.stdout.write(f"\nto another version: {_told(*median)}\n")
