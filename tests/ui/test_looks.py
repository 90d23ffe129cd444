"""Which parts of a page that look by themselves have something new to show."""

from __future__ import annotations

import queue
from types import SimpleNamespace

import pytest
from streamlit.runtime.fragment import FragmentStorage
from streamlit.testing.v1 import AppTest

from agentkit import runs
from agentkit.core import bus
from agentkit.events import TokenDelta
from agentkit.ui.shared import looks

_shown = SimpleNamespace()
"""What the page below shows, how it comes out, and what Streamlit calls the part of it."""


def _page() -> None:
    import streamlit as st
    from streamlit.runtime.scriptrunner import get_script_run_ctx
    from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState

    from agentkit.ui.shared import looks
    from tests.ui.test_looks import _shown

    @st.fragment
    def part() -> None:
        context = get_script_run_ctx()
        assert context is not None
        _shown.parts, _shown.part = context.fragment_storage, ThreadState.get().fragment_id
        with looks.drawing(lambda: _shown.state):
            _shown.draw()

    with looks.drawing(lambda: _shown.state):  # outside a part nothing looks by itself
        part()


def _is_same() -> bool:
    parts: FragmentStorage = _shown.parts
    return looks.is_same(parts, _shown.part)


def test_a_part_is_the_same_until_its_state_is_another_one() -> None:
    _shown.state, _shown.draw = 1, lambda: None
    app = AppTest.from_function(_page).run()
    assert _is_same()
    _shown.state = 2
    assert not _is_same()
    app.run()
    assert _is_same()
    assert not looks.is_same(_shown.parts, "another part")


def test_what_came_while_a_part_was_drawn_is_drawn_the_next_time() -> None:
    _shown.state = 1
    _shown.draw = lambda: setattr(_shown, "state", 2)
    AppTest.from_function(_page).run()
    assert not _is_same()


def test_a_part_that_was_drawn_by_half_is_drawn_again() -> None:
    def fail() -> None:
        raise OSError("the disk is full")

    _shown.state, _shown.draw = 1, fail
    assert AppTest.from_function(_page).run().exception
    assert not _is_same()


def test_all_that_a_page_tells_of_a_run_is_in_its_state(
    owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words: queue.SimpleQueue[str] = queue.SimpleQueue()

    def work() -> None:
        while word := words.get():
            bus.emit(TokenDelta(word))

    run = runs.start(work, kind="test", owner=owner)
    told, seconds = iter(run), [100.2]
    next(told)  # it has begun
    monkeypatch.setattr(looks, "time", SimpleNamespace(time=lambda: seconds[0]))
    seen = [looks.state_of(run)]

    def is_new() -> bool:
        seen.append(looks.state_of(run))
        return seen[-1] != seen[-2]

    assert not is_new()
    seconds[0] = 101.1
    assert is_new()
    words.put("ferry")
    next(told)
    assert is_new()
    run.say("Hurry")
    assert is_new()
    run.stop()
    assert is_new()
    words.put("")
    run.wait()
    assert is_new()
    assert not is_new()
