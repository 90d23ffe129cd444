"""All teams: those that come with the app, those people built, and what was begun."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from agentkit.errors import AgentkitError
from agentkit.ledger.kept_teams import KeptTeam
from agentkit.teams import Team, teams
from agentkit.teams.built.ready_made import ready_made
from agentkit.ui.shared import state
from agentkit.ui.teams import drafts, sharing
from agentkit.ui.teams.templates import TEMPLATES, begin
from agentkit.ui.text import markdown, times
from agentkit.workspace.team_shelf import find_free_name

_DELETED = "team-deleted"
_MOST_NAMED = 6


def draw_overview() -> None:
    """New ones, own ones, and those that are there already."""
    _draw_new()
    _draw_deleted()
    _draw_own()
    st.subheader("Ready-made", anchor=False)
    for team in teams():
        _draw_ready(team)


def open_team(team_id: str | None) -> None:
    """Go to a team, or to all of them."""
    st.query_params.from_dict({"team": team_id} if team_id else {})


def _draw_new() -> None:
    with st.container(horizontal=True, gap="small"):
        with st.popover("New team", icon=":material/add:", type="primary", key="new-team"):
            for kind, template in TEMPLATES.items():
                st.button(
                    f"**{template.name}**: {template.about}",
                    key=f"template-{kind}",
                    type="tertiary",
                    on_click=_begin,
                    args=(kind,),
                )
        with st.popover("Import", icon=":material/upload:", key="import-team"):
            sharing.draw_import()


def _begin(kind: str) -> None:
    name = TEMPLATES[kind].name
    taken = _list_names()
    free = find_free_name(name, taken.__contains__) if name in taken else name
    open_team(drafts.begin(begin(kind, free)))


def copy_ready(team: Team) -> None:
    """Begin a team that is as this one that comes with agentkit, and go to it."""
    taken = {*_list_names(), team.name}
    free = find_free_name(team.name, taken.__contains__)
    open_team(drafts.begin({**ready_made(team.id).to_json(), "name": free}))


def _list_names() -> set[str]:
    """What the person's teams are called."""
    kept = {one.name for one in state.workspace().kept_teams.newest(state.owner())}
    return kept | {one.name for one in drafts.list_new()}


def _draw_deleted() -> None:
    """The way back from a deletion."""
    team = st.session_state.get(_DELETED)
    if not isinstance(team, KeptTeam):
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"“{markdown.literal(team.name)}” was deleted.")
        st.button("Undo", key="restore-team", icon=":material/undo:", on_click=_restore)


def _restore() -> None:
    team = st.session_state.pop(_DELETED)
    state.workspace().kept_teams.restore(state.owner(), team.id)


def _draw_own() -> None:
    begun, own = drafts.list_new(), state.workspace().kept_teams.newest(state.owner())
    st.subheader("Your teams", anchor=False)
    if not begun and not own:
        st.caption("None yet. *New team* begins one for each way of working together.")
    for draft in begun:
        _draw_row(draft.id, draft.document, "not saved yet", draft)
    for team in own:
        changed = " · changed, not saved" if drafts.is_changed(drafts.open_draft(team.id)) else ""
        told = f"version {team.version}, {times.day(team.saved_at)}{changed}"
        _draw_row(team.id, team.document, told, team)


def _draw_row(
    team_id: str, document: Mapping[str, Any], told: str, team: KeptTeam | drafts.Draft
) -> None:
    agents = [str(agent.get("name")) for agent in document.get("agents", [])]
    kind = str((document.get("flow") or {}).get("kind", ""))
    way = TEMPLATES[kind].name if kind in TEMPLATES else kind
    name = str(document.get("name") or "Unnamed team")
    with st.container(border=True, gap="xsmall", key=f"team-row-{team_id}"):
        with st.container(horizontal=True, vertical_alignment="center", wrap=False):
            _draw_name(team_id, name)
            _draw_menu(team, name)
        st.markdown(markdown.literal(str(document.get("description", ""))))
        st.caption(markdown.literal(f"{way} · {_name(agents)} · {told}"))


def _draw_menu(team: KeptTeam | drafts.Draft, name: str) -> None:
    ways = ["Duplicate", "Delete"] if isinstance(team, KeptTeam) else ["Discard"]
    key = f"team-menu-{team.id}"

    def choose() -> None:
        _DO[st.session_state[key]](team)

    st.menu_button(
        f"Change {markdown.literal(name)}",  # seen by screen readers only
        ways,
        key=key,
        type="tertiary",
        help=f"Change {markdown.literal(name)}",
        on_click=choose,
    )


def _duplicate(team: KeptTeam) -> None:
    try:
        state.workspace().team_shelf.duplicate(state.owner(), team.id)
    except AgentkitError as error:
        st.toast(markdown.literal(str(error)), icon=":material/error:")


def _delete(team: KeptTeam) -> None:
    try:
        state.workspace().kept_teams.delete(state.owner(), team.id)
    except AgentkitError as error:  # another window was faster
        st.toast(markdown.literal(str(error)), icon=":material/error:")
        return
    st.session_state[_DELETED] = team


def _discard(draft: drafts.Draft) -> None:
    drafts.drop(draft.id)


_DO: dict[str, Any] = {"Duplicate": _duplicate, "Delete": _delete, "Discard": _discard}


def _draw_ready(team: Team) -> None:
    key = f"team-menu-{team.id}"
    with st.container(border=True, gap="xsmall", key=f"team-row-{team.id}"):
        with st.container(horizontal=True, vertical_alignment="center", wrap=False):
            _draw_name(team.id, team.title)
            st.menu_button(
                f"Copy {team.title}",  # seen by screen readers only
                ["Copy to change"],
                key=key,
                type="tertiary",
                help=f"Copy {team.title}",
                on_click=copy_ready,
                args=(team,),
            )
        st.markdown(markdown.literal(team.description))
        st.caption(markdown.literal(_name(team.agents)))


def _draw_name(team_id: str, name: str) -> None:
    """The name, which opens the team."""
    with st.container(gap=None):
        st.button(
            f"**{markdown.literal(name)}**",
            key=f"open-{team_id}",
            type="tertiary",
            on_click=open_team,
            args=(team_id,),
        )


def _name(agents: list[str] | tuple[str, ...]) -> str:
    more = len(agents) - _MOST_NAMED
    named = ", ".join(agents[:_MOST_NAMED])
    return f"{named} and {more} more" if more > 0 else named
