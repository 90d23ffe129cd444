"""How Streamlit takes what a browser asks to be drawn anew, mended where 1.67 does twice what was
done on a page, or not at all, or draws nothing of it.

What is put right here is Streamlit's own and private: requirements.txt keeps to the version that
has it.
"""

from __future__ import annotations

from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession, AppSessionState
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData

_begin_run = AppSession._create_scriptrunner
_ask_run = AppSession.request_rerun
_DONE = frozenset(
    {"trigger_value", "string_trigger_value", "chat_input_value", "json_trigger_value"}
)
"""What a widget says when something is done with it: clicked, sent, chosen in a menu."""


def mend() -> None:
    """Mend it in this process."""
    AppSession._create_scriptrunner = _begin_behind  # type: ignore[assignment]
    AppSession.request_rerun = _ask_once  # type: ignore[assignment]


def _ask_once(session: AppSession, asked: ClientState | None) -> None:
    """Ask for a run of a page or of a part of it.

    What is clicked or sent goes out a moment later. A part of the page that looks again by itself
    in that moment tells of it, too: it would be done twice. What is done in a part that is gone by
    the time that it arrives would be passed over: the whole page is drawn for it.
    """
    if asked and asked.fragment_id:
        widgets = asked.widget_states.widgets
        done = [one for one in widgets if one.WhichOneof("value") in _DONE]
        if asked.is_auto_rerun:
            for one in done:
                widgets.remove(one)
        elif done and not session.has_fragment(asked.fragment_id):
            asked.ClearField("fragment_id")
    _ask_run(session, asked)


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
