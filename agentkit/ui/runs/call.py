"""A model call, whole: the request as it was sent with what was new in it, the reply, and what each
attempt took.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from functools import partial
from typing import Any, BinaryIO

import streamlit as st

from agentkit.core.address import on_this_machine
from agentkit.core.given import join_filled
from agentkit.events import ModelCalled, ModelReplied
from agentkit.ledger import Ledger, Request, requests
from agentkit.ledger.queries import RunTotals
from agentkit.ledger.spans import Span, Trace
from agentkit.ui.runs.parts import draw_text
from agentkit.ui.shared import downloads, state
from agentkit.ui.steps import request, wording
from agentkit.ui.steps.model import thought
from agentkit.ui.text import figures, markdown

_BUCKETS = {
    "input": "in",
    "cache_read": "read from the cache",
    "cache_write": "written to the cache",
    "output": "out",
    "reasoning": "reasoning",
}
"""The kinds of tokens, each counted in one of them alone."""
_NEW = ":green-badge[new]"


def draw_called(run: RunTotals, trace: Trace, span: Span, event: ModelCalled) -> None:
    """What was sent, once for all attempts; what is new since the agent's call before is marked."""
    calls = [seq for seq in span.seqs if isinstance(trace.events[seq].event, ModelCalled)]
    if trace.events[calls[0]].event is not event or event.purpose != "chat":
        return
    seq, before = calls[-1], _find_before(trace, calls[0], event.agent)
    ledger, owner = state.workspace().ledger, state.owner()
    sent = requests.of_places(ledger.database, owner, run.id, [seq, before])
    if seq not in sent:
        st.caption("What was sent is not kept: older versions did not, or the file was damaged.")
        return
    old = sent[before].messages if before in sent else []
    with st.expander("Request as sent", icon=":material/outbox:", expanded=True):
        _draw_request(run, seq, sent[seq], old)


def draw_replied(run: RunTotals, trace: Trace, span: Span, event: ModelReplied) -> None:
    """What an attempt gave, and what it took."""
    number = f"Attempt {event.attempt}: " if span.attempts > 1 else ""
    st.markdown(f"**{number}{markdown.literal(_how(event))}**")
    st.caption(markdown.literal(_took(event)))
    if event.error:
        st.error(markdown.literal(wording.without_names(event.error)), icon=":material/error:")
    if event.end in wording.CUT:
        st.warning(f"The reply is not whole: {wording.CUT[event.end]}.")
    key = f"{span.seq}-{event.attempt}"
    draw_text("Reply", event.text, f"reply-{key}")
    if event.thinking:
        draw_text(thought(event.thinking), event.thinking.text, f"thinking-{key}")
    request.draw_json("Besides the text", event.message)
    request.draw_json("Usage as the server told it", event.raw_usage)


def _how(event: ModelReplied) -> str:
    """How it ended, and whose model it was."""
    status = {"ok": "replied", "cached": "came out of the cache"}.get(event.status, event.status)
    replayed = ", taken over from the run before" if event.replayed else ""
    return f"{event.model} of {event.provider} {status}{replayed}"


def _took(event: ModelReplied) -> str:
    usage = event.usage
    about = "about " if usage.estimated else ""
    tokens = [
        f"{figures.count(getattr(usage, name))} {word}"
        for name, word in _BUCKETS.items()
        if getattr(usage, name)
    ]
    waited = f", the next try {figures.seconds(event.retry_in_s)} later" if event.retry_in_s else ""
    first = event.first_token_s
    parts = [
        f"Tokens: {about}{', '.join(tokens)}" if tokens else "",
        _price(event),
        f"{figures.seconds(event.seconds)}{waited}",
        f"first word after {figures.seconds(first)}" if first is not None else "",
    ]
    return join_filled(" · ", parts)


def _price(event: ModelReplied) -> str:
    """What it cost; or that its price is unknown."""
    if event.cost is not None:
        return figures.dollars(event.cost)
    return "free, on this machine" if on_this_machine(event.provider) else "price unknown"


def _find_before(trace: Trace, seq: int, agent: str) -> int:
    """The event of the agent's request before this one in the run; 0 for none."""
    earlier = (
        number
        for number, one in trace.events.items()
        if number < seq and isinstance(one.event, ModelCalled) and one.event.agent == agent
    )
    return max(earlier, default=0)


def _draw_request(
    run: RunTotals, seq: int, sent: Request, before: Sequence[dict[str, Any]]
) -> None:
    known = {json.dumps(message, sort_keys=True) for message in before}
    new = [json.dumps(message, sort_keys=True) not in known for message in sent.messages]
    parts = [figures.count(len(new), "message"), figures.count(len(sent.tools), "tool")]
    if known:
        parts.insert(1, f"{figures.count(sum(new))} of them new since the call before")
    st.caption(f"{' · '.join(parts)} · {figures.count(len(sent.json), 'character')} of JSON")
    _draw_known(seq, [one for one, is_new in zip(sent.messages, new, strict=True) if not is_new])
    added = [one for one, is_new in zip(sent.messages, new, strict=True) if is_new]
    for message in added[-request.MOST_MESSAGES :]:
        request.draw_message(message, _NEW if known else "")
    _draw_rest(run, seq, sent)


def _draw_known(seq: int, messages: Sequence[dict[str, Any]]) -> None:
    """The messages that had been sent before, folded."""
    if not messages:
        return
    label = f"{figures.count(len(messages), 'message')} as in the call before"
    folded = st.expander(label, type="compact", key=f"known-{seq}", on_change="rerun")
    if folded.open:
        with folded:
            for message in messages[-request.MOST_MESSAGES :]:
                request.draw_message(message)


def _draw_rest(run: RunTotals, seq: int, sent: Request) -> None:
    """Tools and parameters, and all of it byte for byte."""
    request.draw_json("Tools", sent.tools)
    request.draw_json("Parameters", sent.parameters)
    folded = st.expander("Byte for byte", type="compact", key=f"bytes-{seq}", on_change="rerun")
    if folded.open:
        with folded:
            request.draw_cut(sent.json)
    ledger, owner = state.workspace().ledger, state.owner()
    make = partial(_file, ledger, owner, run.id, seq)
    name = f"request-{run.id}-{seq}"
    downloads.draw_link("Download the request", make, f"{name}.json", key=name)


def _file(ledger: Ledger, owner: str, run_id: str, seq: int) -> BinaryIO:
    sent = requests.of_places(ledger.database, owner, run_id, [seq])
    return io.BytesIO(sent[seq].json.encode() if seq in sent else b"")
