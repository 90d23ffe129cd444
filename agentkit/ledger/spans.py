"""What a trace is: spans of a run in a tree, the path that decided its end, and what was odd.

It only computes; `trace.py` reads the events.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from agentkit.event_json import to_json
from agentkit.events import Event, Recorded

SpanKind = Literal[
    "run",
    "model",
    "embedding",
    "tool",
    "code",
    "search",
    "compression",
    "plan",
    "step",
    "wait",
    "message",
    "speaker",
    "document",
    "trial",
    "note",
    "unknown",
]
SpanStatus = Literal["ok", "failed", "stopped", "cached", "open"]
"""How it ended; `open` for what goes on, or whose end was never stored."""
ProblemKind = Literal["order", "twice", "clock", "no start", "no end", "no begin", "unknown"]
"""What is odd: events out of their order, one that is there twice, a clock that went back; a run
that has no first or no last event, a step without its end or its beginning, a kind of event that
this version does not know.
"""
ROOT = 0
"""The `seq` of the run itself."""
_HOLDS = frozenset({"run", "tool", "code", "search", "compression", "plan", "step", "document"})
"""Kinds within which others happen."""
TOLERANCE_S = 0.005
"""Clocks of a span that tells its seconds, and of those within, differ by as much."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something odd about the stored events, and at which of them."""

    kind: ProblemKind
    seq: int
    what: str = ""


@dataclass(frozen=True, slots=True)
class Span:
    """Something that took place in a run, from one time to another."""

    seq: int
    """Its first event, which it is known by in its run; 0 for the run itself."""
    kind: SpanKind
    name: str
    lane: str
    """The agent that did it; empty for what no agent in particular did."""
    start: float
    """Seconds since 1970 (UTC)."""
    end: float
    status: SpanStatus = "ok"
    parent: int = ROOT
    """The `seq` of the span within which it took place."""
    depth: int = 0
    key: str = ""
    """The id of the call, the question or the cell."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None
    """US dollars; None where none is known."""
    unpriced: bool = False
    """Whether a price in it is unknown."""
    attempts: int = 1
    seqs: tuple[int, ...] = ()
    """All of its events."""
    critical: bool = False
    """Whether the run would have ended earlier, had this taken less time."""

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.end - self.start

    @property
    def tokens(self) -> int:
        """All tokens, in and out."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True)
class Trace:
    """A run as a tree of spans, in the order in which people read it: each before what is in it."""

    spans: tuple[Span, ...]
    """The run itself is the first."""
    problems: tuple[Problem, ...] = ()
    events: Mapping[int, Recorded] = field(default_factory=dict, repr=False)
    """By `seq`."""

    @property
    def run(self) -> Span:
        """The span of the whole run."""
        return self.spans[0]

    @property
    def lanes(self) -> tuple[str, ...]:
        """The agents, in the order of their first spans."""
        return tuple(dict.fromkeys(span.lane for span in self.spans if span.lane))

    def find(self, step: str) -> Span | None:
        """The span of that `seq`, or of that call, question or cell; None when there is none."""
        known = (one for one in self.spans if step in (str(one.seq), one.key) and step)
        return next(known, None)

    def events_of(self, span: Span) -> list[Event]:
        """The events of a span, in their order."""
        return [self.events[seq].event for seq in span.seqs]

    def critical_s(self) -> dict[SpanKind, float]:
        """Seconds of the critical path by kind, each second under the innermost span that took it;
        under `run` what no step took. Together they are those of the run.
        """
        within: dict[int, float] = {}
        on_path = [span for span in self.spans if span.critical]
        for span in on_path[1:]:
            within[span.parent] = within.get(span.parent, 0.0) + span.seconds
        found: dict[SpanKind, float] = {}
        for span in on_path:
            own = max(0.0, span.seconds - within.get(span.seq, 0.0))
            found[span.kind] = found.get(span.kind, 0.0) + own
        return found

    def to_json(self, *, with_events: bool = True) -> dict[str, Any]:
        """All of it as JSON values, each span with its events unless that is too much."""
        spans = [dataclasses.asdict(span) | {"seconds": span.seconds} for span in self.spans]
        if with_events:
            for one, span in zip(spans, self.spans, strict=True):
                one["events"] = list(map(to_json, self.events_of(span)))
        return {
            "spans": spans,
            "lanes": list(self.lanes),
            "critical_s": self.critical_s(),
            "problems": [dataclasses.asdict(problem) for problem in self.problems],
        }


def arrange(spans: Sequence[Span], given: Mapping[int, str]) -> tuple[Span, ...]:
    """The spans as a tree, the run first: each within the innermost one that holds it, after it,
    and those marked that decided when the run ended.

    Of several that went on at the same time that one holds it which was given what it was: `given`
    has arguments and queries by `seq`.
    """
    within = _put_in_tree(spans, given)
    critical = _find_critical(spans[0], within)
    return tuple(_mark(span, critical) for span in _walk(spans[0], within))


def _mark(span: Span, critical: Set[int]) -> Span:
    return replace(span, critical=True) if span.seq in critical else span


Within = Mapping[int, Sequence[Span]]
"""Spans by the `seq` of the one that they are in, those first that began first."""


def _put_in_tree(spans: Sequence[Span], given: Mapping[int, str]) -> Within:
    root, *others = spans
    others.sort(key=_put_holders_first)
    within: dict[int, list[Span]] = {}
    around = [root]
    for span in others:
        begins = span.start - TOLERANCE_S
        while len(around) > 1 and around[-1].end < begins:
            around.pop()
        holder = _find_holder(around, span, given) or root
        lane = span.lane or holder.lane
        placed = replace(span, parent=holder.seq, depth=holder.depth + 1, lane=lane)
        within.setdefault(holder.seq, []).append(placed)
        may_hold = placed.kind in _HOLDS and placed.seconds > 0
        if may_hold:
            around.append(placed)
    for inside in within.values():
        inside.sort(key=_order)
    return within


def _order(span: Span) -> tuple[float, float, int]:
    return span.start, -span.end, span.seq


def _put_holders_first(span: Span) -> tuple[float, float, int]:
    """In the order of their beginnings, by clocks that differ: what only tells its seconds, as a
    plan's step does, may seem to begin after the tool that it used.
    """
    start, end, seq = _order(span)
    return start + TOLERANCE_S * _RANKS.get(span.kind, 2), end, seq


_RANKS: dict[SpanKind, int] = {"plan": 0, "step": 0, "document": 0, "tool": 1, "code": 1}
"""How deep a kind stands in others; the rest is 2."""


def _find_holder(around: Sequence[Span], span: Span, given: Mapping[int, str]) -> Span | None:
    """The innermost one within which it took place; None for the run itself."""
    holders = [one for one in reversed(around) if _holds(one, span)]
    forms = _list_forms(given.get(span.seq, ""))
    for one in holders:
        if any(form in given.get(one.seq, "") for form in forms):
            return one
    return next(iter(holders), None)


def _list_forms(text: str) -> set[str]:
    """A text as it may stand in the arguments of a call."""
    if not text:
        return set()
    return {text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}


def _holds(outer: Span, inner: Span) -> bool:
    """Whether the one took place within the other; what goes on beside its like does not, nor does
    a plan's step within what another step of it does.
    """
    is_of_plan = inner.kind == "step" and outer.kind in ("tool", "code")
    is_like = outer.kind == inner.kind or is_of_plan
    is_same_lane = outer.kind != "tool" or outer.lane == inner.lane
    if is_like and is_same_lane:
        return False
    begins_within = outer.start - TOLERANCE_S <= inner.start
    ends_within = inner.end <= outer.end + TOLERANCE_S
    return begins_within and ends_within


def _walk(root: Span, within: Within) -> Iterator[Span]:
    left = [root]
    while left:
        span = left.pop()
        yield span
        left.extend(reversed(within.get(span.seq, ())))


def _find_critical(root: Span, within: Within) -> set[int]:
    """Those without which the run would have ended earlier.

    Within each, from its end backwards: what ended last before that moment, and from its beginning
    on again.
    """
    found = {root.seq}
    left = [root]
    while left:
        inside = [one for one in within.get(left.pop().seq, ()) if one.seconds > 0]
        before = float("inf")
        for span in sorted(inside, key=lambda one: (one.end, one.seq), reverse=True):
            if span.end <= before + TOLERANCE_S:
                before = span.start
                found.add(span.seq)
                left.append(span)
    return found
