"""Which teams are compared: those that come with the app, people's own in every version, and what
stands in a form and is not saved yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

import streamlit as st

from agentkit.errors import AgentkitError, NotFound
from agentkit.ledger.kept_teams import KeptTeam
from agentkit.teams import Team, teams
from agentkit.teams.built.document import read_document
from agentkit.teams.built.team import build_team
from agentkit.ui.shared import state
from agentkit.ui.teams import drafts
from agentkit.ui.teams.drafts import Draft
from agentkit.ui.teams.views import DRAFT
from agentkit.ui.text import markdown
from agentkit.workspace.trying import KIND

_MOST_VERSIONS = 12  # of a team that can be chosen, the newest
_GONE = "A team that was deleted"


def list_kept() -> dict[str, str]:
    """What teams are called, by their keys: people's own first, newest version first."""
    names: dict[str, str] = {}
    for team in state.workspace().kept_teams.newest(state.owner()):
        versions = state.workspace().kept_teams.versions(state.owner(), team.id)
        names |= {one.key: name_version(one) for one in versions[:_MOST_VERSIONS]}
    names |= {team.id: team.title for team in teams()}
    return names


def list_all() -> dict[str, str]:
    """These, and before them what stands in forms and was not saved."""
    own = state.workspace().kept_teams.newest(state.owner())
    changed = filter(drafts.is_changed, map(_open, own))
    names: dict[str, str] = {}
    for draft in (*drafts.list_new(), *changed):
        names[DRAFT + draft.id] = f"{draft.name}, as in its form"
    names |= list_kept()
    return names


def name_version(team: KeptTeam) -> str:
    """A team of somebody's own with its version."""
    return f"{team.name}, version {team.version}"


def find_name(team_id: str) -> str:
    """What the team of a run is called, also one that was deleted since."""
    try:
        return name_version(state.workspace().team_shelf.find_kept(state.owner(), team_id))
    except NotFound:
        found = state.find_team(team_id)
    if found is None:
        return _GONE
    return found.title


def find_team(choice: str) -> Team:
    """The team that is chosen; raises NotFound, and ConfigError for one that cannot work."""
    if not choice.startswith(DRAFT):
        return state.team(choice)
    draft = drafts.open_draft(choice.removeprefix(DRAFT))
    return build_team(read_document(draft.document), KIND)


def draw_models(key: str) -> str:
    """The model that speaks where a team says nothing else; gives its id."""
    models = {model.id: model.label for model in state.workspace().models()}
    chosen: str = st.selectbox("Model", list(models), format_func=models.__getitem__, key=key)
    return chosen


def draw_collections(key: str, first: str = "") -> str | None:
    """The collection that is looked into, at first this one; None where there is none."""
    found = state.workspace().library.collections(state.owner())
    names = list(map(attrgetter("name"), found))
    if not names:
        return None
    names.sort(key=lambda name: name != first)  # the others stay in their order
    chosen: str = st.selectbox("Collection", names, key=key)
    return chosen


def keep_known(key: str, known: Sequence[str]) -> None:
    """Forget a choice that is gone: its team was deleted, its draft saved."""
    if st.session_state.get(key, "") not in ("", *known):
        del st.session_state[key]


def tell_error(error: AgentkitError) -> None:
    """Say once why something could not begin."""
    st.toast(markdown.literal(str(error)), icon=":material/error:")


def _open(team: KeptTeam) -> Draft:
    return drafts.open_draft(team.id)
