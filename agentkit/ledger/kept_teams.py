"""Teams that people built, in all their versions. Every method takes the owner and sees nothing of
others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agentkit.database import Database, Row
from agentkit.errors import NotFound
from agentkit.ledger.store import utc_now
from agentkit.messages import new_id

PREFIX = "my-"
"""The ids of built teams begin with it."""


def create_tables(database: Database) -> None:
    """Version 1."""
    database.execute(
        """create table built_teams (
        id varchar not null, version integer not null, owner varchar not null,
        name varchar not null, document json not null, saved_at timestamp not null,
        deleted_at timestamp, primary key (id, version))"""
    )


MIGRATIONS = (create_tables,)
_NEWEST = """select * from built_teams t where owner = ? and deleted_at is null
    and version = (select max(version) from built_teams where id = t.id)"""


@dataclass(frozen=True, slots=True)
class KeptTeam:
    """One version of a team; times are UTC without zone."""

    id: str
    version: int
    owner: str
    name: str
    document: Mapping[str, Any]
    """As it was saved."""
    saved_at: datetime

    @property
    def key(self) -> str:
        """What a chat keeps: team and version."""
        return f"{self.id}:{self.version}"


class KeptTeams:
    """The teams of everybody, in the database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        database.migrate("teams", MIGRATIONS)

    def save(
        self, owner: str, name: str, document: Mapping[str, Any], team_id: str = ""
    ) -> KeptTeam:
        """A new version of the team, or a new team; raises NotFound for one that is not there.

        What is as the newest version is already makes none.
        """
        with self.database.transaction():
            newest = self.find(owner, team_id) if team_id else None
            version = 1
            if newest:
                if newest.document == document:
                    return newest
                version = newest.version + 1
            kept = KeptTeam(team_id or PREFIX + new_id(), version, owner, name, document, utc_now())
            values = {field: getattr(kept, field) for field in KeptTeam.__dataclass_fields__}
            values["document"] = json.dumps(document, ensure_ascii=False)
            self.database.insert("built_teams", values)
        return kept

    def find(self, owner: str, team_id: str, version: int | None = None) -> KeptTeam:
        """The team in that version, by default the newest; raises NotFound."""
        sql = f"{_NEWEST} and id = ?"
        values: list[object] = [owner, team_id]
        if version is not None:
            sql = """select * from built_teams where owner = ? and deleted_at is null and id = ?
                and version = ?"""
            values = [owner, team_id, version]
        found = self._remember(sql, values)
        if not found:
            raise NotFound(f"There is no team {team_id!r}; it may have been deleted.")
        return _to_team(found[0])

    def newest(self, owner: str) -> list[KeptTeam]:
        """The newest version of each team, by name."""
        sql = f"{_NEWEST} order by lower(name), id"
        return [_to_team(row) for row in self._remember(sql, [owner])]

    def versions(self, owner: str, team_id: str) -> list[KeptTeam]:
        """All versions of a team, newest first; raises NotFound."""
        self.find(owner, team_id)
        rows = self.database.rows(
            "select * from built_teams where owner = ? and id = ? order by version desc",
            [owner, team_id],
        )
        return [_to_team(row) for row in rows]

    def delete(self, owner: str, team_id: str) -> None:
        """Take a team out of every list; raises NotFound. `restore` brings it back."""
        self.find(owner, team_id)
        self._mark(owner, team_id, utc_now())

    def restore(self, owner: str, team_id: str) -> None:
        """Bring a deleted team back."""
        self._mark(owner, team_id, None)

    def _remember(self, sql: str, values: Sequence[object]) -> list[Row]:
        return self.database.remembered.rows(("built_teams",), sql, values)

    def _mark(self, owner: str, team_id: str, deleted_at: datetime | None) -> None:
        with self.database.transaction():
            self.database.execute(
                "update built_teams set deleted_at = ? where owner = ? and id = ?",
                [deleted_at, owner, team_id],
            )


def _to_team(row: Row) -> KeptTeam:
    document = json.loads(row["document"])
    return KeptTeam(row["id"], row["version"], row["owner"], row["name"], document, row["saved_at"])
