"""Runs whose process has died: what they had written by then is kept as what it is, a part."""

from __future__ import annotations

import logging

from agentkit.errors import NotFound
from agentkit.events import (
    Event,
    MessageSent,
    ModelCalled,
    ModelReplied,
    Recorded,
    TokenDelta,
)
from agentkit.ledger import Ledger, RunKey, queries
from agentkit.llm.calls.usage import estimated_usage
from agentkit.llm.prices import price
from agentkit.messages import new_id
from agentkit.teams import team
from agentkit.teams.written import citations_in, streamed, written

log = logging.getLogger(__name__)


def interrupt(ledger: Ledger, run_id: str) -> None:
    """Mark a run whose process has died, if it has not ended before.

    Replies that were being written count as calls, with tokens by estimate; what there is of an
    answer becomes a message of its chat.
    """
    run = next((one for one in ledger.open_runs() if one.id == run_id), None)
    if run is None:
        return
    try:
        with ledger.database.transaction():
            _keep_begun(ledger, run)
            ledger.interrupt(run_id)
    except Exception:  # whatever it is, the folder is to open
        log.exception("what the run %s had begun could not be kept", run_id)
        ledger.interrupt(run_id)


def _keep_begun(ledger: Ledger, run: RunKey) -> None:
    begun = ledger.begun(run.id)
    if run.chat_id is None and not begun:
        return
    heard = queries.events(ledger, run.owner, run.id)
    replies = [_reply(one, heard) for one in begun]
    in_order: list[Recorded] = sorted([*heard, *begun], key=lambda one: one.seq)
    events = [one.event for one in in_order]
    said = _messages(ledger, run, [*events, *replies])
    at = begun[-1].at if begun else in_order[-1].at
    added: list[Event] = [*replies, *said]
    after = in_order[-1].seq + 1
    ledger.keep(run, [Recorded(seq, at, event) for seq, event in enumerate(added, start=after)])


def _reply(begun: Recorded, heard: list[Recorded]) -> ModelReplied:
    """The call whose reply had begun, as one that was stopped."""
    delta = begun.event
    assert isinstance(delta, TokenDelta)  # as `Ledger.begun` gives it
    calls = (one for one in reversed(heard) if isinstance(one.event, ModelCalled))
    asked = next(
        (one for one in calls if one.event.call_id == delta.call_id),  # type: ignore[union-attr]
        None,
    )
    called = asked.event if asked else ModelCalled(delta.call_id, delta.agent, "", "")
    assert isinstance(called, ModelCalled)
    usage = estimated_usage(called.messages, delta.text, called.model, ())
    seconds = max(begun.at - asked.at, 0.0) if asked else 0.0
    return ModelReplied(
        called.call_id,
        called.agent,
        called.provider,
        called.model,
        "chat",
        "stopped",
        delta.text,
        usage,
        seconds,
        cost=price(called.model, called.provider, usage),
    )


def _messages(ledger: Ledger, run: RunKey, events: list[Event]) -> list[MessageSent]:
    """What was being said in a chat: the answer, or what one agent was saying to the others."""
    said = [event for event in events if isinstance(event, MessageSent)]
    said = [event for event in said if not event.extra.get("silent")]
    if run.chat_id is None or not said or any(one.id == run.message_id for one in said):
        return []
    try:
        chat = ledger.chat(run.owner, run.chat_id)
        asked = team(chat.team)
    except NotFound:
        return []
    agent = asked.agents[-1]
    last = said[-1].id
    text = (written if asked.goes_on else streamed)(events, agent)
    if not text:
        return _cut_reply(events, last, agent)
    cited = [citation.to_json() for citation in citations_in(text, events)]
    extra = {"citations": cited, "model": chat.model, "inner": False}
    ids = (run.message_id or new_id(), last)
    return [MessageSent(*ids, agent, "user", "assistant", text, "interrupted", extra)]


def _cut_reply(events: list[Event], last: str, agent: str) -> list[MessageSent]:
    """What one agent was saying to the others, if the last reply of a model was cut off."""
    replies = [event for event in events if isinstance(event, ModelReplied)]
    if not (replies and replies[-1].status == "stopped" and replies[-1].text):
        return []
    sender, text, extra = replies[-1].agent, replies[-1].text, {"inner": True}
    return [MessageSent(new_id(), last, sender, agent, "assistant", text, "interrupted", extra)]
