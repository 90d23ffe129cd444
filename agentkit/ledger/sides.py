"""Stored runs, read to be compared with one another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

from agentkit.events import ModelCalled, Recorded
from agentkit.ledger import queries, requests, run_list
from agentkit.ledger.comparing import Side
from agentkit.ledger.queries import RunTotals
from agentkit.ledger.requests import Request
from agentkit.ledger.spans import Trace
from agentkit.ledger.store import Ledger
from agentkit.ledger.trace import build_trace
from agentkit.messages import text_of


def read_side(ledger: Ledger, owner: str, run_id: str) -> Side:
    """A run as it is compared; raises NotFound."""
    run = run_list.one(ledger, owner, run_id)
    trace = build_trace(queries.events(ledger, owner, run_id, with_requests=False))
    return Side(run, trace, _read_system(ledger, owner, run_id, trace))


def make_side(run: RunTotals, heard: Sequence[Recorded]) -> Side:
    """The same of events that have what was sent to models."""
    calls = list(filter(_is_of_text, heard))
    agents = map(itemgetter(0), map(_place_call, calls))
    told = map(_find_told, calls)
    known = dict(zip(agents, told, strict=True))
    return Side(run, build_trace(heard), dict(filter(itemgetter(1), known.items())))


def _read_system(ledger: Ledger, owner: str, run_id: str, trace: Trace) -> dict[str, str]:
    """What each agent was told last as its system message."""
    calls = filter(_is_of_text, trace.events.values())
    last = dict(map(_place_call, calls))
    sent = requests.of_places(ledger.database, owner, run_id, list(last.values()))
    told = map(partial(_find_system, sent), last.values())
    known = zip(last, told, strict=True)
    return dict(filter(itemgetter(1), known))


def _is_of_text(heard: Recorded) -> bool:
    event = heard.event
    return isinstance(event, ModelCalled) and event.purpose == "chat"


def _place_call(heard: Recorded) -> tuple[str, int]:
    """Whose call it is, and where it stands."""
    return getattr(heard.event, "agent", ""), heard.seq


def _find_system(sent: Mapping[int, Request], seq: int) -> str:
    """The system message of a request; empty where it has none, or is gone."""
    if seq in sent:
        return _read_first(sent[seq].messages)
    return ""


def _find_told(heard: Recorded) -> str:
    return _read_first(getattr(heard.event, "messages", ()))


def _read_first(messages: Sequence[Mapping[str, Any]]) -> str:
    first = next(iter(messages), {})
    is_system = first.get("role") == "system"
    if is_system:
        return text_of(first.get("content"))
    return ""


def find_repeats(ledger: Ledger, owner: str, run_id: str) -> list[str]:
    """The ids of the runs that began from this one, the newest first."""
    rows = ledger.database.rows(
        """select r.id from runs r join events e on e.run_id = r.id
        where r.owner = ? and e.kind = 'RunStarted' and e.data->>'repeats' = ?
        and r.chat_id = (select chat_id from runs where id = ?) order by r.started_at desc""",
        [owner, run_id, run_id],
    )
    return list(map(itemgetter("id"), rows))
