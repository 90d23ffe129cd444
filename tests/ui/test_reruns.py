"""What a browser asks to be drawn anew does what was done on the page once."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.fragment import MemoryFragmentStorage
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.runtime.state.common import WidgetMetadata
from streamlit.runtime.state.query_params import QueryParams
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.testing.v1 import AppTest

from agentkit.ui.shared import looks
from agentkit.ui.shell import reruns

ADDRESS = "query_string"


@pytest.fixture
def mended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamlit as in the app; all is as before after the test."""
    for owner, name in (
        (AppSession, "_create_scriptrunner"),
        (AppSession, "request_rerun"),
        (AppSession, "_clear_queue"),
        (ScriptRunner, "_maybe_handle_execution_control_request"),
        (ScriptRunContext, "reset"),
        (SafeSessionState, "on_script_will_rerun"),
    ):
        monkeypatch.setattr(owner, name, getattr(owner, name))
    reruns.mend()


@pytest.fixture
def heard(mended: None, monkeypatch: pytest.MonkeyPatch) -> list[ClientState]:
    """What is asked of Streamlit."""
    asked: list[ClientState] = []
    monkeypatch.setattr(reruns, "_ask_run", lambda session, state: asked.append(state))
    return asked


def _open(page: str = "chat", *, parts: bool = True, others: Sequence[str] = ()) -> Mock:
    """A session on a page, with or without the parts that are asked for.

    What is done there is of the part "part", except for what is of `others`.
    """
    session = Mock(AppSession, _client_state=ClientState(page_script_hash=page), _scriptrunner=None)
    session._fragment_storage = MemoryFragmentStorage()
    session._pages_manager = Mock(PagesManager)
    session.has_fragment.return_value = parts
    known = {
        name: Mock(WidgetMetadata, fragment_id=None if name in others else "part")
        for name in ("composer", "button", "menu", "list")
    }
    session._session_state = Mock(_new_widget_state=Mock(widget_metadata=known))
    return session


def _ask(
    *, is_auto: bool, is_there: bool = True, is_done: bool = True, others: Sequence[str] = ()
) -> None:
    state = ClientState(fragment_id="part", is_auto_rerun=is_auto, page_script_hash="chat")
    add = state.widget_states.widgets.add
    if is_done:
        add(id="composer").chat_input_value.data = "What does it cost?"
        add(id="button", trigger_value=True)
        add(id="menu").string_trigger_value.data = "Delete"
        add(id="list", json_trigger_value='[{"event": "act"}]')
    add(id="keep-files", bool_value=False)
    add(id="name", string_value="")
    AppSession.request_rerun(_open(parts=is_there, others=others), state)


def test_what_was_done_is_left_to_its_own_request(heard: list[ClientState]) -> None:
    _ask(is_auto=True)
    _ask(is_auto=False)
    auto, own = [[one.id for one in state.widget_states.widgets] for state in heard]
    assert auto == ["keep-files", "name"]
    assert own == ["composer", "button", "menu", "list", "keep-files", "name"]


@pytest.mark.parametrize("is_done", [True, False], ids=["done", "chosen"])
def test_what_is_told_in_a_part_that_is_gone_is_asked_of_the_page(
    heard: list[ClientState], is_done: bool
) -> None:
    for is_auto, is_there in ((False, True), (False, False), (True, False)):
        _ask(is_auto=is_auto, is_there=is_there, is_done=is_done)
    assert [state.fragment_id for state in heard] == ["part", "", "part"]


def test_what_is_done_beside_a_part_that_tells_something_is_asked_of_the_page(
    heard: list[ClientState],
) -> None:
    """The browser tells it all at once, as if it were of that part."""
    for others in ((), ("menu",), ("composer", "list")):
        _ask(is_auto=False, others=others)
    _ask(is_auto=False, is_done=False, others=("menu",))
    assert [state.fragment_id for state in heard] == ["part", "", "", "part"]
    assert len({str(state.widget_states) for state in heard[:3]}) == 1


def test_what_is_unfolded_while_a_part_tells_something_is_drawn(heard: list[ClientState]) -> None:
    """The browser tells both at once, as if all of it were of that part."""
    session = _open(others=["menu"])
    for is_open in (False, True, True, False, False):
        state = ClientState(fragment_id="part", page_script_hash="chat")
        state.widget_states.widgets.add(id="list", json_trigger_value='[{"event": "draft"}]')
        state.widget_states.widgets.add(id="menu", bool_value=is_open)
        AppSession.request_rerun(session, state)
    assert [state.fragment_id for state in heard] == ["part", "", "part", "", "part"]


def test_what_is_unfolded_first_while_a_part_tells_something_is_drawn(
    heard: list[ClientState],
) -> None:
    session = _open(others=["menu"])
    state = ClientState(fragment_id="part", page_script_hash="chat")
    state.widget_states.widgets.add(id="menu", bool_value=True)
    AppSession.request_rerun(session, state)
    assert [state.fragment_id for state in heard] == [""]


def _tell(session: Mock, page: str, *, part: str = "", auto: bool = False) -> None:
    """Of a page, or of a part of it: something was done there, or the part looks by itself."""
    told = ClientState(page_script_hash=page, fragment_id=part, is_auto_rerun=auto)
    told.query_string = f"from={page}"
    if not auto:
        told.widget_states.widgets.add(id="button", trigger_value=True)
    AppSession.request_rerun(session, told)


def _lead(session: Mock, page: str) -> None:
    """A link to another page was clicked."""
    asked = ClientState(page_script_hash=page, query_string=f"to={page}")
    AppSession.request_rerun(session, asked)


def test_what_a_page_tells_after_it_was_left_does_not_lead_back_to_it(
    heard: list[ClientState],
) -> None:
    session = _open("chat")
    _lead(session, "settings")
    _tell(session, "chat", part="list", auto=True)  # nobody looks at it any more
    _tell(session, "chat", part="draft")
    session._client_state.page_script_hash = "settings"  # it is being drawn
    _tell(session, "chat")
    asked = [(state.page_script_hash, state.query_string, state.fragment_id) for state in heard]
    assert asked == [("settings", "to=settings", "")] * 3
    assert [len(state.widget_states.widgets) for state in heard] == [0, 1, 1]


def test_the_last_of_several_pages_is_the_one_that_is_drawn(heard: list[ClientState]) -> None:
    session = _open("chat")
    for page in ("settings", "runs", "runs"):
        _lead(session, page)
    _tell(session, "chat")
    _tell(session, "settings")
    assert [state.page_script_hash for state in heard] == ["settings"] + ["runs"] * 4


def test_a_page_that_was_left_can_be_asked_for_again(heard: list[ClientState]) -> None:
    session = _open("chat")
    _lead(session, "settings")
    session._client_state.page_script_hash = "settings"
    _lead(session, "chat")  # by its link or the browser's Back
    _tell(session, "settings", part="list")
    session._client_state.page_script_hash = "chat"
    _tell(session, "chat", part="list")
    _tell(session, "chat")
    assert [state.page_script_hash for state in heard] == ["settings"] + ["chat"] * 4


@pytest.mark.parametrize("part", ["", "part"], ids=["the page", "a part of it"])
def test_a_page_speaks_for_itself_once_it_was_heard(heard: list[ClientState], part: str) -> None:
    session = _open("chat")
    _lead(session, "settings")
    session._client_state.page_script_hash = "settings"
    _tell(session, "settings", part=part)
    session._client_state.page_script_hash = "chat"  # the script has led back there
    _tell(session, "chat", part=part)
    assert [state.page_script_hash for state in heard] == ["settings", "settings", "chat"]
    assert heard[-1].fragment_id == part


@pytest.mark.parametrize("is_same", [True, False])
def test_a_part_that_looks_by_itself_is_drawn_for_what_is_new(
    heard: list[ClientState], monkeypatch: pytest.MonkeyPatch, is_same: bool
) -> None:
    monkeypatch.setattr(looks, "is_same", lambda parts, part: is_same and part == "part")
    _ask(is_auto=True)
    assert len(heard) == (not is_same)
    _ask(is_auto=False)  # somebody has done something there
    _tell(_open(), "chat", part="list", auto=True)
    assert [state.fragment_id for state in heard[-2:]] == ["part", "list"]


def _draw(queue: ForwardMsgQueue, *path: int, part: str = "") -> None:
    message = ForwardMsg()
    message.metadata.delta_path.extend(path)
    message.delta.fragment_id = part
    message.delta.new_element.markdown.body = f"{path}"
    queue.enqueue(message)


def test_a_part_that_is_drawn_leaves_no_gap_in_the_page_that_waits_to_be_sent(mended: None) -> None:
    queue = ForwardMsgQueue()
    session = Mock(AppSession, _browser_queue=queue)
    for place, part in enumerate(["", "part", ""]):
        _draw(queue, 0, place, part=part)
    AppSession._clear_queue(session, ["part"])
    _draw(queue, 0, 1, part="part")  # behind the rest: what came before is of another run
    places = [message.metadata.delta_path[1] for message in queue.flush()]
    assert places == [0, 1, 2, 1]
    _draw(queue, 0, 0)
    AppSession._clear_queue(session)
    assert queue.is_empty()


def test_a_page_is_drawn_anew_without_a_browser(heard: list[ClientState]) -> None:
    AppSession.request_rerun(Mock(AppSession), None)
    assert heard == [None]


def test_what_was_done_in_a_piece_of_ours_says_whose_it_is(heard: list[ClientState]) -> None:
    """That of this request, and that of the one before, which may not have been taken yet."""
    session, asked, old = _open(), ClientState(), WidgetStates()
    requests = SimpleNamespace(_rerun_data=RerunData(widget_states=old))
    session._scriptrunner = SimpleNamespace(_requests=requests)
    new = asked.widget_states
    for name, states in (("draft", new), ("list", new), ("cite", old)):
        events = f"$$STREAMLIT_INTERNAL_KEY_$$ID-1-{name}__events"
        states.widgets.add(id=events, json_trigger_value='[{"event": "act"}]')
    new.widgets.add(id="$$ID-1-list", json_value='{"at": 1}')
    AppSession.request_rerun(session, asked)
    told = [one for one in new.widgets if one.WhichOneof("value") == "json_value"]
    pieces = [(one.id, one.json_value) for one in told]
    assert pieces == [
        ("$$ID-1-list", '{"at": 1}'),
        ("$$ID-1-draft", "{}"),
        ("$$ID-1-cite", "{}"),
    ]


def _page() -> None:
    import streamlit as st
    from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx

    def click() -> None:
        context = get_script_run_ctx()
        assert context is not None
        assert context.script_requests is not None
        context.script_requests.request_rerun(RerunData())  # something else is clicked
        for step in range(3):
            st.session_state[f"step {step}"] = True

    st.button("Go", on_click=click)
    st.session_state["runs"] = st.session_state.get("runs", 0) + 1


def test_a_callback_comes_to_its_end_whatever_is_done_on_the_page_meanwhile(mended: None) -> None:
    app = AppTest.from_function(_page).run()
    app.button[0].click().run()
    assert [f"step {step}" in app.session_state for step in range(3)] == [True] * 3
    assert app.session_state["runs"] == 2  # the first, and what was clicked meanwhile


def test_what_was_clicked_is_done_whatever_is_asked_for_before_its_run_has_begun(
    mended: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = AppTest.from_function(_page).run()
    begin = reruns._begin
    begun: list[dict[str, Any]] = []

    def begin_and_ask(context: ScriptRunContext, **run: Any) -> None:
        begin(context, **run)
        if not begun:
            assert context.script_requests is not None
            context.script_requests.request_rerun(RerunData())
        begun.append(run)

    monkeypatch.setattr(reruns, "_begin", begin_and_ask)
    app.button[0].click().run()
    assert len(begun) == 2
    assert "step 2" in app.session_state


def _page_with_fields() -> None:
    import streamlit as st

    from agentkit.ui.shared import addresses

    opened = st.session_state.setdefault("opened", [])
    opened.append(addresses.find_opened(("first", "last"), "known"))
    last = ["1"] if len(opened) < 3 else []
    addresses.write({"first": [str(len(opened))], "last": last}, "known")
    st.session_state["address"] = st.query_params.to_dict()


def test_an_address_is_written_whole_whatever_is_done_on_the_page_meanwhile(
    mended: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = QueryParams._send_query_param_msg
    clicked: list[QueryParams] = []

    def click_and_send(query: QueryParams) -> None:
        context = get_script_run_ctx()
        assert context is not None
        assert context.script_requests is not None
        if query["first"] == "2" and not clicked:
            clicked.append(query)
            context.script_requests.request_rerun(RerunData())
        send(query)

    monkeypatch.setattr(QueryParams, "_send_query_param_msg", click_and_send)
    app = AppTest.from_function(_page_with_fields)
    app.query_params["first"] = "0"
    app.run()
    app.run()
    assert app.session_state["opened"] == [{"first": ["0"]}, None, None]
    assert app.session_state["address"] == {"first": "3"}


@pytest.fixture
def query() -> Mock:
    """The address of a page, one name of which a field writes itself."""
    known = QueryParams()
    known.populate_from_query_string("chat=2&q=ferry")
    known.bind_widget("q", "field", "string_value", "chat")
    return Mock(QueryParams, wraps=known, _query_params=known._query_params)


@pytest.fixture
def begun(mended: None, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses at which runs begin."""
    addresses: list[str] = []
    monkeypatch.setattr(reruns, "_begin", lambda context, **run: addresses.append(run[ADDRESS]))
    return addresses


def _begin(
    query: Mock,
    address: str,
    page: str = "chat",
    session: Mock | None = None,
    *,
    is_back: bool = False,
) -> None:
    pages = (session or _open())._pages_manager
    pages.current_page_script_hash = "chat"
    context = Mock(ScriptRunContext, pages_manager=pages, session_state=Mock())
    context.session_state.query_params.return_value = nullcontext(query)
    ScriptRunContext.reset(
        context, query_string=address, page_script_hash=page, is_history_navigation=is_back
    )


@pytest.mark.parametrize(
    ("asked", "address"),
    [
        ("chat=2&q=ferry", "chat=2&q=ferry"),
        ("chat=2&q=pier", "chat=2&q=pier"),
        ("chat=1&q=ferry", "chat=2&q=ferry"),
        ("chat=1&q=pier", "chat=2&q=pier"),
        ("", "chat=2"),
    ],
    ids=["known", "field", "older", "older and field", "before all"],
)
def test_an_older_address_does_not_lead_back(
    begun: list[str], query: Mock, asked: str, address: str
) -> None:
    _begin(query, asked)
    assert begun == [address]
    told_again = "chat=2" not in asked
    assert query._send_query_param_msg.call_count == told_again


def test_another_page_is_drawn_at_its_own_address(begun: list[str], query: Mock) -> None:
    _begin(query, "run=3", page="runs")
    assert begun == ["run=3"]


@pytest.mark.parametrize(
    ("done", "address"),
    [
        ({"is_history_navigation": True}, "chat=1"),
        ({}, "chat=1"),
        ({"fragment_id": "part"}, "chat=2"),
        ({"widget_states": WidgetStates(widgets=[WidgetState(trigger_value=True)])}, "chat=2"),
    ],
    ids=["way back", "link", "part", "button"],
)
def test_a_link_and_the_way_back_lead_to_another_address(
    heard: list[ClientState], begun: list[str], query: Mock, done: dict[str, Any], address: str
) -> None:
    """Whatever is done meanwhile: Streamlit forgets then what led there."""
    session, asked = _open(), ClientState(query_string="chat=1", page_script_hash="chat", **done)
    AppSession.request_rerun(session, asked)
    AppSession.request_rerun(session, asked)
    for _ in range(2):
        _begin(query, "chat=1", session=session)
    assert begun == [address, "chat=2"]


def test_the_way_back_is_gone_twice(
    heard: list[ClientState], begun: list[str], query: Mock
) -> None:
    session = _open()
    for address in ("chat=1", "chat=0"):
        asked = ClientState(
            query_string=address, page_script_hash="chat", is_history_navigation=True
        )
        AppSession.request_rerun(session, asked)
    for address in ("chat=1", "chat=0"):
        _begin(query, address, session=session, is_back=True)
    assert begun == ["chat=1", "chat=0"]


def test_what_is_chosen_before_the_new_address_has_come_does_not_lead_back(
    heard: list[ClientState], begun: list[str], query: Mock
) -> None:
    session = _open()
    for address in ("chat=1", "chat=1"):
        asked = ClientState(query_string=address, page_script_hash="chat")
        AppSession.request_rerun(session, asked)
        _begin(query, address, session=session)
    assert begun == ["chat=1", "chat=2"]
