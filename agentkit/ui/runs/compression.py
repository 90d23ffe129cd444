"""A history that was made shorter: how much it was before and after, and what the agent's model was
sent in the call before it and in the one after, message by message.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import streamlit as st

from agentkit.events import Compressed, ModelCalled
from agentkit.ledger import Request, requests
from agentkit.ledger.queries import RunTotals
from agentkit.ledger.spans import Span, Trace
from agentkit.ui.runs.parts import draw_text
from agentkit.ui.shared import state
from agentkit.ui.steps import request
from agentkit.ui.text import figures, markdown

Sent = Sequence[dict[str, Any]]

_NO_AFTER = "The agent's model was not called after it, so the messages after it were never sent."
_NO_BEFORE = (
    "The agent's model was not called before it in this run, so what there was before was never"
    " sent: the call after it has what is left."
)
_NOT_KEPT = "What was sent is not kept: older versions did not, or the file was damaged."


def draw_compressed(run: RunTotals, trace: Trace, span: Span, event: Compressed) -> None:
    """The counts, the summary, and the messages of the calls around it."""
    _draw_counts(event)
    draw_text("What stands for the messages", event.summary, f"summary-{span.seq}")
    if event.error:
        st.error(markdown.literal(event.error), icon=":material/error:")
        return
    _draw_messages(run, trace, span, event)


def _draw_counts(event: Compressed) -> None:
    about = "about " if event.estimated else ""
    rows = {
        "Messages": (event.messages_before, event.messages_after),
        f"Tokens, {about}".rstrip(", "): (event.tokens_before, event.tokens_after),
    }
    lines = [f"| {name} | {one:,} | {other:,} |" for name, (one, other) in rows.items()]
    st.markdown("\n".join(["| | Before | After |", "|---|---:|---:|", *lines]))
    if event.tokens_spent:
        st.caption(f"It took {figures.count(event.tokens_spent, 'token')} itself.")


def _draw_messages(run: RunTotals, trace: Trace, span: Span, event: Compressed) -> None:
    before, after = _find_calls(trace, span, event.agent)
    if not after:
        st.caption(_NO_AFTER)
        return
    ledger, owner = state.workspace().ledger, state.owner()
    sent = requests.of_places(ledger.database, owner, run.id, [before, after])
    if after not in sent:
        st.caption(_NOT_KEPT)
        return
    if not before:
        st.caption(_NO_BEFORE)
    _draw_both(span.seq, _read_messages(sent, before), _read_messages(sent, after))


def _find_calls(trace: Trace, span: Span, agent: str) -> tuple[int, int]:
    """The events of the agent's last request before the compression and of its first one after it,
    those of the compression itself left out; 0 for none.
    """
    own = _list_inside(trace, span)
    called = [
        seq
        for seq, one in trace.events.items()
        if isinstance(one.event, ModelCalled) and one.event.agent == agent and seq not in own
    ]
    before = max((seq for seq in called if seq < span.seq), default=0)
    after = min((seq for seq in called if seq > span.seq), default=0)
    return before, after


def _list_inside(trace: Trace, span: Span) -> set[int]:
    """The events of what went on within it: a model that wrote the summary."""
    within = (one.seqs for one in trace.spans if one.parent == span.seq)
    return set().union(*within)


def _read_messages(sent: dict[int, Request], seq: int) -> Sent:
    return sent[seq].messages if seq in sent else []


def _draw_both(seq: int, before: Sent, after: Sent) -> None:
    """What is no longer sent, what is sent in its place or is new, and what stayed."""
    gone, stayed = _split(before, after)
    new, _ = _split(after, before)
    count = figures.count
    st.caption(
        f"**Call before** {count(len(before), 'message')}"
        f" · **call after** {count(len(after), 'message')}"
    )
    _draw_part(f"{count(len(gone), 'message')} no longer sent", gone, f"gone-{seq}")
    _draw_part(f"{count(len(new), 'message')} new or shortened", new, f"came-{seq}")
    _draw_part(f"{count(len(stayed), 'message')} sent as before", stayed, f"stayed-{seq}")


def _split(messages: Sent, others: Sent) -> tuple[Sent, Sent]:
    """Those that are not among the others, and those that are, by all that they say."""
    known = set(_write(others))
    pairs = list(zip(messages, _write(messages), strict=True))
    missing = [message for message, text in pairs if text not in known]
    return missing, [message for message, text in pairs if text in known]


def _write(messages: Iterable[dict[str, Any]]) -> list[str]:
    return [json.dumps(message, sort_keys=True) for message in messages]


def _draw_part(label: str, messages: Sent, key: str) -> None:
    """The messages, folded and drawn once that is opened."""
    if not messages:
        return
    folded = st.expander(label, type="compact", key=key, on_change="rerun")
    if not folded.open:
        return
    with folded:
        left = len(messages[request.MOST_MESSAGES :])
        for message in messages[: request.MOST_MESSAGES]:
            request.draw_message(message)
        if left:
            st.caption(f":material/more_horiz: {figures.count(left, 'message')} after these")
