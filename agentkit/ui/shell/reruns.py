"""How Streamlit takes what a browser asks to be drawn anew, mended where 1.67 does twice what was
done on a page, or not at all, or draws nothing of it.

What is put right here is Streamlit's own and private: requirements.txt keeps to the version that
has it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlencode
from weakref import WeakKeyDictionary

from streamlit.components.v2.bidi_component.constants import EVENT_DELIM
from streamlit.delta_generator_singletons import context_dg_stack, get_default_dg_stack_value
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime.app_session import AppSession, AppSessionState
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.script_requests import (
    RerunData,
    _has_active_trigger_value,
)
from streamlit.runtime.scriptrunner_utils.script_run_context import (
    RunLocation,
    ScriptRunContext,
    ThreadState,
)
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.runtime.state.session_state import STREAMLIT_INTERNAL_KEY_PREFIX

from agentkit.ui.shared import addresses, looks

_begin_run = AppSession._create_scriptrunner
_ask_run = AppSession.request_rerun
_clear = AppSession._clear_queue
_give_way = ScriptRunner._maybe_handle_execution_control_request
_begin = ScriptRunContext.reset
_PIECE, _EVENTS = f"{STREAMLIT_INTERNAL_KEY_PREFIX}_", f"{EVENT_DELIM}events"


def mend() -> None:
    """Mend it in this process."""
    AppSession._create_scriptrunner = _begin_behind  # type: ignore[assignment]
    AppSession.request_rerun = _ask_once  # type: ignore[assignment]
    AppSession._clear_queue = _clear_of_page  # type: ignore[assignment]
    ScriptRunner._maybe_handle_execution_control_request = _end_first  # type: ignore[assignment]
    ScriptRunContext.reset = _begin_at_address  # type: ignore[assignment]
    SafeSessionState.on_script_will_rerun = _take_in  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class _Way:
    """To another page. Until the browser has heard from it, it speaks for those it has left."""

    left: frozenset[str]
    page: str
    query: str


_ways: WeakKeyDictionary[AppSession, _Way] = WeakKeyDictionary()
_told: WeakKeyDictionary[PagesManager, str] = WeakKeyDictionary()
"""The address that the browser named last; by session."""
_open: WeakKeyDictionary[AppSession, dict[str, bool]] = WeakKeyDictionary()
"""What was unfolded or ticked when the browser told of it last, by its id; by session."""
_led: WeakKeyDictionary[PagesManager, str] = WeakKeyDictionary()
"""Where the browser's buttons or a link led, until a run begins there; by session."""


def _ask_once(session: AppSession, asked: ClientState | None) -> None:
    """Ask for a run of a page or of a part of it.

    What is clicked or sent goes out a moment later. A part of the page that looks again by itself
    in that moment tells of it, too: it would be done twice. What a part tells in that moment goes
    out with it, as if all of it were of that part: the whole page is drawn for it. So it is for
    what is told by a part that is gone by the time that it arrives: it would be passed over. What
    is told by a page that was left a moment before would lead back to it: the new one is drawn for
    it. A part that looks again and would find what it shows is not drawn.
    """
    if asked:
        widgets = asked.widget_states.widgets
        done = [one for one in widgets if _has_active_trigger_value(one)]
        is_told = bool(asked.fragment_id or done)
        _note_address(session._pages_manager, asked, is_told=is_told)
        way = _find_way(session, asked, is_told=is_told)
        if asked.fragment_id and asked.is_auto_rerun:
            if way or looks.is_same(session._fragment_storage, asked.fragment_id):
                return
            for one in done:
                widgets.remove(one)
        else:
            done += _find_unfolded(session, widgets)
            if way or not _is_all_of_part(session, asked.fragment_id, done):
                asked.ClearField("fragment_id")
        if way:
            asked.page_script_hash, asked.query_string = way.page, way.query
        _keep_pieces(session, asked)
    _ask_run(session, asked)


def _is_all_of_part(session: AppSession, part: str, done: Iterable[WidgetState]) -> bool:
    """Whether the part is on the page, and all that was done in it."""
    known = session._session_state._new_widget_state.widget_metadata
    parts = {getattr(known.get(one.id), "fragment_id", None) for one in done}
    return session.has_fragment(part) and parts <= {part}


def _find_unfolded(session: AppSession, told: Iterable[WidgetState]) -> list[WidgetState]:
    """What was unfolded, folded or ticked since the browser told of it last."""
    before = _open.get(session, {})
    _open[session] = before | {one.id: one.bool_value for one in told}
    return [one for one in told if one.bool_value != before.get(one.id, False)]


def _find_way(session: AppSession, asked: ClientState, *, is_told: bool) -> _Way | None:
    """The way that the page which tells this was left on.

    It begins when another page is asked for, and ends with the first word from there.
    """
    way, page = _ways.get(session), asked.page_script_hash
    here = session._client_state.page_script_hash
    left = way.left if way else frozenset()
    if is_told and page in left:
        return way
    if is_told or page in ("", here):
        _ways.pop(session, None)
    elif way is None or page != way.page:
        behind = {here, *left, way.page if way else here}
        _ways[session] = _Way(frozenset(behind - {page}), page, asked.query_string)
    return None


def _keep_pieces(session: AppSession, asked: ClientState) -> None:
    """What was done in a piece of ours has a state of its own, which says whose it is. Without the
    piece's, Streamlit would have forgotten it when another page is asked for at the same time.
    """
    runner, widgets = session._scriptrunner, asked.widget_states.widgets
    before = runner._requests._rerun_data.widget_states if runner else None
    told = {one.id for one in widgets}
    for one in (*widgets, *(before.widgets if before else ())):
        piece = one.id.removeprefix(_PIECE).removesuffix(_EVENTS)
        if one.id == f"{_PIECE}{piece}{_EVENTS}" and piece not in told:
            told.add(piece)
            widgets.add(id=piece, json_value="{}")


def _take_in(known: SafeSessionState, told: WidgetStates | None, **run: Any) -> None:
    """Take in what was done on the page before the run gives way to what was asked for meanwhile:
    a click would be forgotten.
    """
    with known._lock:
        known._state.on_script_will_rerun(told, **run)


def _end_first(runner: ScriptRunner) -> None:
    """Let what was asked for meanwhile end this run, but not amid a callback or a new address: half
    of what was clicked would be done, and never again.
    """
    in_callback = ThreadState.get().run_location == RunLocation.CALLBACK
    if not in_callback and not addresses.is_being_written():
        _give_way(runner)


def _note_address(pages: PagesManager, asked: ClientState, *, is_told: bool) -> None:
    """A link that leads to the page that it stands on tells nothing else, and names an address that
    was not named before.
    """
    before, _told[pages] = _told.get(pages), asked.query_string
    if asked.is_history_navigation or not (is_told or asked.query_string == before):
        _led[pages] = asked.query_string


def _begin_at_address(context: ScriptRunContext, **run: Any) -> None:
    """Begin a run of a page, or of a part of it, at the address that the page has.

    What is done before the browser has heard of a new address names the one before, and would lead
    back to it: to another chat, or to what was chosen there before. Only links and the browser's
    buttons lead to another address. What fields write there themselves, it knows first.

    And begin it at the top of the page: a part of it that was drawn before leaves the place at
    which that part stands, and all of the page would be drawn in there.
    """
    context_dg_stack.set(get_default_dg_stack_value())
    pages, asked = context.pages_manager, run["query_string"]
    told, address = _read_query(asked), None
    is_led = run["is_history_navigation"] or _led.get(pages) == asked
    if _led.get(pages) == asked:
        del _led[pages]
    if not is_led and run["page_script_hash"] == pages.current_page_script_hash:
        with context.session_state.query_params() as known:
            written = _read_query(urlencode(known._query_params, doseq=True))
            here = {name: value for name, value in written.items() if not known.is_bound(name)}
            here |= {name: value for name, value in told.items() if known.is_bound(name)}
        if told != here:
            address = run["query_string"] = urlencode(here, doseq=True)
    _begin(context, **run)
    if address is not None:  # the browser may never have heard of it
        with context.session_state.query_params() as known:
            known._send_query_param_msg()


def _read_query(query: str) -> dict[str, list[str]]:
    return parse_qs(query, keep_blank_values=True)


def _clear_of_page(session: AppSession, parts: list[str] | None = None) -> None:
    """Forget what waits to be sent when the page is drawn anew, but not when a part of it is.

    What the page drew of that part would be left out, and what it drew behind it would come to the
    wrong place; the browser stands still for good where there is none ("Bad delta path").
    """
    if parts:
        session._browser_queue._delta_index_map.clear()  # nothing takes the place of older things
    else:
        _clear(session, parts)


def _begin_behind(session: AppSession, asked: RerunData) -> None:
    """Begin a run of a page, or of a part of it, once all that the run before drew is on its way.

    Else what comes from a run is passed over when the next one has begun: where that is of a part
    of the page alone, the page would stay as it was. A run that has ended has put all of it
    before this on the session's event loop.
    """

    def begin() -> None:
        if session._state == AppSessionState.SHUTDOWN_REQUESTED:
            return
        running = session._scriptrunner  # by then, what was asked for meanwhile may have begun one
        if running is None or not running.request_rerun(asked):
            _begin_run(session, asked)

    if session._scriptrunner is None:
        begin()
    else:
        session._event_loop.call_soon(begin)
