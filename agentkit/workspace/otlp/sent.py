"""Which runs were sent, in the database: what is not sent yet is so after a restart, too."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from agentkit.database import Database, Row
from agentkit.ledger.store import utc_now


def create_tables(database: Database) -> None:
    """Version 1."""
    database.execute("create table spans_since (since timestamp not null)")
    database.execute(
        """create table spans_sent (
        run_id varchar not null, sent_at timestamp not null, problem varchar not null)"""
    )


MIGRATIONS = (create_tables,)
_WAITING = """from runs r where r.state in ('finished', 'failed', 'stopped')
    and r.finished_at >= (select min(since) from spans_since)
    and not exists (from spans_sent s where s.run_id = r.id)"""
_AT_A_TIME = 50


class Sent:
    """What was sent, and what waits; a run counts from the moment on that sending was turned on."""

    def __init__(self, database: Database) -> None:
        self._database = database
        database.migrate("spans", MIGRATIONS)

    def begin(self) -> None:
        """Runs that end from now on are to be sent, if they were not before."""
        with self._database.transaction():
            if self._database.value("select count(*) from spans_since") == 0:
                self._database.insert("spans_since", {"since": utc_now()})

    def list_waiting(self) -> Sequence[Row]:
        """Some of the runs that wait, the oldest first: `id` and `owner`."""
        return self._database.rows(
            f"select r.id, r.owner {_WAITING} order by r.finished_at limit {_AT_A_TIME}"
        )

    def count_waiting(self) -> int:
        """How many wait."""
        return int(self._database.value(f"select count(*) {_WAITING}"))

    def add(self, run_id: str, problem: str = "") -> None:
        """A run is done with: it was sent, or it was refused for good because of a problem."""
        row = {"run_id": run_id, "sent_at": utc_now(), "problem": problem}
        with self._database.transaction():
            self._database.insert("spans_sent", row)

    def last_sent(self) -> datetime | None:
        """When a run was last sent, in UTC without zone."""
        found: datetime | None = self._database.value(
            "select max(sent_at) from spans_sent where problem = ''"
        )
        return found

    def count_refused(self) -> tuple[int, str]:
        """How many runs were refused for good, and why the last one was."""
        row = self._database.row(
            """select count(*) as number, arg_max(problem, sent_at) as problem from spans_sent
            where problem <> ''"""
        )
        if row:
            return (row["number"], row["problem"] or "")
        return (0, "")
