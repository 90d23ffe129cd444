"""Stored events of a run read as spans: what began and ended when, and in whose lane.

It only computes. Events may come in any order, lack their ends or be of other versions: what is
odd is told beside the spans, which are there all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from agentkit import events
from agentkit.core.address import on_this_machine
from agentkit.events import Event, ModelReplied, Recorded
from agentkit.ledger.spans import (
    ROOT,
    TOLERANCE_S,
    Problem,
    Span,
    SpanKind,
    SpanStatus,
    Trace,
    arrange,
)


def build_trace(recorded: Iterable[Recorded]) -> Trace:
    """The spans of a run; of no events at all, a run of nothing."""
    problems: list[Problem] = []
    in_order = _put_in_order(list(recorded), problems)
    reader = _Reader(problems)
    for one in in_order:
        reader.read(one)
    spans = arrange(reader.finish(), reader.given)
    return Trace(spans, tuple(problems), {one.seq: one for one in in_order})


def _put_in_order(recorded: Sequence[Recorded], problems: list[Problem]) -> list[Recorded]:
    """The events by their numbers, each once."""
    found: dict[int, Recorded] = {}
    latest = 0
    for one in recorded:
        if one.seq in found:
            problems.append(Problem("twice", one.seq))
        elif one.seq < latest:
            problems.append(Problem("order", one.seq))
        found.setdefault(one.seq, one)
        latest = max(latest, one.seq)
    return [found[seq] for seq in sorted(found)]


class _Reader:
    """Takes events in their order and keeps the spans that they make."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        self.spans: dict[str, Span] = {}
        self.given: dict[int, str] = {}
        """What steps, tools and look-ups were given, by the `seq` of their spans."""
        self.end: Recorded | None = None
        self._first: Recorded | None = None
        self._last = self._at = 0.0
        self._title = self._kind = ""
        self._own: list[int] = []

    def read(self, one: Recorded) -> None:
        """Take the next event in."""
        if self._first is None:
            self._first = one
        elif one.at < self._at - TOLERANCE_S:
            self.problems.append(Problem("clock", one.seq))
        self._at, self._last = one.at, max(self._last, one.at)
        _READ.get(type(one.event), _read_nothing)(self, one, one.event)

    def finish(self) -> list[Span]:
        """The run, and what took place in it; what did not end is open to the end."""
        first = self._first
        if first is None:
            self.problems.append(Problem("no start", ROOT))
            return [Span(ROOT, "run", "", "", 0.0, 0.0, "open")]
        if not self._kind:
            self.problems.append(Problem("no start", first.seq))
        if self.end is None:
            self.problems.append(Problem("no end", ROOT))
        spans = [self._close(span) for span in self.spans.values()]
        return [self._make_root(first, spans), *spans]

    def begin(self, key: str, span: Span) -> None:
        """A span that will end: it is open."""
        self.spans[key] = span

    def end_of(
        self, key: str, one: Recorded, seconds: float, missing: Span, status: SpanStatus
    ) -> Span:
        """The span that this event ends so; where its beginning is not there, `missing`, which
        began so many seconds before.
        """
        known = self.spans.get(key)
        if known is None:
            self.problems.append(Problem("no begin", one.seq, missing.name))
            known = replace(missing, start=one.at - max(seconds, 0.0), seqs=())
        end, seqs = max(known.start, one.at), (*known.seqs, one.seq)
        ended = replace(known, end=end, seqs=seqs, status=status)
        self.spans[key] = ended
        return ended

    def whole(self, one: Recorded, seconds: float, span: Span) -> None:
        """A span that is told at its end, or later."""
        start = span.end - max(seconds, 0.0)
        self.spans[f"seq {one.seq}"] = replace(span, start=start, seqs=(one.seq,))

    def begin_run(self, one: Recorded, kind: str, title: str) -> None:
        """The run says what it is."""
        self._kind, self._title = kind or "run", title
        self._own.append(one.seq)

    def end_run(self, one: Recorded) -> None:
        """The run says how it ended."""
        self.end = one
        self._own.append(one.seq)

    def _close(self, span: Span) -> Span:
        if span.status != "open":
            return span
        if self.end is not None:
            self.problems.append(Problem("no end", span.seq, span.name))
        return replace(span, end=max(span.start, self._last))

    def _make_root(self, first: Recorded, spans: Sequence[Span]) -> Span:
        costs = [span.cost for span in spans if span.cost is not None]
        return Span(
            ROOT,
            "run",
            self._title,
            "",
            min([first.at, *(span.start for span in spans)]),
            max([self._last, *(span.end for span in spans)]),
            _RUN_ENDS.get(type(self.end.event), "open") if self.end else "open",
            key=self._kind,
            prompt_tokens=sum(span.prompt_tokens for span in spans),
            completion_tokens=sum(span.completion_tokens for span in spans),
            cost=sum(costs) if costs else None,
            unpriced=any(span.unpriced for span in spans),
            seqs=tuple(self._own),
        )


_RUN_ENDS: dict[type[Any], SpanStatus] = {
    events.RunFinished: "ok",
    events.RunFailed: "failed",
    events.RunStopped: "stopped",
}


def _read_nothing(reader: _Reader, one: Recorded, event: Event) -> None:
    """Nothing: of an event that makes no span, such as a piece of a reply."""


def _read_start(reader: _Reader, one: Recorded, event: events.RunStarted) -> None:
    reader.begin_run(one, event.what, event.title)


def _read_end(reader: _Reader, one: Recorded, event: Event) -> None:
    reader.end_run(one)


def _read_called(reader: _Reader, one: Recorded, event: events.ModelCalled) -> None:
    key = f"call {event.call_id}"
    known = reader.spans.get(key)
    if known is not None:  # another attempt
        reader.spans[key] = replace(known, status="open", seqs=(*known.seqs, one.seq))
        return
    reader.begin(key, _of_call(one, event))


def _read_replied(reader: _Reader, one: Recorded, event: ModelReplied) -> None:
    key = f"call {event.call_id}"
    ended = reader.end_of(key, one, event.seconds, _of_call(one, event), event.status)
    cost = 0.0 if event.cost is None and on_this_machine(event.provider) else event.cost
    is_unpriced = cost is None and event.usage.total > 0
    reader.spans[key] = replace(
        ended,
        prompt_tokens=ended.prompt_tokens + event.usage.prompt,
        completion_tokens=ended.completion_tokens + event.usage.completion,
        cost=_add(ended.cost, cost),
        unpriced=ended.unpriced or is_unpriced,
        attempts=max(ended.attempts, event.attempt),
    )


def _of_call(one: Recorded, event: events.ModelCalled | ModelReplied) -> Span:
    kind: SpanKind = "model" if event.purpose in ("chat", "test") else "embedding"
    return _begin(one, kind, event.model, event.agent, event.call_id)


def _begin(one: Recorded, kind: SpanKind, name: str, lane: str, key: str) -> Span:
    """A span that begins with this event."""
    return Span(one.seq, kind, name, lane, one.at, one.at, "open", key=key, seqs=(one.seq,))


def _add(one: float | None, other: float | None) -> float | None:
    """The sum of the known ones."""
    if one is None or other is None:
        return other if one is None else one
    return one + other


def _read_tool_called(reader: _Reader, one: Recorded, event: events.ToolCalled) -> None:
    reader.begin(f"tool {event.call_id}", _of_tool(one, event))
    reader.given[one.seq] = event.arguments


def _read_tool_returned(reader: _Reader, one: Recorded, event: events.ToolReturned) -> None:
    missing = _of_tool(one, event)
    reader.end_of(f"tool {event.call_id}", one, event.seconds, missing, _ok(event.ok))


def _of_tool(one: Recorded, event: events.ToolCalled | events.ToolReturned) -> Span:
    return _begin(one, "tool", event.name, event.agent, event.call_id)


def _read_code_began(reader: _Reader, one: Recorded, event: events.CodeBegan) -> None:
    span = _begin(one, "code", event.language, event.agent, event.cell_id)
    reader.begin(f"cell {event.cell_id}", span)


def _read_code_ran(reader: _Reader, one: Recorded, event: events.CodeRan) -> None:
    status = _ok(event.exit_code == 0)
    if event.stopped:
        status = "stopped"
    span = Span(one.seq, "code", event.language, event.agent, one.at, one.at, status)
    if event.cell is None:
        reader.whole(one, event.seconds, span)
        return
    missing = replace(span, key=event.cell.id)
    reader.end_of(f"cell {event.cell.id}", one, event.seconds, missing, status)


def _read_search(reader: _Reader, one: Recorded, event: events.Retrieved) -> None:
    reader.given[one.seq] = event.query
    ended = min(one.at, event.began + event.seconds) if event.began else one.at
    span = Span(one.seq, "search", event.query, "", one.at, ended)
    reader.whole(one, event.seconds, span)


def _read_compressed(reader: _Reader, one: Recorded, event: events.Compressed) -> None:
    status = _ok(event.ok)
    span = Span(one.seq, "compression", event.strategy, event.agent, one.at, one.at, status)
    reader.whole(one, event.seconds, span)


def _read_plan(reader: _Reader, one: Recorded, event: events.PlanMade) -> None:
    status = _ok(not event.error)
    name = f"{event.attempt}"
    span = Span(one.seq, "plan", name, event.agent, one.at, one.at, status, key=event.plan_id)
    key = f"seq {one.seq}" if event.error else f"plan {event.plan_id}"
    reader.spans[key] = replace(span, seqs=(one.seq,))


def _read_step(reader: _Reader, one: Recorded, event: events.StepDone) -> None:
    name = f"{event.label} {event.tool}".strip()
    span = Span(one.seq, "step", name, event.agent, one.at, one.at, _ok(event.ok))
    reader.whole(one, event.seconds, replace(span, attempts=event.attempts))
    reader.given[one.seq] = event.arguments
    plan = reader.spans.get(f"plan {event.plan_id}")
    if plan is None:
        reader.problems.append(Problem("no begin", one.seq, name))
    else:
        reader.spans[f"plan {event.plan_id}"] = replace(plan, end=max(plan.end, one.at))


def _read_asked(reader: _Reader, one: Recorded, event: events.HumanInputRequested) -> None:
    first, _, _ = event.prompt.strip().partition("\n")
    span = _begin(one, "wait", first, event.agent, event.request_id)
    reader.begin(f"asked {event.request_id}", span)


def _read_answered(reader: _Reader, one: Recorded, event: events.HumanAnswered) -> None:
    first, _, _ = event.text.strip().partition("\n")
    span = Span(one.seq, "message", first, "", one.at, one.at)
    if not event.request_id:
        reader.whole(one, 0.0, span)
        return
    key, status = f"asked {event.request_id}", _ok(event.waited_s is None)
    missing = replace(span, kind="wait", key=event.request_id)
    reader.end_of(key, one, event.waited_s or 0.0, missing, status)


def _read_point(
    kind: SpanKind, name: str, lane: str, reader: _Reader, one: Recorded, event: Any
) -> None:
    """What takes no time: its name and lane are fields of the event."""
    first, _, _ = str(getattr(event, name, "")).strip().partition("\n")
    status = _STATUSES.get(getattr(event, "status", ""), "ok")
    span = Span(one.seq, kind, first, getattr(event, lane, ""), one.at, one.at, status)
    reader.whole(one, 0.0, span)


def _read_document(reader: _Reader, one: Recorded, event: events.DocumentDone) -> None:
    status = _STATUSES.get(event.status, "ok")
    span = Span(one.seq, "document", event.document, "", one.at, one.at, status)
    reader.whole(one, event.seconds, replace(span, key=event.document_id))


def _read_tried(reader: _Reader, one: Recorded, event: events.QuestionTried) -> None:
    status = _STATUSES.get(event.status, "ok")
    span = Span(one.seq, "trial", event.question, "", one.at, one.at, status)
    reader.whole(one, event.seconds, replace(span, key=event.run_id))


def _read_parsed(reader: _Reader, one: Recorded, event: events.ReplyParsed) -> None:
    name = event.error or event.parser
    span = Span(one.seq, "note", name, event.agent, one.at, one.at, _ok(event.ok))
    reader.whole(one, 0.0, span)


def _read_unknown(reader: _Reader, one: Recorded, event: events.Unknown) -> None:
    reader.problems.append(Problem("unknown", one.seq, event.name))
    reader.whole(one, 0.0, Span(one.seq, "unknown", event.name, "", one.at, one.at))


_STATUSES: dict[str, SpanStatus] = {"failed": "failed", "stopped": "stopped"}
"""Of messages and documents; others are well."""


def _ok(is_well: bool) -> SpanStatus:
    """Of what can only be well or fail."""
    return "ok" if is_well else "failed"


_READ: dict[type[Any], Callable[[_Reader, Recorded, Any], None]] = {
    events.RunStarted: _read_start,
    events.RunFinished: _read_end,
    events.RunFailed: _read_end,
    events.RunStopped: _read_end,
    events.ModelCalled: _read_called,
    events.ModelReplied: _read_replied,
    events.ToolCalled: _read_tool_called,
    events.ToolReturned: _read_tool_returned,
    events.CodeBegan: _read_code_began,
    events.CodeRan: _read_code_ran,
    events.Retrieved: _read_search,
    events.Compressed: _read_compressed,
    events.PlanMade: _read_plan,
    events.StepDone: _read_step,
    events.HumanInputRequested: _read_asked,
    events.HumanAnswered: _read_answered,
    events.ReplyParsed: _read_parsed,
    events.DocumentDone: _read_document,
    events.EvaluationBegan: partial(_read_point, "note", "set_name", "team_name"),
    events.QuestionBegan: partial(_read_point, "note", "run_id", "number"),
    events.QuestionTried: _read_tried,
    events.QuestionDrafted: partial(_read_point, "note", "question", "document"),
    events.MessageSent: partial(_read_point, "message", "content", "sender"),
    events.SpeakerSelected: partial(_read_point, "speaker", "speaker", "agent"),
    events.LimitTold: partial(_read_point, "note", "scope", "agent"),
    events.ChatEnded: partial(_read_point, "note", "reason", "sender"),
    events.Noted: partial(_read_point, "note", "text", "agent"),
    events.Unknown: _read_unknown,
}
