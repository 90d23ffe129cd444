"""A chosen step of a run, whole: what went in and what came out, to read, copy and take away."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from functools import partial
from typing import Any, BinaryIO

import streamlit as st

from agentkit import events
from agentkit.core.given import join_filled, pick_kind
from agentkit.core.text import shorten
from agentkit.event_json import to_json
from agentkit.events import Event
from agentkit.ledger.queries import RunTotals
from agentkit.ledger.spans import Span, Trace
from agentkit.ui.runs import call, compression, lookup, overview, question, words
from agentkit.ui.runs.parts import SHOWN, draw_text
from agentkit.ui.shared import downloads
from agentkit.ui.shared.state import PAGES
from agentkit.ui.steps import again, request, wording
from agentkit.ui.text import figures, markdown
from agentkit.ui.text.listing import draw_runnable

_ENDED = ("finished", "failed", "stopped")


def draw_detail(run: RunTotals, trace: Trace, span: Span) -> None:
    """The step with all that is known of it; its address is that of the page."""
    name = words.of_step(span, trace)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.subheader(words.STEPS[span.kind], anchor=False)
        st.button(
            "Close",
            key="close-step",
            icon=":material/close:",
            type="tertiary",
            on_click=_close,
        )
    began = figures.seconds(max(0.0, span.start - trace.run.start))
    facts = [
        wording.name_agent(span.lane) if span.lane else "",
        words.describe_span(span),
        f"after {began}" if span.seq else "",
        "on the critical path" if span.critical and span.seq else "",
    ]
    if name:
        st.markdown(f"**{markdown.literal(shorten(name, 200))}**")
    st.caption(markdown.literal(join_filled(" · ", facts)))
    _draw_again(run, trace, span)
    for event in trace.events_of(span):
        _draw_event(run, trace, span, event)
    _draw_own(run, trace, span)


def _draw_again(run: RunTotals, trace: Trace, span: Span) -> None:
    """The form that runs an answer again from this call of a model, if it is one."""
    replies = pick_kind(trace.events_of(span), events.ModelReplied)
    if run.state not in _ENDED or not run.chat_id or span.kind != "model" or not replies:
        return
    again.draw_call(replies[-1], run.id, partial(overview.open_comparison, run.id))
    again.draw_problem(run.id)


def _close() -> None:
    st.query_params.pop("step", None)


def _draw_event(run: RunTotals, trace: Trace, span: Span, event: Event) -> None:
    draw = _DRAW.get(type(event))
    if draw is not None:
        draw(run, trace, span, event)


def _draw_own(run: RunTotals, trace: Trace, span: Span) -> None:
    """The stored events of the step, as they are, to read and to take away."""
    if not span.seqs:
        return
    key = f"step-{run.id}-{span.seq}"
    make = partial(_make_file, trace, span)
    downloads.draw_link("Download the step", make, f"{key}.json", key=key)
    folded = st.expander(
        "As it is stored",
        type="compact",
        icon=":material/data_object:",
        key=f"stored-{key}",
        on_change="rerun",
    )
    if folded.open:
        with folded:
            draw_text("Events", _write_events(trace, span), f"events-{span.seq}", "json")


def _write_events(trace: Trace, span: Span) -> str:
    told = list(map(to_json, trace.events_of(span)))
    return json.dumps(told, ensure_ascii=False, indent=2)


def _make_file(trace: Trace, span: Span) -> BinaryIO:
    return io.BytesIO(_write_events(trace, span).encode("utf-8", "replace"))


def _draw_unknown(run: RunTotals, trace: Trace, span: Span, event: events.Unknown) -> None:
    st.caption("This version of agentkit does not know it; it is shown as it is stored.")
    request.draw_json("Stored", event.data)


def _draw_run(run: RunTotals, trace: Trace, span: Span, event: events.RunStarted) -> None:
    draw_text("Title", event.title, f"title-{span.seq}")


def _draw_failed(run: RunTotals, trace: Trace, span: Span, event: events.RunFailed) -> None:
    st.error(markdown.literal(wording.without_names(event.error)), icon=":material/error:")
    st.caption(markdown.literal(event.error_type))


def _draw_called(run: RunTotals, trace: Trace, span: Span, event: events.ToolCalled) -> None:
    draw_text("Arguments", event.arguments, f"arguments-{span.seq}", "json")


def _draw_returned(run: RunTotals, trace: Trace, span: Span, event: events.ToolReturned) -> None:
    draw_text("Result" if event.ok else "Error", event.content, f"result-{span.seq}")
    if event.passages:
        st.caption(f"{figures.count(len(event.passages), 'passage')} in it; see its look-up.")


def _draw_ran(run: RunTotals, trace: Trace, span: Span, event: events.CodeRan) -> None:
    st.caption(f"Exit code {event.exit_code}")
    draw_runnable(event.code[:SHOWN], event.language)
    draw_text("Output", event.output, f"output-{span.seq}")
    if event.cell:
        request.draw_json("Files", event.cell.files)
        request.draw_json("Variables", event.cell.variables)


def _draw_began(run: RunTotals, trace: Trace, span: Span, event: events.CodeBegan) -> None:
    if span.status == "open":
        draw_runnable(event.code[:SHOWN], event.language)


def _draw_plan(run: RunTotals, trace: Trace, span: Span, event: events.PlanMade) -> None:
    if event.error:
        st.error(markdown.literal(event.error), icon=":material/undo:")
    for step in event.steps:
        needs = (
            f" · needs {', '.join(map(str, step.get('needs', ())))}" if step.get("needs") else ""
        )
        st.caption(markdown.literal(f"{step.get('label')} {step.get('thought', '')}{needs}"))
        request.draw_cut(f"{step.get('tool')}[{step.get('arguments')}]")


def _draw_step(run: RunTotals, trace: Trace, span: Span, event: events.StepDone) -> None:
    draw_text("Arguments, with the evidence put in", event.arguments, f"arguments-{span.seq}")
    draw_text("Evidence", event.evidence, f"evidence-{span.seq}")
    draw_text("Why it failed", event.error, f"error-{span.seq}")
    if event.cached:
        st.caption("The same as another step, whose evidence was taken.")


def _draw_asked(
    run: RunTotals, trace: Trace, span: Span, event: events.HumanInputRequested
) -> None:
    asked = wording.of_request(event)
    if event.wants:
        asked = f"{wording.asker(event)}: {asked}"
    draw_text("Asked", asked, f"asked-{span.seq}")
    draw_text("What was to run", event.draft, f"draft-{span.seq}", event.language or None)
    options = ", ".join(map(wording.of_option, event.options))
    if options:
        st.caption(f"To choose from: {markdown.literal(options)}")


def _draw_answered(run: RunTotals, trace: Trace, span: Span, event: events.HumanAnswered) -> None:
    if event.waited_s is not None:
        st.caption(f"No answer: {wording.of_patience(event.waited_s)}.")
    draw_text("Answer", event.text, f"answered-{span.seq}")


def _draw_message(run: RunTotals, trace: Trace, span: Span, event: events.MessageSent) -> None:
    sender, recipient = wording.name_agent(event.sender), wording.name_agent(event.recipient)
    st.caption(markdown.literal(f"{sender} to {recipient}, as {event.role}"))
    draw_text("Text", event.content, f"text-{span.seq}")
    if event.thinking:
        draw_text("Thought before", event.thinking.text, f"thinking-{span.seq}")
    if not event.extra.get("inner"):
        _draw_adding(trace, span, event)


def _draw_adding(trace: Trace, span: Span, event: events.MessageSent) -> None:
    """The question that was asked, or that is answered here, for measuring."""
    asked = event if event.role == "user" else question.find_asked(trace)
    if asked:
        question.draw_adding(asked.content, trace, span)


def _draw_speaker(run: RunTotals, trace: Trace, span: Span, event: events.SpeakerSelected) -> None:
    how = wording.CHOSEN.get(event.method, event.method)
    st.caption(markdown.literal(f"Round {event.round}, {how}"))
    candidates = ", ".join(map(wording.name_agent, event.candidates))
    if candidates:
        st.caption(f"Of: {markdown.literal(candidates)}")


def _draw_document(run: RunTotals, trace: Trace, span: Span, event: events.DocumentDone) -> None:
    made = [figures.count(event.chunks, "chunk"), figures.count(event.tokens, "token")]
    st.caption(f"{event.status.capitalize()}: {', '.join(made)}")
    draw_text("Why it failed", event.error, f"error-{span.seq}")
    draw_text("Note", event.note, f"note-{span.seq}")
    st.page_link(PAGES / "documents.py", label="Documents", icon=":material/description:")


def _draw_parsed(run: RunTotals, trace: Trace, span: Span, event: events.ReplyParsed) -> None:
    st.caption(markdown.literal(f"{event.parser}, try {event.attempt}"))
    draw_text("Why it could not be read", event.error, f"error-{span.seq}")
    request.draw_json("Fields", event.fields)


def _draw_noted(run: RunTotals, trace: Trace, span: Span, event: events.Noted) -> None:
    draw_text("Note", event.text, f"note-{span.seq}")
    draw_text("Detail", event.detail, f"detail-{span.seq}")


_DRAW: dict[type[Any], Callable[[RunTotals, Trace, Span, Any], None]] = {
    events.RunStarted: _draw_run,
    events.RunFailed: _draw_failed,
    events.ModelCalled: call.draw_called,
    events.ModelReplied: call.draw_replied,
    events.ToolCalled: _draw_called,
    events.ToolReturned: _draw_returned,
    events.CodeBegan: _draw_began,
    events.CodeRan: _draw_ran,
    events.Retrieved: lookup.draw_lookup,
    events.Compressed: compression.draw_compressed,
    events.PlanMade: _draw_plan,
    events.StepDone: _draw_step,
    events.HumanInputRequested: _draw_asked,
    events.HumanAnswered: _draw_answered,
    events.MessageSent: _draw_message,
    events.SpeakerSelected: _draw_speaker,
    events.DocumentDone: _draw_document,
    events.ReplyParsed: _draw_parsed,
    events.Noted: _draw_noted,
    events.Unknown: _draw_unknown,
}
"""What is told of each kind of event; of others as it is stored."""
