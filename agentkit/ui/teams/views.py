"""Which view of the Teams page is open, and which two teams stand beside each other there."""

from __future__ import annotations

import streamlit as st

from agentkit.errors import NotFound
from agentkit.ui.shared import state
from agentkit.ui.teams import drafts
from agentkit.ui.teams.drafts import Draft

ALL, BESIDE, EVALUATIONS = "Teams", "Side by side", "Question sets"
LEFT, RIGHT = "beside-left", "beside-right"
DRAFT = "draft:"
"""What stands in a form: before the id of the draft, where a kept team has its key."""
_VIEW = "show"


def draw_views() -> str:
    """The view, as `?show=` in the address; only that one is to be drawn."""
    chosen = st.segmented_control(
        "View",
        [ALL, BESIDE, EVALUATIONS],
        default=None if _VIEW in st.session_state else ALL,
        required=True,
        key=_VIEW,
        bind="query-params",
        label_visibility="collapsed",
    )
    return chosen or ALL


def go_home() -> None:
    """To the list, from whatever the page shows.

    Only what has to change is changed: each change is a step of the browser's way back.
    """
    if "team" in st.query_params:
        st.query_params.pop("team")
        return
    st.session_state[_VIEW] = ALL


def draw_way(draft: Draft) -> None:
    """From a team to the view that puts it beside another one."""
    st.button(
        "Side by side",
        key="team-beside",
        icon=":material/compare_arrows:",
        help="Put one question to this version and another one, or to another team.",
        on_click=_open,
        args=(draft,),
    )


def _open(draft: Draft) -> None:
    """What stands in the form at the right, what was saved before it at the left."""
    keys = _list_keys(draft)
    st.session_state[RIGHT] = keys[0]
    st.session_state[LEFT] = keys[min(1, len(keys) - 1)]
    st.query_params.clear()
    st.session_state[_VIEW] = BESIDE


def _list_keys(draft: Draft) -> list[str]:
    """What stands in the form, where it was changed, and all saved versions, newest first."""
    form = [DRAFT + draft.id] if drafts.is_changed(draft) else []
    try:
        versions = state.workspace().kept_teams.versions(state.owner(), draft.id)
    except NotFound:
        versions = []
    return [*form, *(one.key for one in versions)]
