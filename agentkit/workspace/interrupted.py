"""Runs whose process has died: what they had written by then is kept as what it is, a part."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from agentkit.core.given import find_first, pick_kind
from agentkit.errors import ConfigError, NotFound
from agentkit.events import (
    Event,
    MessageSent,
    ModelCalled,
    ModelReplied,
    Recorded,
    TokenDelta,
    events_of,
)
from agentkit.ledger import Ledger, RunKey, queries
from agentkit.llm.calls.usage import estimate_usage
from agentkit.llm.prices import price
from agentkit.messages import new_id
from agentkit.teams import Question, Team
from agentkit.teams.drafts import find_citations, is_audible, read_draft, read_unfinished

log = logging.getLogger(__name__)


FindTeam = Callable[[str, str], Team]


def interrupt(ledger: Ledger, run_id: str, find_team: FindTeam) -> None:
    """Mark a run whose process has died, if it has not ended before.

    Replies that were being written count as calls, with tokens by estimate; what there is of an
    answer becomes a message of its chat.
    """
    run = find_first(ledger.open_runs(), lambda one: one.id == run_id)
    if run is None:
        return
    try:
        with ledger.database.transaction():
            _keep_begun(ledger, run, find_team)
            ledger.interrupt(run_id)
    except Exception:  # whatever it is, the folder is to open
        log.exception("what the run %s had begun could not be kept", run_id)
        ledger.interrupt(run_id)


def _keep_begun(ledger: Ledger, run: RunKey, find_team: FindTeam) -> None:
    begun = ledger.begun(run.id)
    if run.chat_id is None and not begun:
        return
    heard = queries.events(ledger, run.owner, run.id)
    replies = [_reply(one, heard) for one in begun]
    in_order: list[Recorded] = sorted([*heard, *begun], key=lambda one: one.seq)
    events = events_of(in_order)
    said = _messages(ledger, run, [*events, *replies], find_team)
    at = begun[-1].at if begun else in_order[-1].at
    added: list[Event] = [*replies, *said]
    after = in_order[-1].seq + 1
    ledger.keep(run, [Recorded(seq, at, event) for seq, event in enumerate(added, start=after)])


def _reply(begun: Recorded, heard: list[Recorded]) -> ModelReplied:
    """The call whose reply had begun, as one that was stopped."""
    delta = begun.event
    assert isinstance(delta, TokenDelta)  # as `Ledger.begun` gives it
    called, called_at = _find_call(delta, heard) or (_unknown_call(delta), begun.at)
    usage = estimate_usage(called.messages, delta.text, called.model, ())
    attempts = [one.attempt for one in _find_replies(delta, heard)]
    return ModelReplied(
        called.call_id,
        called.agent,
        called.provider,
        called.model,
        "chat",
        "stopped",
        delta.text,
        usage,
        max(begun.at - called_at, 0.0),
        cost=price(called.model, called.provider, usage),
        attempt=1 + max(attempts, default=0),
    )


def _find_replies(delta: TokenDelta, heard: list[Recorded]) -> list[ModelReplied]:
    """How the earlier attempts of its call ended."""
    replies = pick_kind(events_of(heard), ModelReplied)
    return [one for one in replies if one.call_id == delta.call_id]


def _find_call(delta: TokenDelta, heard: list[Recorded]) -> tuple[ModelCalled, float] | None:
    """The call that a piece of a reply belongs to, and when it was made."""
    for one in reversed(heard):
        match one.event:
            case ModelCalled(call_id=delta.call_id) as called:
                return called, one.at
    return None


def _unknown_call(delta: TokenDelta) -> ModelCalled:
    return ModelCalled(delta.call_id, delta.agent, "", "")


def _messages(
    ledger: Ledger, run: RunKey, events: list[Event], find_team: FindTeam
) -> list[MessageSent]:
    """What was being said in a chat: the answer, or what one agent was saying to the others."""
    said = list(filter(is_audible, pick_kind(events, MessageSent)))
    is_answered = run.message_id in [one.id for one in said]
    if run.chat_id is None or not said or is_answered:
        return []
    try:
        chat = ledger.chat(run.owner, run.chat_id)
    except NotFound:
        return []
    asked = Question.from_message(said[0], chat.team)  # the chat may ask another team by now
    agent, text = _read_answer(events, partial(find_team, run.owner, asked.team_id))
    last = said[-1].id
    if not text:
        return _cut_reply(events, last, agent)
    cited = [citation.to_json() for citation in find_citations(text, events)]
    extra = {"citations": cited, "model": asked.model_id or chat.model, "inner": False}
    ids = (run.message_id or new_id(), last)
    return [MessageSent(*ids, agent, "user", "assistant", text, "interrupted", extra)]


def _read_answer(events: list[Event], find_team: Callable[[], Team]) -> tuple[str, str]:
    """Who was to answer, and what there is of the answer; of a team that is gone, the last that
    was written.
    """
    try:
        team = find_team()
    except (NotFound, ConfigError):
        replies = pick_kind(events, ModelReplied)
        writer = replies[-1].agent if replies else ""
        return writer, read_draft(events, writer)
    return team.agents[-1], read_unfinished(events, team)


def _cut_reply(events: list[Event], last: str, agent: str) -> list[MessageSent]:
    """What one agent was saying to the others, if the last reply of a model was cut off."""
    replies = pick_kind(events, ModelReplied)
    if not replies:
        return []
    cut, extra = replies[-1], {"inner": True}
    if cut.status != "stopped" or not cut.text:
        return []
    return [
        MessageSent(new_id(), last, cut.agent, agent, "assistant", cut.text, "interrupted", extra)
    ]
