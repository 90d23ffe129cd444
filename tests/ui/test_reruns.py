"""What a browser asks to be drawn anew does what was done on the page once."""

from __future__ import annotations

from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.scriptrunner import RerunData, RerunException
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequests

from agentkit.ui.shared import state
from agentkit.ui.shell import reruns


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[ClientState]:
    """What is asked of Streamlit."""
    for name in ("_create_scriptrunner", "request_rerun"):  # both are as before after the test
        monkeypatch.setattr(AppSession, name, getattr(AppSession, name))
    asked: list[ClientState] = []
    monkeypatch.setattr(reruns, "_ask_run", lambda session, state: asked.append(state))
    reruns.mend()
    return asked


def _ask(*, is_auto: bool, is_there: bool = True) -> None:
    state = ClientState(fragment_id="part", is_auto_rerun=is_auto)
    add = state.widget_states.widgets.add
    add(id="composer").chat_input_value.data = "What does it cost?"
    add(id="button", trigger_value=True)
    add(id="menu").string_trigger_value.data = "Delete"
    add(id="list", json_trigger_value='[{"event": "act"}]')
    add(id="keep-files", bool_value=False)
    add(id="name", string_value="")
    session = Mock(AppSession)
    session.has_fragment.return_value = is_there
    AppSession.request_rerun(session, state)


def test_what_was_done_is_left_to_its_own_request(heard: list[ClientState]) -> None:
    _ask(is_auto=True)
    _ask(is_auto=False)
    auto, own = [[one.id for one in state.widget_states.widgets] for state in heard]
    assert auto == ["keep-files", "name"]
    assert own == ["composer", "button", "menu", "list", "keep-files", "name"]


def test_what_was_done_in_a_part_that_is_gone_is_asked_of_the_page(
    heard: list[ClientState],
) -> None:
    for is_auto, is_there in ((False, True), (False, False), (True, False)):
        _ask(is_auto=is_auto, is_there=is_there)
    assert [state.fragment_id for state in heard] == ["part", "", "part"]


def test_a_page_is_drawn_anew_without_a_browser(heard: list[ClientState]) -> None:
    AppSession.request_rerun(Mock(AppSession), None)
    assert heard == [None]


@pytest.mark.parametrize("is_ended", [False, True], ids=["at the end", "in between"])
def test_all_that_was_done_during_a_callback_comes_after_it(
    monkeypatch: pytest.MonkeyPatch, is_ended: bool
) -> None:
    """Streamlit tells of it by ending the callback, once for each; where that is in a step that is
    not to be taken again, the callback has ended.
    """
    requests, clicked = ScriptRequests(), ["Stop", "Menu", ""]
    monkeypatch.setattr(
        state, "get_script_run_ctx", lambda: SimpleNamespace(script_requests=requests)
    )

    def step() -> str:
        if button := clicked.pop(0):
            states = WidgetStates()
            states.widgets.add(id=button, trigger_value=True)
            raise RerunException(RerunData(widget_states=states))
        return "taken"

    def callback() -> None:
        with state.Undisturbed() as undisturbed:
            assert undisturbed(step) == "taken"
            if is_ended:
                step()

    if is_ended:
        clicked.insert(1, "")
    with pytest.raises(RerunException) as last:
        callback()
    requests.request_rerun(last.value.rerun_data)  # as Streamlit does after a callback
    come = requests.on_scriptrunner_ready().rerun_data.widget_states
    assert come is not None
    assert sorted(one.id for one in come.widgets) == ["Menu", "Stop"]
