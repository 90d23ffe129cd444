"""Stored runs, read to be compared with one another."""

from __future__ import annotations

from agentkit.events import ModelCalled
from agentkit.ledger import queries, requests, run_list
from agentkit.ledger.comparing import Side
from agentkit.ledger.queries import RunTotals
from agentkit.ledger.spans import Trace
from agentkit.ledger.store import Ledger
from agentkit.ledger.trace import build_trace
from agentkit.messages import text_of


def read_side(ledger: Ledger, owner: str, run_id: str) -> Side:
    """A run as it is compared; raises NotFound."""
    run = run_list.one(ledger, owner, run_id)
    trace = build_trace(queries.events(ledger, owner, run_id, with_requests=False))
    return make_side(ledger, owner, run, trace)


def make_side(ledger: Ledger, owner: str, run: RunTotals, trace: Trace) -> Side:
    """The same of a run whose steps are known."""
    calls = [(seq, one.event) for seq, one in trace.events.items()]
    last = {event.agent: seq for seq, event in calls if _is_of_text(event)}
    sent = requests.of_places(ledger.database, owner, run.id, list(last.values()))
    system = {}
    for agent, seq in last.items():
        first = sent[seq].messages[:1] if seq in sent else []
        if first and first[0].get("role") == "system":
            system[agent] = text_of(first[0].get("content"))
    return Side(run, trace, system)


def _is_of_text(event: object) -> bool:
    return isinstance(event, ModelCalled) and event.purpose == "chat"


def find_repeats(ledger: Ledger, owner: str, run_id: str) -> list[str]:
    """The ids of the runs that began from this one, the newest first."""
    rows = ledger.database.rows(
        """select r.id from runs r join events e on e.run_id = r.id
        where r.owner = ? and e.kind = 'RunStarted' and e.data->>'repeats' = ?
        and r.chat_id = (select chat_id from runs where id = ?) order by r.started_at desc""",
        [owner, run_id, run_id],
    )
    return [row["id"] for row in rows]
