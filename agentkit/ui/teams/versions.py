"""The versions of a team: what changed in each, and the way back to an old one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import streamlit as st

from agentkit.core.text import shorten
from agentkit.errors import NotFound
from agentkit.ledger.kept_teams import KeptTeam
from agentkit.ui.shared import state
from agentkit.ui.teams import drafts
from agentkit.ui.teams.drafts import Draft
from agentkit.ui.text import markdown, times

Note = Callable[[str], None]
"""Says something once, when the page is drawn next."""
_MOST_CHANGES = 12
_LONGEST = 60  # characters of a value


def draw_versions(draft: Draft, note: Note) -> None:
    """All versions, newest first, each with what changed; an old one can be made the newest."""
    with st.popover("Versions", icon=":material/history:", key="versions", width="content"):
        try:
            versions = state.workspace().kept_teams.versions(state.owner(), draft.id)
        except NotFound as error:
            st.caption(markdown.literal(str(error)))
            return
        for newer, older in zip(versions, [*versions[1:], None], strict=True):
            _draw_version(draft, newer, older, note if newer is not versions[0] else None)


def _draw_version(draft: Draft, team: KeptTeam, before: KeptTeam | None, note: Note | None) -> None:
    with st.container(border=True, gap="xsmall"):
        st.markdown(f"**Version {team.version}** · {times.format_time(team.saved_at)}")
        changes = list_changes(before.document, team.document) if before else ["The first one"]
        more = len(changes) - _MOST_CHANGES
        shown = changes[:_MOST_CHANGES] + ([f"and {more} more"] if more > 0 else [])
        st.caption("".join(f"\n- {markdown.literal(one)}" for one in shown))
        if note is not None:
            st.button(
                f"Go back to version {team.version}",
                key=f"roll-back-{team.version}",
                icon=":material/settings_backup_restore:",
                on_click=_roll_back,
                args=(draft, team.version, note),
            )


def _roll_back(draft: Draft, version: int, note: Note) -> None:
    try:
        kept = state.workspace().team_shelf.roll_back(state.owner(), draft.id, version)
    except NotFound as error:
        st.toast(markdown.literal(str(error)), icon=":material/error:")
        return
    drafts.drop(draft.id)
    note(f"Version {version} is the newest again, as version {kept.version}.")


def list_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """A line for each place that is not as it was."""
    old, new = dict(_flatten(before)), dict(_flatten(after))
    places = dict.fromkeys([*new, *old])
    return [
        _describe(place, old.get(place), new.get(place))
        for place in places
        if old.get(place) != new.get(place)
    ]


def _flatten(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """All single values with their places; agents and fields stand by their names."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flatten(inner, f"{place}.{key}".removeprefix("."))
    elif isinstance(value, list) and any(isinstance(one, Mapping) for one in value):
        for number, inner in enumerate(value, start=1):
            yield from _flatten(inner, f"{place} {inner.get('name', number)}")
    else:
        yield place, value


def _describe(place: str, old: Any, new: Any) -> str:
    return f"{place}: {_shorten(old)} → {_shorten(new)}"


def _shorten(value: Any) -> str:
    return shorten(str("nothing" if value in (None, "", []) else value), _LONGEST)
