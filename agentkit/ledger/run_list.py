"""Runs found among any number of others: by their words, state, kind, team, model, day and
document.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from agentkit.errors import NotFound
from agentkit.ledger.queries import RUN, RUN_SUMS, RunTotals
from agentkit.ledger.run_documents import HOWS, OF_DOCUMENT, How
from agentkit.ledger.store import Ledger

RunSort = Literal["newest", "oldest", "longest", "dearest", "tokens"]
_ORDERS: dict[RunSort, str] = {
    "newest": "r.started_at desc, r.id desc",
    "oldest": "r.started_at, r.id",
    "longest": "seconds desc nulls last, r.id",
    "dearest": "cost desc nulls last, r.id",
    "tokens": "tokens desc nulls last, r.id",
}
_OF_CALLS: tuple[RunSort, ...] = ("dearest", "tokens")
"""Orders for which the calls of all runs are summed, and not only those of one page."""
_MOST_WORDS = 30
"""So many different words are looked for; of more, the first ones."""


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs are meant; times are UTC without zone, `until` is excluded; empty means all."""

    owner: str
    words: str = ""
    """Words that its title or its question has, each of them; or the id of one."""
    states: Sequence[str] = ()
    kinds: Sequence[str] = ()
    teams: Sequence[str] = ()
    models: Sequence[str] = ()
    """Of which it called one."""
    since: datetime | None = None
    until: datetime | None = None
    document_id: str = ""
    """A document that it took in, found or cited."""
    hows: Sequence[How] = HOWS
    """What it had to do with that document: one of these."""
    agents: Sequence[str] = ()
    """Of whose calls of models it has one; as with servers and statuses."""
    servers: Sequence[str] = ()
    calls: Sequence[str] = ()
    """How a call ended, such as `failed`."""
    chats: Sequence[str] = ()
    """The ids of those that it belongs to."""

    def where(self) -> tuple[str, list[Any]]:
        """The SQL condition over `r` (runs) and its values."""
        conditions: dict[str, Any] = {
            "list_contains(?, r.state)": list(self.states),
            "list_contains(?, r.kind)": list(self.kinds),
            "list_contains(?, r.team)": list(self.teams),
            _CALLED: list(self.models),
            "r.started_at >= ?": self.since,
            "r.started_at < ?": self.until,
            _CALLED.replace("model", "agent"): list(self.agents),
            _CALLED.replace("model", "provider"): list(self.servers),
            _CALLED.replace("model", "status"): list(self.calls),
            "list_contains(?, coalesce(r.chat_id, ''))": list(self.chats),
        }
        meant = [("r.owner = ?", [self.owner])]
        meant += [(sql, [value]) for sql, value in conditions.items() if value]
        words = list(dict.fromkeys(self.words.split()))[:_MOST_WORDS]
        meant += [(_SAYS, [word, word, word]) for word in words]
        if self.document_id:
            of_document: list[Any] = [self.document_id, list(self.hows)]
            meant.append((OF_DOCUMENT, of_document))
        sql = " and ".join(sql for sql, _ in meant)
        return sql, [value for _, values in meant for value in values]


_CALLED = "r.id in (select run_id from llm_calls where list_contains(?, model))"
_SAYS = """(contains(lower(r.title), lower(?)) or r.id = lower(?) or r.id in (
    select run_id from messages where role = 'user' and contains(lower(content), lower(?))))"""


def list_runs(
    ledger: Ledger, chosen: RunFilter, sort: RunSort = "newest", limit: int = 50, offset: int = 0
) -> list[RunTotals]:
    """Some of the runs that the filter means, in this order."""
    where, values = chosen.where()
    order, page = _ORDERS[sort], "limit ? offset ?"
    found = f"select {RUN} from runs r where {where}"
    if sort in _OF_CALLS:
        end = f"order by {order} {page}"
    else:
        found = f"{found} order by {order} {page}"
        end = f"order by {order}"
    rows = ledger.database.rows(
        f"""with found as ({found}),
        took as (select c.run_id, count(*) as calls, {RUN_SUMS} from llm_calls c
            where c.run_id in (select id from found) group by c.run_id)
        select r.*, coalesce(t.calls, 0) as calls, coalesce(t.tokens, 0) as tokens, t.cost,
        coalesce(t.unpriced, 0) as unpriced
        from found r left join took t on t.run_id = r.id {end}""",
        [*values, limit, offset],
    )
    return [RunTotals(**row) for row in rows]


def count(ledger: Ledger, chosen: RunFilter) -> int:
    """How many runs the filter means."""
    where, values = chosen.where()
    return int(ledger.database.value(f"select count(*) from runs r where {where}", values))


def one(ledger: Ledger, owner: str, run_id: str) -> RunTotals:
    """A run with what it took; raises NotFound."""
    rows = ledger.database.rows(
        f"""select {RUN}, (select count(*) from llm_calls c where c.run_id = r.id) as calls,
        t.tokens, t.cost, t.unpriced from runs r,
        (select {RUN_SUMS} from llm_calls c where c.run_id = ?) t where r.id = ? and r.owner = ?""",
        [run_id, run_id, owner],
    )
    if not rows:
        raise NotFound(f"There is no run {run_id!r}; `python -m agentkit runs` lists them.")
    return RunTotals(**rows[0])


def ends(ledger: Ledger, owner: str, run_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Why the answers of these runs ended, as an `EndReason` is stored, for those that say it."""
    rows = ledger.database.rows(
        """select m.run_id, m.extra->>'end' as told from messages m join runs r on r.id = m.run_id
        where r.owner = ? and list_contains(?, m.run_id) and m.extra->>'end' is not null""",
        [owner, list(run_ids)],
    )
    read = {row["run_id"]: json.loads(row["told"]) for row in rows}
    return {run_id: told for run_id, told in read.items() if isinstance(told, dict)}


def find_values(
    ledger: Ledger, owner: str, column: Literal["state", "kind", "team", "model"]
) -> list[str]:
    """The states, kinds, teams or models that the owner's runs have, sorted."""
    table = "llm_calls" if column == "model" else "runs"
    rows = ledger.database.rows(
        f"select distinct {column} as name from {table} where owner = ? and {column} <> ''",
        [owner],
    )
    return sorted(row["name"] for row in rows)


def of_call(ledger: Ledger, owner: str, call_id: str) -> str:
    """The id of the run that a model call belongs to; empty for none."""
    sql = "select run_id from llm_calls where owner = ? and id = ? limit 1"
    return str(ledger.database.value(sql, [owner, call_id]) or "")


def find_events(ledger: Ledger, owner: str, run_id: str, text: str) -> set[int]:
    """The `seq` of the events of a run in which this text stands, in upper or lower case; of model
    calls also those that sent it for the first time.
    """
    written = json.dumps(text, ensure_ascii=False)[1:-1]
    rows = ledger.database.rows(
        """select e.seq from events e join runs r on r.id = e.run_id
        where r.owner = ? and r.id = ? and contains(lower(e.data::varchar), lower(?))""",
        [owner, run_id, written],
    )
    return {row["seq"] for row in rows} | _find_requests(ledger, owner, run_id, written)


def _find_requests(ledger: Ledger, owner: str, run_id: str, written: str) -> set[int]:
    """The calls with whose requests a message came that has this text."""
    parts = ledger.database.rows(
        """select distinct p.hash from request_parts p where contains(lower(p.body), lower(?))
        and p.hash in (select o.hash from request_parts o join runs r
            on o.scope in (r.id, r.chat_id) where r.owner = ? and r.id = ?)""",
        [written, owner, run_id],
    )
    hashes = {row["hash"] for row in parts}
    if not hashes:
        return set()
    calls = ledger.database.rows(
        """select seq, data->>'sent' as sent from events
        where run_id = ? and kind = 'ModelCalled'""",
        [run_id],
    )
    return {row["seq"] for row in calls if not hashes.isdisjoint(_HASH.findall(row["sent"] or ""))}


_HASH = re.compile(r"[0-9a-f]{40}")
