"""Teams that are being built: what stands in the form survives a reload, and is shared by tabs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import streamlit as st

from agentkit.errors import ConfigError, NotFound
from agentkit.ledger.kept_teams import KeptTeam
from agentkit.messages import new_id
from agentkit.teams.built.document import read_document
from agentkit.ui.shared import kept, state
from agentkit.ui.teams import consequences
from agentkit.ui.teams.consequences import Json, Path

_NEW = "new-"
_REVISION = "team-revision"


@dataclass(frozen=True, slots=True)
class Draft:
    """A team as it stands in the form."""

    id: str
    """Of the kept team, or of one that was never saved."""
    document: Json
    base: int = 0
    """The version that was changed; 0 for none."""

    @property
    def is_new(self) -> bool:
        """Whether it was never saved."""
        return self.id.startswith(_NEW)

    @property
    def name(self) -> str:
        """What it is called."""
        return str(self.document.get("name") or "Unnamed team")

    @property
    def flow(self) -> Json:
        """How they work together; empty where the document does not say."""
        return dict(self.document.get("flow") or {})

    def spot(self, *parts: object) -> str:
        """The key of what folds: as it stays open when rows are moved."""
        return "-".join(map(str, ("team", self.id, *parts)))

    def key(self, *parts: object) -> str:
        """The key of a widget: another one once rows were moved, so that none shows another's."""
        revision = st.session_state.get(_REVISION, 0)
        return "-".join(map(str, ("team", self.id, revision, *parts)))


def list_new() -> list[Draft]:
    """Those that were never saved."""
    return [_read(one, known) for one, known in _all().items() if one.startswith(_NEW)]


def begin(document: Mapping[str, Any]) -> str:
    """Begin a team with this document; gives the id of its draft."""
    draft = Draft(_NEW + new_id(), deepcopy(dict(document)))
    keep(draft)
    return draft.id


def open_draft(draft_id: str) -> Draft:
    """What stands in the form: as it was left, else the newest version. Raises NotFound."""
    if known := _all().get(draft_id):
        return _read(draft_id, known)
    if draft_id.startswith(_NEW):
        raise NotFound("This draft was saved or discarded; the list has the teams there are.")
    return _of(state.workspace().kept_teams.find(state.owner(), draft_id))


def is_changed(draft: Draft) -> bool:
    """Whether there is something that was not saved."""
    return draft.id in _all()


def keep(draft: Draft) -> None:
    """Keep what stands in the form."""
    kept.put(None, "teams", {**_all(), draft.id: {"document": draft.document, "base": draft.base}})


def drop(draft_id: str) -> None:
    """Forget what was changed."""
    left = {one: known for one, known in _all().items() if one != draft_id}
    kept.put(None, "teams", left or None)
    renew()


def renew() -> None:
    """Draw all fields anew, from what stands in the draft."""
    st.session_state[_REVISION] = st.session_state.get(_REVISION, 0) + 1


def put(draft_id: str, path: Path, value: object) -> None:
    """Set one value, with what follows from it; what another tab has changed elsewhere stays."""
    draft = open_draft(draft_id)
    document = deepcopy(draft.document)
    at: Any = document
    for part in path[:-1]:
        at = at[part]
    before, at[path[-1]] = at.get(path[-1]), value
    if consequences.follow(document, path, before):
        renew()
    keep(Draft(draft_id, document, draft.base))


def change_list(draft_id: str, path: Path, change: Callable[[list[Any]], Sequence[Any]]) -> None:
    """Change the rows of a list: put one in, take one out, move one."""
    at: Any = open_draft(draft_id).document
    for part in path[:-1]:
        at = at[part]
    rows = at.get(path[-1], []) if isinstance(at, dict) else at[path[-1]]
    put(draft_id, path, list(change(list(rows))))
    renew()


def _of(team: KeptTeam) -> Draft:
    """With what documents have got since it was kept; as it is, where it cannot be read."""
    try:
        document = read_document(team.document).to_json()
    except ConfigError:
        document = deepcopy(dict(team.document))
    return Draft(team.id, document, team.version)


def _read(draft_id: str, known: Mapping[str, Any]) -> Draft:
    return Draft(draft_id, deepcopy(known["document"]), int(known["base"]))


def _all() -> dict[str, Any]:
    return dict(kept.get(None, "teams") or {})
