"""The chats in the sidebar: in groups by date, in folders, archived, deleted; which answer, wait,
or are done.

The list is one piece of our own in place of widgets for each chat, and looks by itself: a run of
the page does not wait for it, and what changes in it does not draw the page anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import streamlit as st

from agentkit import runs
from agentkit.errors import AgentkitError, NotFound, WrongArgument
from agentkit.ledger import Chat, Shelf
from agentkit.ui.chat import live
from agentkit.ui.chat.source import open_source
from agentkit.ui.composer import address
from agentkit.ui.shared import components, dialogs, state
from agentkit.ui.text import figures, markdown, times
from agentkit.workspace.deleting import KEPT_DELETED

Mark = Literal["", "answering", "waiting", "finished"]
"""What stands out of a chat: an answer is on its way, it waits for the person, or one has ended
that was not looked at since.
"""

PER_PAGE = 40
POLL_S = 2.0
_GOING_ON = "chats-going-on"
_VIEW, _TURNED, _SHOWN = "chats-view", "chats-turned", "chats-shown"
_NOTE, _NEXT = "chats-note", "chats-next"
_MARKS: dict[Mark, str] = {
    "": "",
    "answering": "Answering",
    "waiting": "Waiting for you",
    "finished": "Has finished",
}
_EMPTY: dict[Shelf, str] = {
    "open": "Your chats will be listed here.",
    "archived": "No chat is archived. The menu ⋯ of a chat has Archive.",
    "deleted": f"No chat was deleted in the last {KEPT_DELETED.days} days.",
}


@dataclass(frozen=True, slots=True)
class _Note:
    """What is told above the list, and the way back from what was done to these chats."""

    told: str = ""
    back: Callable[[list[str], str], None] | None = None
    ids: tuple[str, ...] = ()


def open_chat(chat_id: str | None) -> None:
    """Go to a chat, or with None to a new one; the address in the browser follows."""
    open_source("")
    st.session_state.pop(_NOTE, None)
    address.go_to(chat_id)


def draw_chat_list(current: str | None) -> None:
    """The list in the sidebar; `current` is the chat on the page."""
    address.remember(current)
    with st.sidebar:
        st.button(
            "New chat",
            icon=":material/edit_square:",
            key="new-chat",
            on_click=open_chat,
            args=(None,),
            width="stretch",
        )
        goes_on = bool(_find_answering())
        every = live.pace_looks(POLL_S) if goes_on else None
        st.fragment(_draw_list, run_every=every)(current, goes_on)
    _draw_dialog(current)


def _draw_list(current: str | None, looks: bool) -> None:
    """The list as it is now; it looks while a chat goes on, and whenever somebody comes back to
    the browser's tab: another one may have begun a chat meanwhile.
    """
    marks = find_marks(current)
    components.chat_list(_act, to_data(current, marks))
    if st.session_state.pop(_NEXT, False):
        st.rerun()
    if looks != bool(_find_answering()):
        dialogs.redraw()


def _find_answering() -> dict[str | None, runs.Run[Any]]:
    """The runs that answer now, by chat."""
    return {run.chat_id: run for run in runs.live(state.owner(), kind="chat")}


def find_marks(current: str | None) -> dict[str, Mark]:
    """What stands out of chats, by their ids; a chat that ends while it is not looked at is
    remembered in the session.
    """
    going_on = _find_answering()
    ended = st.session_state.get(_GOING_ON, set()) - {current} - going_on.keys()
    st.session_state[_GOING_ON] = ended | going_on.keys()
    marks: dict[str, Mark] = dict.fromkeys(ended, "finished")
    for chat_id, run in going_on.items():
        marks[str(chat_id)] = "waiting" if run.waiting_for else "answering"
    return marks


def _view() -> tuple[Shelf, str]:
    """Which chats are listed: open ones of a folder or of all, archived or deleted ones."""
    view: tuple[Shelf, str] = st.session_state.get(_VIEW, ("open", ""))
    return view


def to_data(current: str | None, marks: Mapping[str, Mark]) -> dict[str, object]:
    """What the browser draws the list of."""
    ledger, owner = state.workspace().ledger, state.owner()
    shelf, folder = _view()
    folders = ledger.folders(owner)
    if folder and folder not in folders:  # its last chat went elsewhere
        st.session_state[_VIEW] = (shelf, folder) = ("open", "")
    shown = st.session_state.get(_SHOWN, PER_PAGE)
    chats = ledger.shelf(owner, shelf, folder, shown)
    total = ledger.count_shelf(owner, shelf, folder) if len(chats) == shown else len(chats)
    note = st.session_state.get(_NOTE, _Note())
    return {
        "current": current or "",
        "shelf": shelf,
        "folder": folder,
        "turned": st.session_state.get(_TURNED, 0),  # when the view was chosen, by the browser
        "folders": folders,
        "groups": _group(chats, marks),
        "left": total - len(chats),
        "empty": "" if chats else _EMPTY[shelf],
        "note": note.told,
        "undo": note.back is not None,
    }


def _group(chats: Sequence[Chat], marks: Mapping[str, Mark]) -> list[dict[str, object]]:
    """The chats under the days and months of the viewer."""
    groups: dict[str, list[dict[str, object]]] = {}
    for chat in chats:
        mark = marks.get(chat.id, "")
        row: dict[str, object] = {
            "id": chat.id,
            "title": chat.title,
            "mark": mark,
            "told": _MARKS[mark],
            "pinned": chat.pinned,
            "folder": chat.folder,
        }
        groups.setdefault(_name_group(chat), []).append(row)
    return [{"name": name, "chats": rows} for name, rows in groups.items()]


def _name_group(chat: Chat) -> str:
    if chat.deleted_at:
        gone = KEPT_DELETED.days - (times.today() - times.local(chat.deleted_at).date()).days
        return f"Gone for good in {figures.count(max(gone, 0), 'day')}"
    if chat.pinned and not chat.archived:
        return "Pinned"
    return times.name_period(chat.updated_at)


def _act(told: Mapping[str, Any]) -> None:
    """Do what was chosen in the list; what was deleted in another tab meanwhile is passed over."""
    name, ids, value = str(told["name"]), list(map(str, told["ids"])), str(told["value"])
    if name == "view":
        st.session_state[_TURNED] = told.get("at", 0)
    if name in _ACTIONS:
        try:
            _ACTIONS[name](ids, value)
        except AgentkitError as error:
            st.session_state[_NOTE] = _Note(str(error))


def _open(ids: list[str], value: str) -> None:
    open_chat(ids[0])
    st.session_state[_NEXT] = True


def _turn_view(ids: list[str], value: str) -> None:
    views: dict[str, tuple[Shelf, str]] = {
        "archived": ("archived", ""),
        "deleted": ("deleted", ""),
    }
    st.session_state[_VIEW] = views.get(value, ("open", value.removeprefix("/")))
    if value == "open":
        st.session_state[_VIEW] = ("open", "")
    st.session_state.pop(_SHOWN, None)


def _show_more(ids: list[str], value: str) -> None:
    st.session_state[_SHOWN] = st.session_state.get(_SHOWN, PER_PAGE) + 2 * PER_PAGE


def _ask(name: str) -> Callable[[list[str], str], None]:
    """What asks in a dialog first."""

    def ask(ids: list[str], value: str) -> None:
        dialogs.ask(name, ids)
        st.session_state[_NEXT] = True

    return ask


def _pin(ids: list[str], value: str) -> None:
    state.workspace().ledger.arrange_chats(state.owner(), ids, pinned=True)


def _unpin(ids: list[str], value: str) -> None:
    state.workspace().ledger.arrange_chats(state.owner(), ids, pinned=False)


def _move(ids: list[str], value: str) -> None:
    moved = state.workspace().ledger.arrange_chats(state.owner(), ids, folder=value)
    _tell(moved, f"moved to {value}" if value else "taken out of the folder")


def _archive(ids: list[str], value: str) -> None:
    gone = state.workspace().ledger.arrange_chats(state.owner(), ids, archived=True)
    _tell(gone, "archived", _unarchive)


def _unarchive(ids: list[str], value: str) -> None:
    back = state.workspace().ledger.arrange_chats(state.owner(), ids, archived=False)
    _tell(back, "brought back")


def _delete(ids: list[str], value: str) -> None:
    gone = state.workspace().discard_chats(state.owner(), ids)
    if address.read_chat() in gone:
        open_chat(None)
        st.session_state[_NEXT] = True
    _tell(gone, "deleted", _restore)


def _restore(ids: list[str], value: str) -> None:
    _tell(state.workspace().bring_back_chats(state.owner(), ids), "brought back")


def _undo(ids: list[str], value: str) -> None:
    note = st.session_state.pop(_NOTE, _Note())
    if note.back:
        note.back(list(note.ids), "")


def _dismiss(ids: list[str], value: str) -> None:
    st.session_state.pop(_NOTE, None)


def _tell(
    ids: Sequence[str], what: str, back: Callable[[list[str], str], None] | None = None
) -> None:
    """Say above the list what was done, with a way back where there is one.

    A toast out of a fragment would take the place of the page's style.
    """
    note = _Note("These chats were deleted elsewhere.")
    if ids:
        note = _Note(f"{figures.count(len(ids), 'chat')} {what}.", back, tuple(ids))
    st.session_state[_NOTE] = note


_ACTIONS: dict[str, Callable[[list[str], str], None]] = {
    "open": _open,
    "view": _turn_view,
    "more": _show_more,
    "pin": _pin,
    "unpin": _unpin,
    "move": _move,
    "archive": _archive,
    "unarchive": _unarchive,
    "delete": _delete,
    "restore": _restore,
    "undo": _undo,
    "dismiss": _dismiss,
    "rename": _ask("Rename the chat"),
    "new-folder": _ask("New folder"),
    "erase": _ask("Delete for good"),
}
"""By name, what can be done with chats of the list."""


def _draw_dialog(current: str | None) -> None:
    """What asks something first; kept in the session, so that the end of an answer does not close
    it.
    """
    name, ids = dialogs.read_open()
    if name in _DIALOGS:
        _DIALOGS[name](ids)


@dialogs.dialog("Rename the chat")
def _rename(ids: list[str]) -> None:
    ledger, owner = state.workspace().ledger, state.owner()
    try:
        chat = ledger.chat(owner, ids[0])
    except NotFound as error:
        st.error(markdown.literal(str(error)))
        return
    with st.form("rename", border=False):
        title = " ".join(
            st.text_input("Title", value=chat.title, max_chars=120, key="chat-title").split()
        )
        saved = st.form_submit_button("Rename", type="primary", key="rename-chat")
    if saved and not title:
        st.error("The title is empty; type a name for this chat.")
    elif saved:
        dialogs.close()
        ledger.update_chat(owner, chat.id, title=title)
        st.rerun()


@dialogs.dialog("New folder")
def _name_folder(ids: list[str]) -> None:
    with st.form("new-folder", border=False):
        name = st.text_input("Name of the folder", key="folder-name")
        saved = st.form_submit_button("Move here", type="primary", key="make-folder")
    if not saved:
        return
    try:
        state.workspace().ledger.arrange_chats(state.owner(), ids, folder=name or " ")
    except WrongArgument as error:
        st.error(markdown.literal(str(error)))
        return
    dialogs.close()
    st.rerun()


@dialogs.dialog("Delete for good?")
def _erase(ids: list[str]) -> None:
    st.markdown(
        f"{figures.count(len(ids), 'chat')} with all messages, and the files attached there alone."
        " What the calls cost stays on the Usage page. This cannot be undone."
    )
    if dialogs.confirm("erase-chats", "Delete for good"):
        dialogs.close()
        for chat_id in ids:
            _erase_one(chat_id)
        st.rerun()


def _erase_one(chat_id: str) -> None:
    try:
        state.workspace().delete_chat(state.owner(), chat_id)
    except NotFound:  # in another tab
        return


_DIALOGS: dict[str, Callable[[list[str]], None]] = {
    "Rename the chat": _rename,
    "New folder": _name_folder,
    "Delete for good": _erase,
}
