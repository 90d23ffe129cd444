"""The teams that can be asked in a workspace: those that come with it, and those people built."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from agentkit.core.lenient import read_whole
from agentkit.errors import ConfigError, NotFound
from agentkit.ledger.kept_teams import PREFIX, KeptTeam, KeptTeams
from agentkit.teams import Team, built, team, teams

if TYPE_CHECKING:
    from agentkit.teams.built import TeamDocument


class TeamShelf:
    """Finds a team by what a chat keeps of it, and keeps new versions."""

    def __init__(self, kept: KeptTeams) -> None:
        self.kept = kept

    def find(self, owner: str, team_id: str) -> Team:
        """The team of that id; of a built one without a version the newest. Raises NotFound, and
        ConfigError for one that cannot work here.
        """
        if not team_id.startswith(PREFIX):
            return team(team_id)
        return _build(self.find_kept(owner, team_id))

    def find_document(self, owner: str, team_id: str) -> TeamDocument:
        """The document of the team of that id; of a built one without a version the newest.
        Raises NotFound, also for a ready-made team that has none.
        """
        if not team_id.startswith(PREFIX):
            from agentkit.teams.built.ready_made import ready_made  # loads every kind of team

            return ready_made(team_id)
        return built.read_document(self.find_kept(owner, team_id).document)

    def find_kept(self, owner: str, team_id: str) -> KeptTeam:
        """The version of a built team; without one the newest. Raises NotFound."""
        name, _, version = team_id.partition(":")
        return self.kept.find(owner, name, _to_version(version))

    def all(self, owner: str) -> list[Team]:
        """Those that come with the app, then the person's own that can work, by name."""
        return [*teams(), *self._build_own(owner)]

    def save(
        self, owner: str, given: TeamDocument | Mapping[str, Any] | str, team_id: str = ""
    ) -> KeptTeam:
        """Keep a team, or a new version of one; raises ConfigError that names every problem."""
        document = _to_document(given)
        built.check_document(document)
        return self.kept.save(owner, document.name, document.to_json(), team_id)

    def keep(self, owner: str, given: TeamDocument | Mapping[str, Any]) -> KeptTeam:
        """The team that is as this document; a new one where there is none yet. Raises ConfigError
        that names every problem.
        """
        document = _to_document(given)
        whole = document.to_json()
        same = [one for one in self.kept.newest(owner) if one.document == whole]
        if same:
            return same[0]
        return self.save(owner, document)

    def roll_back(self, owner: str, team_id: str, version: int) -> KeptTeam:
        """Make a version the newest again, as a version of its own; raises NotFound."""
        old = self.kept.find(owner, team_id, version)
        return self.kept.save(owner, old.name, old.document, team_id)

    def duplicate(self, owner: str, team_id: str) -> KeptTeam:
        """A team of its own that begins as this one is; raises NotFound."""
        old = self.kept.find(owner, team_id)
        name = find_free_name(old.name, lambda name: name in self._names(owner))
        return self.kept.save(owner, name, {**old.document, "name": name})

    def _names(self, owner: str) -> set[str]:
        return {one.name for one in self.kept.newest(owner)}

    def _build_own(self, owner: str) -> list[Team]:
        own = []
        for kept in self.kept.newest(owner):
            try:
                own.append(_build(kept))
            except ConfigError:  # the page of teams says what is wrong with it
                continue
        return own


def _to_document(given: TeamDocument | Mapping[str, Any] | str) -> TeamDocument:
    if isinstance(given, built.TeamDocument):
        return given
    return built.read_document(given)


def _build(kept: KeptTeam) -> Team:
    """The team of a version; it is made once, as a version never changes."""
    return _build_once(kept.key, json.dumps(kept.document, sort_keys=True))


@lru_cache(maxsize=256)
def _build_once(key: str, text: str) -> Team:
    return built.build_team(built.read_document(text), key)


def find_free_name(name: str, is_taken: Callable[[str], bool]) -> str:
    """The name with the first number that makes it free."""
    number = 2
    while is_taken(f"{name[:56]} ({number})"):
        number += 1
    return f"{name[:56]} ({number})"


def _to_version(text: str) -> int | None:
    number = read_whole(text)
    if text and number is None:
        raise NotFound(f"There is no version {text:.40} of a team.")
    return number
