"""Two runs beside each other: settings, what they took, plan, steps, passages and answer.

It only computes; `sides.py` reads the runs.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from agentkit import events
from agentkit.events import MessageSent, ModelCalled, PlanMade, Retrieved, RunStarted
from agentkit.ledger.aligning import Piece, align_twice, compare_texts
from agentkit.ledger.queries import RunTotals
from agentkit.ledger.spans import Span, Trace

Place = tuple[object, object, object]
"""A passage by its document and span."""
_SETTINGS = (
    *("team_id", "model_id", "instructions", "parameters", "collection", "also", "scope"),
    *("max_tokens", "planning", "human_input"),
)
"""Of a stored question."""
_CHANGES = ("from_step", "label", "reply", "instructions")
"""Of a run that begins from another one."""


@dataclass(frozen=True, slots=True)
class Side:
    """A run as it is compared."""

    run: RunTotals
    trace: Trace
    system: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """What each agent was told last as its system message."""


@dataclass(frozen=True, slots=True)
class Fact:
    """Something by its name, as it is in each; None where one does not have it."""

    name: str
    first: Any
    second: Any

    @property
    def is_same(self) -> bool:
        """Whether it is equal in both."""
        return bool(self.first == self.second)


@dataclass(frozen=True, slots=True)
class StepPair:
    """A step of each run that belong together; None where only the other one has it."""

    first: Span | None
    second: Span | None
    differs: tuple[Fact, ...] = ()
    """What differs in them."""

    @property
    def is_same(self) -> bool:
        """Whether both did the same, however long it took."""
        return self.first is not None and self.second is not None and not self.differs


@dataclass(frozen=True, slots=True)
class Found:
    """A passage in one run: its best rank, and its number in the answer, if that cites it."""

    rank: int
    cited: int | None = None


@dataclass(frozen=True, slots=True)
class PassagePair:
    """A passage that one or both runs found."""

    hit: Mapping[str, Any]
    first: Found | None
    second: Found | None

    @property
    def is_same(self) -> bool:
        """Whether both found it at the same rank, and cite it or do not."""
        return self.first == self.second


@dataclass(frozen=True)
class Comparison:
    """Two runs beside each other."""

    first: Side
    second: Side

    @cached_property
    def settings(self) -> list[Fact]:
        """What they were asked with."""
        return _pair(_read_settings(self.first), _read_settings(self.second))

    @cached_property
    def took(self) -> list[Fact]:
        """How they ended, and what they took."""
        return _pair(_read_took(self.first), _read_took(self.second))

    @cached_property
    def plan(self) -> list[Fact]:
        """The steps of their last plans, by label."""
        return _pair(_read_plan(self.first.trace), _read_plan(self.second.trace))

    @cached_property
    def steps(self) -> list[StepPair]:
        """All steps, aligned by who did them and of what kind they are."""
        first, second = self.first.trace, self.second.trace
        facts, others = _tell_all(first), _tell_all(second)
        rows = align_twice(_make_keys(first, facts), _make_keys(second, others))
        pairs = []
        for one, other in rows:
            before, after = _pick(first, one), _pick(second, other)
            is_pair = before is not None and after is not None
            differs = _pair(facts.get(one, {}), others.get(other, {})) if is_pair else []
            pairs.append(StepPair(before, after, tuple(filter(_is_other, differs))))
        return pairs

    @cached_property
    def passages(self) -> list[PassagePair]:
        """All passages that either found, in the order of the first one, then of the second."""
        first, second = _find_passages(self.first.trace), _find_passages(self.second.trace)
        hits = _list_hits(self.second.trace) | _list_hits(self.first.trace)
        places = dict.fromkeys([*first, *second])
        return [PassagePair(hits[one], first.get(one), second.get(one)) for one in places]

    @cached_property
    def answer(self) -> list[Piece]:
        """Both answers as one text."""
        return compare_texts(read_answer(self.first.trace), read_answer(self.second.trace))

    @property
    def first_difference(self) -> StepPair | None:
        """The first step that differs; None where all are the same."""
        return next((pair for pair in self.steps if not pair.is_same), None)

    @property
    def difference_too_early(self) -> StepPair | None:
        """The first difference, where the second run repeats the first one from a model call on and
        differs before that; None else.
        """
        started = _find_last(self.second.trace, RunStarted)
        if started is None or started.repeats != self.first.run.id or not started.from_step:
            return None
        calls = [one for one in self.first.trace.spans if _is_chat(self.first.trace, one)]
        calls.sort(key=lambda one: one.seq)
        steps = calls[started.from_step - 1 : started.from_step]
        found = self.first_difference
        is_early = steps and found and found.first and found.first.seq < steps[0].seq
        return found if is_early else None

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON values; of steps that are the same only where they stand."""
        return {
            "first": self.first.run.id,
            "second": self.second.run.id,
            "settings": list(map(dataclasses.asdict, self.settings)),
            "took": list(map(dataclasses.asdict, self.took)),
            "plan": list(map(dataclasses.asdict, self.plan)),
            "passages": list(map(dataclasses.asdict, self.passages)),
            "answer": list(map(dataclasses.asdict, self.answer)),
            "steps": list(map(_step_to_json, self.steps)),
        }


def find_cited(trace: Trace) -> dict[Place, int]:
    """The passages that the run's answer cites, each with its marker."""
    said = _select(trace, MessageSent)
    cited = [one for event in said for one in event.extra.get("citations", ())]
    return {place_of(one): int(one["marker"]) for one in cited}


def place_of(hit: Mapping[str, Any]) -> Place:
    """Where a passage stands."""
    return hit.get("document_id"), hit.get("start"), hit.get("end")


def read_answer(trace: Trace) -> str:
    """What the run answered; empty if it did not."""
    said = [one for one in _select(trace, MessageSent) if one.role == "assistant"]
    own = [one.content for one in said if not one.extra.get("inner")]
    return own[-1] if own else ""


def _step_to_json(pair: StepPair) -> dict[str, Any]:
    return {
        "first": pair.first.seq if pair.first else None,
        "second": pair.second.seq if pair.second else None,
        "same": pair.is_same,
        "differs": list(map(dataclasses.asdict, pair.differs)),
    }


# What is read of each run


def _select(trace: Trace, kind: type[Any]) -> list[Any]:
    return [one.event for one in trace.events.values() if isinstance(one.event, kind)]


def _find_last(trace: Trace, kind: type[Any]) -> Any:
    return next(reversed(_select(trace, kind)), None)


def _pair(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[Fact]:
    names = dict.fromkeys([*first, *second])
    return [Fact(name, first.get(name), second.get(name)) for name in names]


def _is_other(fact: Fact) -> bool:
    return not fact.is_same


def _read_settings(side: Side) -> dict[str, Any]:
    said = [one for one in _select(side.trace, MessageSent) if one.role == "user"]
    asked = [one for one in said if not one.extra.get("inner")]
    stored: Mapping[str, Any] = asked[0].extra if asked else {}
    calls = [one for one in _select(side.trace, ModelCalled) if one.purpose == "chat"]
    searches = _select(side.trace, Retrieved)
    options = searches[0].options if searches else {}
    repeat = stored.get("repeat") or {}
    return {
        "kind": side.run.kind,
        "question": asked[0].content if asked else side.run.title,
        "team_id": side.run.team or stored.get("team_id"),
        "models": sorted({one.model for one in calls}),
        **{name: stored[name] for name in _SETTINGS[1:] if name in stored},
        **{f"again: {name}": repeat[name] for name in _CHANGES if repeat.get(name)},
        **{f"search: {name}": value for name, value in options.items()},
        **{f"system: {agent}": text for agent, text in side.system.items()},
    }


def _read_took(side: Side) -> dict[str, Any]:
    run, root = side.run, side.trace.run
    return {
        "state": run.state,
        "seconds": run.seconds,
        "calls": run.calls,
        "prompt_tokens": root.prompt_tokens,
        "completion_tokens": root.completion_tokens,
        "tokens": run.tokens,
        "cost": run.cost,
        "steps": len(side.trace.spans) - 1,
    }


def _read_plan(trace: Trace) -> dict[str, Any]:
    made: list[PlanMade] = [one for one in _select(trace, PlanMade) if not one.error]
    steps = made[-1].steps if made else []
    return {str(one.get("label")): _describe_step(one) for one in steps}


def _describe_step(step: Mapping[str, Any]) -> str:
    return f"{step.get('thought', '')}\n{step.get('tool')}[{step.get('arguments')}]".strip()


def _list_hits(trace: Trace) -> dict[Place, Mapping[str, Any]]:
    return {place_of(hit): hit for one in _select(trace, Retrieved) for hit in one.hits}


def _find_passages(trace: Trace) -> dict[Place, Found]:
    cited, ranks = find_cited(trace), dict[Place, int]()
    for search in _select(trace, Retrieved):
        for number, hit in enumerate(search.hits, start=1):
            place, rank = place_of(hit), int(hit.get("rank") or number)
            ranks[place] = min(rank, ranks.get(place, rank))
    return {place: Found(rank, cited.get(place)) for place, rank in ranks.items()}


# What a step did


_TOLD: dict[type[Any], Mapping[str, str]] = {
    ModelCalled: {"model": "model", "request": "asked"},
    events.ModelReplied: {"reply": "text", "status": "status", "error": "error"},
    events.ToolCalled: {"tool": "name", "arguments": "arguments"},
    events.ToolReturned: {"well": "ok", "result": "content"},
    events.CodeRan: {"code": "code", "exit code": "exit_code", "output": "output"},
    events.CodeBegan: {"code": "code"},
    Retrieved: {"query": "query", "collection": "collection", "mode": "mode"},
    events.Compressed: {"summary": "summary", "error": "error"},
    PlanMade: {"plan": "steps", "error": "error"},
    events.StepDone: {"arguments": "arguments", "evidence": "evidence", "error": "error"},
    events.HumanInputRequested: {"asked": "prompt", "draft": "draft"},
    events.HumanAnswered: {"answer": "text"},
    MessageSent: {"to": "recipient", "text": "content"},
    events.SpeakerSelected: {"speaker": "speaker"},
    events.DocumentDone: {"document": "document", "status": "status", "error": "error"},
    events.ReplyParsed: {"fields": "fields", "error": "error"},
    events.LimitTold: {"limit": "scope"},
    events.ChatEnded: {"reason": "reason"},
    events.Noted: {"note": "text", "detail": "detail"},
    events.Unknown: {"stored": "data"},
}
"""What is compared of an event, and its field; ids, times and prices are not."""


def _tell_all(trace: Trace) -> dict[int | None, dict[str, Any]]:
    """What each step did, by its place after the run."""
    return {place: _tell(trace, span) for place, span in enumerate(trace.spans[1:])}


def _tell(trace: Trace, span: Span) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for event in trace.events_of(span):
        fields = _TOLD.get(type(event), {})
        told.update({name: getattr(event, field) for name, field in fields.items()})
        if isinstance(event, Retrieved):
            told["passages"] = [f"{hit.get('document')} {place_of(hit)[1:]}" for hit in event.hits]
    return told


def _make_keys(
    trace: Trace, told: Mapping[int | None, Mapping[str, Any]]
) -> list[tuple[Hashable, Hashable]]:
    """What each step is like: its agent and kind; and what it is: all that it did."""
    keys: list[tuple[Hashable, Hashable]] = []
    for place, span in enumerate(trace.spans[1:]):
        like = (span.lane, span.kind)
        keys.append((like, (like, json.dumps(told[place], sort_keys=True, default=str))))
    return keys


def _pick(trace: Trace, place: int | None) -> Span | None:
    return None if place is None else trace.spans[place + 1]


def _is_chat(trace: Trace, span: Span) -> bool:
    """Whether it asks a language model."""
    heard = trace.events_of(span)
    return any(isinstance(one, ModelCalled) and one.purpose == "chat" for one in heard)
