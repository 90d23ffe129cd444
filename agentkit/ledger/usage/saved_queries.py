"""What people ask of their usage again and again, in SQL; every method takes the owner and sees
nothing of others.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from agentkit.database import Database
from agentkit.errors import ConfigError
from agentkit.ledger.store import utc_now

LONGEST_NAME = 80


def create_tables(database: Database) -> None:
    """Version 1."""
    database.execute(
        """create table saved_queries (
        owner varchar not null, name varchar not null, sql varchar not null,
        saved_at timestamp not null)"""
    )


MIGRATIONS = (create_tables,)


@dataclass(frozen=True, slots=True)
class SavedQuery:
    """A statement under a name; the time is UTC without zone."""

    name: str
    sql: str
    saved_at: datetime


class SavedQueries:
    """The statements of everybody, in the database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        database.migrate("queries", MIGRATIONS)

    def all(self, owner: str) -> list[SavedQuery]:
        """The owner's, by name."""
        rows = self.database.rows(
            """select name, sql, saved_at from saved_queries where owner = ?
            order by lower(name), name""",
            [owner],
        )
        return [SavedQuery(**row) for row in rows]

    def save(self, owner: str, name: str, sql: str) -> SavedQuery:
        """Keep a statement, in place of one that has this name already; raises ConfigError for a
        name or a statement that cannot be.
        """
        plain = " ".join(name.split())
        if not plain or len(plain) > LONGEST_NAME:
            raise ConfigError(f"A query needs a name of at most {LONGEST_NAME} characters.")
        if not sql.strip():
            raise ConfigError("There is no SQL to save; write a SELECT first.")
        query = SavedQuery(plain, sql.strip(), utc_now())
        row = {"name": query.name, "sql": query.sql, "saved_at": query.saved_at}
        with self.database.transaction():
            self.delete(owner, plain)
            self.database.insert("saved_queries", {**row, "owner": owner})
        return query

    def delete(self, owner: str, name: str) -> None:
        """Remove what has this name, if there is something."""
        self.database.execute(
            "delete from saved_queries where owner = ? and name = ?", [owner, name]
        )
