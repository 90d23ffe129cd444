"""What the documents did: which of them look-ups found and answers cited, and the questions that no
document answered. Times are UTC.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from agentkit.core.given import pick_filled
from agentkit.ledger.queries import CallFilter
from agentkit.ledger.store import Ledger

if TYPE_CHECKING:
    import pandas

MOST_DOCUMENTS, MOST_QUESTIONS = 2_000, 200
STALE_AFTER = timedelta(days=180)
"""How long after it was taken in a document counts as stale."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How the documents of a person stand; each may be counted under several names."""

    number: int = 0
    unfound: int = 0
    """Never found by a look-up in these days."""
    uncited: int = 0
    """Found, but cited by no answer."""
    cited: int = 0
    stale: int = 0
    """Taken in before a certain day, and never since."""
    twice: int = 0
    """With the same content as another one."""


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A question of whose answer nothing is cited, though documents were looked at."""

    text: str
    collection: str
    run_id: str
    asked_at: datetime


def count(ledger: Ledger, calls: CallFilter, stale_before: datetime) -> Counts:
    """The documents that there are now, by what the runs of these days did with them."""
    sql, values = _documents(calls, stale_before)
    row = ledger.database.row(
        f"""{sql} select count(*) as number, count(*) filter (found = 0) as unfound,
        count(*) filter (found > 0 and cited = 0) as uncited,
        count(*) filter (cited > 0) as cited, count(*) filter (stale) as stale,
        count(*) filter (held > 1) as twice from documents_used""",
        values,
    )
    return Counts(**row) if row else Counts()


def list_documents(
    ledger: Ledger,
    calls: CallFilter,
    stale_before: datetime,
    which: str,
    most: int | None = MOST_DOCUMENTS,
) -> pandas.DataFrame:
    """The documents of one of the names of `Counts`, `number` for all, `most` of them (None: no
    limit): id, name, collection, how many runs found and cited each, when it was last found, when
    it was taken in.
    """
    sql, values = _documents(calls, stale_before)
    return ledger.database.frame(
        f"""{sql} select id, name, collection, found, cited, last_used, updated_at, same_as
        from documents_used where {_WHICH[which]} order by {_ORDER.get(which, "name")}
        limit {most or "all"}""",
        values,
    )


_WHICH = {
    "number": "true",
    "unfound": "found = 0",
    "uncited": "found > 0 and cited = 0",
    "cited": "cited > 0",
    "stale": "stale",
    "twice": "held > 1",
}
_ORDER = {
    "number": "cited desc, found desc, name",
    "uncited": "found desc, name",
    "cited": "cited desc, found desc, name",
    "stale": "updated_at, name",
    "twice": "sha256, name",
}


def _documents(calls: CallFilter, stale_before: datetime) -> tuple[str, list[Any]]:
    """The SQL of a table `documents_used`, and its values: one's own documents, but for what is
    attached to a single chat.
    """
    condition, values = _runs(calls)
    within = "list_contains(?, c.name)" if calls.collections else "?"
    sql = f"""with used as (
            select rd.document_id, count(distinct rd.run_id) filter (how = 'found') as found,
            count(distinct rd.run_id) filter (how = 'cited') as cited,
            max(r.started_at) as last_used
            from run_documents rd join runs r on r.id = rd.run_id
            where how <> 'taken in' and {condition} group by rd.document_id),
        documents_used as (
            select d.id, d.name, c.name as collection, d.sha256, d.updated_at, u.last_used,
            coalesce(u.found, 0) as found, coalesce(u.cited, 0) as cited,
            d.updated_at < ? as stale, count(*) over same as held,
            coalesce(nullif(min(d.name) over same, d.name), max(d.name) over same) as same_as
            from documents d join collections c on c.id = d.collection_id
            join index_versions v on v.id = d.version_id and v.state = 'active'
            left join used u on u.document_id = d.id
            where c.owner = ? and not c.hidden and d.status = 'indexed' and {within}
            window same as (partition by d.sha256))"""
    chosen: object = True
    if calls.collections:
        chosen = list(calls.collections)
    return sql, [*values, stale_before, calls.owner, chosen]


def _runs(calls: CallFilter) -> tuple[str, list[Any]]:
    """The SQL condition over `r` (runs) for the owner and the days of a filter."""
    meant: dict[str, Any] = {"r.owner = ?": calls.owner}
    days: dict[str, Any] = {"r.started_at >= ?": calls.since, "r.started_at < ?": calls.until}
    meant |= pick_filled(days)
    return " and ".join(meant), list(meant.values())


def list_unanswered(ledger: Ledger, calls: CallFilter) -> list[Unanswered]:
    """The newest questions that were looked up and whose answers cite nothing."""
    condition, values = _runs(calls)
    within = "list_contains(?, s.collection)" if calls.collections else "?"
    rows = ledger.database.rows(
        f"""select q.content as text, min(s.collection) as collection, r.id as run_id,
        any_value(r.started_at) as asked_at
        from runs r join messages a on a.run_id = r.id and a.role = 'assistant'
        join messages q on q.id = a.parent_id and q.role = 'user'
        join steps s on s.run_id = r.id and s.kind = 'search'
        where {condition} and r.kind = 'chat' and r.state = 'finished' and {within}
        and coalesce(json_array_length(a.extra->'citations'), 0) = 0
        group by r.id, q.content order by asked_at desc limit {MOST_QUESTIONS}""",
        [*values, list(calls.collections) if calls.collections else True],
    )
    return [Unanswered(**row) for row in rows]


def group_by_topic(
    questions: Sequence[Unanswered], nearness: Sequence[Sequence[float]], least: float
) -> list[list[Unanswered]]:
    """Questions that are about the same, the largest group first.

    `nearness` is a cosine for each two of them; a question joins the first group whose first
    question is as near as `least`, so that each group is about its first.
    """
    groups: list[list[int]] = []
    for at in range(len(questions)):
        for group in groups:
            if nearness[at][group[0]] >= least:
                group.append(at)
                break
        else:
            groups.append([at])
    groups.sort(key=len, reverse=True)
    return [[questions[at] for at in group] for group in groups]
