"""What all pages share: the process's one workspace, the owner, and the head of a page."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import streamlit as st

from agentkit import runs
from agentkit.errors import ConfigError, NotFound
from agentkit.places import SHIPPED
from agentkit.runs import Run
from agentkit.settings import Settings, load_settings
from agentkit.teams import Team
from agentkit.workspace import Workspace

PAGES = SHIPPED / "pages"
"""Where the pages are; links to them name them as `PAGES / "chat.py"`."""

drawn = threading.Event()
"""Set once somebody has seen a page: until then nothing heavy is loaded that would keep the page
waiting.
"""

loaded = threading.Event()
"""Clear only while the server that starts loads what the first page is made of."""
loaded.set()

_PAGE, _ELSEWHERE, _DONE = "page", "comes-from-elsewhere", "done-by-button"
_lock = threading.Lock()
_opened: list[Workspace] = []
_opener: list[Callable[[Settings], Workspace]] = [Workspace]


def workspace() -> Workspace:
    """The workspace of this process, opened on first use; raises StoreError and ConfigError."""
    with _lock:
        if not _opened:
            _opened.append(_opener[-1](load_settings()))
        return _opened[0]


def open_with(opener: Callable[[Settings], Workspace]) -> None:
    """Open the workspace like this when somebody needs it; by default for this process alone."""
    _opener[:] = [opener]


def use(other: Workspace) -> None:
    """Serve pages from this workspace, closing the one served so far; for tests and for embedding
    the app.
    """
    close()
    with _lock:
        _opened.append(other)


def close() -> None:
    """Close the workspace, if one is open."""
    with _lock:
        if _opened:
            _opened.pop().close()


def owner() -> str:
    """Whose session this is."""
    return workspace().settings.owner


def team(team_id: str) -> Team:
    """The team of that id; raises NotFound, and ConfigError for one that cannot work."""
    return workspace().team(owner(), team_id)


def find_team(team_id: str) -> Team | None:
    """The team of that id; None when it was deleted, or cannot work."""
    try:
        return team(team_id)
    except (NotFound, ConfigError):
        return None


def find_run(run_id: str) -> Run[Any] | None:
    """The owner's run of that id; None when this process does not know it, or no longer."""
    try:
        return runs.get(run_id, owner())
    except NotFound:
        return None


def turn_to(page: str) -> None:
    """Remember which page of the navigation is drawn in this session."""
    before, st.session_state[_PAGE] = st.session_state.get(_PAGE), page
    st.session_state[_ELSEWHERE] = before not in (None, page)


def is_on(page: str) -> bool:
    """Whether this page of the navigation is the one that is drawn in this session."""
    return bool(st.session_state.get(_PAGE) == page)


def comes_from_elsewhere() -> bool:
    """Whether another page was on the screen before this one."""
    return bool(st.session_state.get(_ELSEWHERE))


def page_head(title: str, purpose: str) -> None:
    """The title of a page and the line that says what it is for."""
    st.title(title, anchor=False)
    st.caption(purpose)


def is_repeated(drawn: object) -> bool:
    """Whether a button does once more what it did since the page was drawn: it was clicked twice.

    `drawn` is an object that is made anew whenever the button is drawn.
    """
    before = st.session_state.get(_DONE)
    st.session_state[_DONE] = drawn
    return before is drawn
