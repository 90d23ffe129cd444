"""The pieces of our own JavaScript: how a chat's page behaves, what is typed, a marked passage.

They only ever create text nodes from what they are given, so nothing in a document or an answer
becomes markup.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

import streamlit as st

Part = tuple[str, Literal["", "passage", "sentence"]]

_WEB = Path(__file__).with_name("web")
"""HTML, CSS and JavaScript of the pieces: `NAME.js`, and what it draws, if anything, beside it."""


def chat_page(
    on_open: Callable[[str], None], chat_id: str, *, answering: bool, hit: bool = False
) -> None:
    """Put on the page once, last: links `#cite-MESSAGE-n` call `on_open("MESSAGE-n.k")`, and a
    growing answer stays in view.

    The link is the k-th of those with this address, from 0; a `?` behind the number, of a doubtful
    citation, is left out. A chat opens at its end, unless `hit` says that a message is brought
    into view. Whoever scrolls up while an answer is written is left alone, and offered a button
    back to the end. When a source opens or closes, or earlier messages are shown, the reader's
    line stays where it is; the source has the focus until the
    Close button or Esc gives it back. A page that was drawn for another address than the browser
    has, some seconds later, is drawn anew.
    """

    def open_target() -> None:
        if target := _read_told("chat-page", "cite"):
            on_open(str(target))

    address = st.query_params.get("chat", "")
    data = {"chat": chat_id, "answering": answering, "address": address, "hit": hit}
    _renderer("chat_page")(
        key="chat-page", data=data, on_cite_change=open_target, on_astray_change=lambda: None
    )


def draft(
    on_typed: Callable[[str, str], None],
    on_slash: Callable[[], None],
    chat_id: str,
    text: str,
    *,
    begun: bool,
    put: str = "",
) -> None:
    """Put on the page once: what is typed calls `on_typed("CHAT", text)` half a second later, or
    when a link is clicked, and a `/` in the empty box `on_slash()`.

    `text` is what had been typed in this chat; it is put into the box when the chat opens. What was
    typed there meanwhile stays: while the page was drawn, or while the chat has just `begun`. What
    could not be told, as the page was loaded anew, comes back with it. With a new name in `put`,
    the text takes the place of what stands there.
    """

    def keep_typed() -> None:
        if told := _read_told("chat-draft", "draft"):
            on_typed(str(told["chat"]), str(told["text"]))

    data = {"chat": chat_id, "draft": text, "begun": begun, "put": put}
    _renderer("draft")(
        key="chat-draft", data=data, on_draft_change=keep_typed, on_slash_change=on_slash
    )


def mention() -> None:
    """Put on the chat's page once: @ at the beginning of a word in the composer opens the choice of
    documents; pressed once more there, it is a letter.
    """
    _renderer("mention")(key="mention-key")


def sidebar(chat_id: str) -> None:
    """Put on the page once: on a phone the sidebar closes after a choice.

    *Chat* in the navigation keeps the open chat.
    """
    _renderer("sidebar")(key="sidebar", data={"chat": chat_id})


def chat_list(on_act: Callable[[Mapping[str, Any]], None], data: Mapping[str, object]) -> None:
    """The list of chats: what is chosen there calls `on_act` with its `name`, `ids` and `value`.

    It is drawn anew when somebody comes back to the browser's tab.
    """

    def act() -> None:
        if told := _read_told("chat-list", "act"):
            on_act(told)

    _renderer("chat_list")(
        key="chat-list",
        data=_without_tables(data),
        on_act_change=act,
        on_look_change=lambda: None,
    )


def search_button() -> None:
    """A button that opens the search, which is elsewhere on the page."""
    _renderer("search_button")(key="search-button")


def search(on_told: Callable[[Mapping[str, Any]], None], data: Mapping[str, object]) -> None:
    """Put on every page: the dialog that Ctrl-K opens; what is typed or chosen calls `on_told`."""

    def tell() -> None:
        if given := _read_told("chat-search", "told"):
            on_told(given)

    _renderer("search")(key="chat-search", data=_without_tables(data), on_told_change=tell)


def reveal(data: Mapping[str, object]) -> None:
    """Put on the chat's page: brings a message into view once, and marks words in it."""
    _renderer("reveal")(key="reveal", data=dict(data))


def speak_state(chat_id: str, state: str, ended: str, *, begun: bool) -> None:
    """Put on the chat's page once: tells a screen reader each new `state`, and at its end the
    answer.

    `state` is empty while nothing goes on; `ended` is said when no answer stands there then. A chat
    that is opened is silent, unless it has just `begun`.
    """
    data = {"chat": chat_id, "state": state, "ended": ended, "begun": begun}
    _renderer("spoken")(key="spoken", data=data)


def copy_button(text: str, key: str) -> None:
    """A button that puts an answer into the clipboard, as it is written: with its Markdown."""
    _renderer("copy")(key=key, data={"text": text}, width="content")


def outage(title: str, text: str) -> None:
    """Put on every page: when the server is gone, the browser says this in place of Streamlit's
    words.

    When it is back, the page is drawn anew: else the first thing done there would be lost. So it is
    when it turns dark or light, as the server gives charts and graphs their colours.
    """
    data = {"title": title, "text": text}
    _renderer("outage")(key="outage", data=data, on_back_change=lambda: None)


def names(views: Mapping[str, Sequence[str]], hint: str, key: str) -> None:
    """Put below the box of a SELECT: the names of views and columns that go on with the word before
    the cursor; Tab or a click completes it.

    `hint` stands there while there is none, and `key` says beside them how the first is taken.
    """
    known = {name: list(columns) for name, columns in views.items()}
    _renderer("names")(key="sql-names", data={"views": known, "hint": hint, "key": key})


def popovers(place: str) -> None:
    """Put on every page: a click outside of an open popover closes it first, and then does what it
    is for; Tab leads into it; and where a dialog or a popover was closed by keyboard, the focus
    goes back. With another `place`, what the address names beside the page, it is shown from its
    top.

    The other way round, as Streamlit has it, a click on a link to another page would be lost.
    """
    _renderer("popovers")(key="popovers", data={"place": place})


def own_link(on_home: Callable[[], None]) -> None:
    """Put on a page that shows several things by its address: its own link in the navigation calls
    `on_home`.
    """
    _renderer("own_link")(key="own-link", on_home_change=on_home)


def draw_marked_text(parts: Sequence[Part], key: str) -> None:
    """Text as it stands, with the passage marked and the sentence in it marked more strongly."""
    _renderer("marked_text")(key=key, data={"parts": [list(part) for part in parts]})


def run_table(
    on_open: Callable[[str], None],
    label: str,
    columns: Sequence[tuple[str, str]],
    rows: Sequence[Mapping[str, object]],
    on_choose: Callable[[str], None],
) -> None:
    """A table whose first column links to what a row is about; `on_open(ID)` is called for it, and
    `on_choose(ID)` when the box before it is ticked or cleared.

    A column is its name and its class: `number`, `whole` (not broken) or nothing. A row has `id`,
    `href`, `cells`, what stands `below` the first one, which of them is `bad`, if any, and whether
    it is `chosen`. On a phone each row is a card.
    """

    def open_target() -> None:
        if target := _read_told("run-table", "open"):
            on_open(str(target))

    def choose() -> None:
        if target := _read_told("run-table", "choose"):
            on_choose(str(target))

    data = {"label": label, "columns": [list(one) for one in columns], "rows": list(rows)}
    _renderer("run_table")(
        key="run-table", data=data, on_open_change=open_target, on_choose_change=choose
    )


def comparison(on_open: Callable[[str, str], None], data: Mapping[str, object]) -> None:
    """Two runs beside each other; on a phone one below the other. `on_open(RUN, SEQ)` is called
    for a step.

    `data` has two `sides`, each a `name` and a `run`, and `groups`: each a `name`, what is `told`
    of it, its rows that are `differing` or the `same`, and what is `left` out. A row has a `name`,
    its `first` and `second` text as pairs of how and text, and its `steps`, None for none.
    """

    def open_target() -> None:
        if target := _read_told("comparison", "open"):
            on_open(str(target[0]), str(target[1]))

    _renderer("comparison")(key="comparison", data=dict(data), on_open_change=open_target)


def trace(on_step: Callable[[str], None], data: Mapping[str, object]) -> None:
    """A run as a tree of steps with its waterfall: `on_step("SEQ")` for one that is chosen, by the
    mouse or the keyboard, and `on_step("close")` for Esc.

    `data` has `run`, the `seconds` it took, its `lanes`, `rows`, the `seq` that is `open` or None,
    and whether something is `searched`. A row is: seq, depth, kind, name, place of its lane (-1 for
    none), start and seconds in the run, status, what is told at its bar, and 0 or 1 for being on
    the critical path, having others inside, being found.
    """

    def choose() -> None:
        if target := _read_told("trace", "step"):
            on_step(str(target))

    _renderer("trace")(key="trace", data=dict(data), on_step_change=choose)


def _without_tables(data: Mapping[str, object]) -> list[dict[str, object]]:
    """The data as a list of one, for what is drawn on the first page: among the values of a mapping
    Streamlit looks for tables, and loads pandas and pyarrow to do so.
    """
    return [dict(data)]


def _read_told(key: str, name: str) -> Any:
    """What a piece tells by this name; None if the page that it was on is gone."""
    return st.session_state.get(key, {}).get(name)


@cache
def _renderer(name: str) -> Any:
    script, html, css = (_read(f"{name}.{kind}") for kind in ("js", "html", "css"))
    if "export default" not in script:  # a page has one of it, and it ends with the call after it
        script += _read("once.js")
    return st.components.v2.component(
        f"agentkit_{name}", html=html or None, css=css or None, js=script
    )


def _read(name: str) -> str:
    file = _WEB / name
    if file.is_file():
        return file.read_text(encoding="utf-8")
    return ""
