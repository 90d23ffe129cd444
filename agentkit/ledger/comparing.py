"""Two runs beside each other: settings, what they took, plan, steps, passages and answer.

It only computes; `sides.py` reads the runs.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain, count, filterfalse
from operator import attrgetter, itemgetter, methodcaller
from typing import Any

from agentkit import events
from agentkit.core.given import pick_kind
from agentkit.events import (
    Event,
    MessageSent,
    ModelCalled,
    PlanMade,
    Retrieved,
    RunStarted,
    events_of,
)
from agentkit.ledger.aligning import Piece, align_twice, compare_texts
from agentkit.ledger.queries import RunTotals
from agentkit.ledger.spans import Span, Trace

Place = tuple[object, object, object]
"""A passage by its document and span."""
_SETTINGS = (
    *("question", "team_id", "model_id", "instructions", "parameters"),
    *("collection", "also", "scope"),
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
    system: Mapping[str, str] = field(default_factory=dict)
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
        return None not in (self.first, self.second) and not self.differs


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
        first, second = _read_steps(self.first.trace), _read_steps(self.second.trace)
        make_key = attrgetter("key")
        rows = align_twice(list(map(make_key, first)), list(map(make_key, second)))
        known, others = dict(enumerate(first)), dict(enumerate(second))
        here: Iterable[_Done | None] = map(known.get, map(itemgetter(0), rows))
        there: Iterable[_Done | None] = map(others.get, map(itemgetter(1), rows))
        return list(map(_pair_steps, here, there))

    @cached_property
    def passages(self) -> list[PassagePair]:
        """All passages that either found, in the order of the first one, then of the second."""
        first, second = _find_passages(self.first.trace), _find_passages(self.second.trace)
        hits = _list_hits(self.second.trace) | _list_hits(self.first.trace)
        places = dict.fromkeys([*first, *second])
        shown = (hits[each] for each in places)
        return list(map(PassagePair, shown, map(first.get, places), map(second.get, places)))

    @cached_property
    def answer(self) -> list[Piece]:
        """Both answers as one text."""
        return compare_texts(read_answer(self.first.trace), read_answer(self.second.trace))

    @property
    def first_difference(self) -> StepPair | None:
        """The first step that differs; None where all are the same."""
        return next(filterfalse(attrgetter("is_same"), self.steps), None)

    @property
    def difference_too_early(self) -> StepPair | None:
        """The first difference, where the second run repeats the first one from a model call on and
        differs before that; None else.
        """
        found = self.first_difference
        if found is None or found.first is None:
            return None
        started = _select(self.second.trace, RunStarted)
        begins = dict(map(attrgetter("repeats", "from_step"), started))
        step = begins.get(self.first.run.id, 0)
        calls = _list_calls(self.first.trace)[step - 1 : step]
        if any(call > found.first.seq for call in calls):
            return found
        return None

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON values; of steps that are the same only where they stand."""
        write = dataclasses.asdict
        return {
            "first": self.first.run.id,
            "second": self.second.run.id,
            "settings": list(map(write, self.settings)),
            "took": list(map(write, self.took)),
            "plan": list(map(write, self.plan)),
            "passages": list(map(write, self.passages)),
            "answer": list(map(write, self.answer)),
            "steps": list(map(_step_to_json, self.steps)),
        }


def find_cited(trace: Trace) -> dict[Place, int]:
    """The passages that the run's answer cites, each with its marker."""
    extras = map(attrgetter("extra"), _select(trace, MessageSent))
    cited = list(chain.from_iterable(map(methodcaller("get", "citations", ()), extras)))
    markers = map(int, map(itemgetter("marker"), cited))
    return dict(zip(map(place_of, cited), markers, strict=True))


def place_of(hit: Mapping[str, Any]) -> Place:
    """Where a passage stands."""
    return hit.get("document_id"), hit.get("start"), hit.get("end")


def read_answer(trace: Trace) -> str:
    """What the run answered; empty if it did not."""
    said = map(attrgetter("content"), _select_said(trace, "assistant"))
    return next(reversed(list(said)), "")


def _step_to_json(pair: StepPair) -> dict[str, Any]:
    return {
        "first": getattr(pair.first, "seq", None),
        "second": getattr(pair.second, "seq", None),
        "same": pair.is_same,
        "differs": list(map(dataclasses.asdict, pair.differs)),
    }


# What is read of each run


def _select(trace: Trace, kind: type[Any]) -> list[Any]:
    return pick_kind(events_of(trace.events.values()), kind)


def _select_said(trace: Trace, role: str) -> list[MessageSent]:
    """What a person asked, or what was answered: not what agents say to one another."""
    said = _select(trace, MessageSent)
    return [one for one in said if one.role == role and not one.extra.get("inner")]


def _is_of_text(event: Event) -> bool:
    """Whether it asks a language model."""
    return isinstance(event, ModelCalled) and event.purpose == "chat"


def _list_calls(trace: Trace) -> list[int]:
    """The first events of the calls of language models, in their order."""

    def is_call(span: Span) -> bool:
        return any(map(_is_of_text, trace.events_of(span)))

    return sorted(map(attrgetter("seq"), filter(is_call, trace.spans)))


def _pair(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[Fact]:
    names = dict.fromkeys([*first, *second])
    return list(map(Fact, names, map(first.get, names), map(second.get, names)))


def _read_settings(side: Side) -> dict[str, Any]:
    stored = _read_question(side)
    calls = filter(_is_of_text, _select(side.trace, ModelCalled))
    searches = _select(side.trace, Retrieved)
    options: Mapping[str, Any] = next(map(attrgetter("options"), searches), {})
    asked = {
        "kind": side.run.kind,
        "question": side.run.title,
        **_keep(_SETTINGS, stored),
        "models": sorted(set(map(attrgetter("model"), calls))),
    }
    return {
        **asked,
        **_put_under("again", _keep(_CHANGES, stored.get("repeat") or {})),
        **_put_under("search", options),
        **_put_under("system", side.system),
    }


def _read_question(side: Side) -> Mapping[str, Any]:
    """The question as it is stored; of a run that answers none what the run itself tells."""
    team = {"team_id": side.run.team}
    asked = next(iter(_select_said(side.trace, "user")), None)
    if asked is None:
        return team
    return {**team, **asked.extra, "question": asked.content}


def _keep(names: Iterable[str], stored: Mapping[str, Any]) -> dict[str, Any]:
    """Those that are set."""
    there = list(filter(stored.get, names))
    return dict(zip(there, map(stored.get, there), strict=True))


def _put_under(word: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    names = map(f"{word}: {{}}".format, facts)
    return dict(zip(names, facts.values(), strict=True))


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


def _read_plan(trace: Trace) -> dict[str, str]:
    ran = list(filterfalse(attrgetter("error"), _select(trace, PlanMade)))
    steps: list[Mapping[str, Any]] = next(map(attrgetter("steps"), reversed(ran)), [])
    return dict(map(_describe_step, steps))


def _describe_step(step: Mapping[str, Any]) -> tuple[str, str]:
    label, thought = str(step.get("label")), step.get("thought", "")
    told = f"{thought}\n{step.get('tool')}[{step.get('arguments')}]"
    return label, told.strip()


def _list_hits(trace: Trace) -> dict[Place, Mapping[str, Any]]:
    found = map(attrgetter("hits"), _select(trace, Retrieved))
    hits = list(chain.from_iterable(found))
    return dict(zip(map(place_of, hits), hits, strict=True))


def _find_passages(trace: Trace) -> dict[Place, Found]:
    """What the run found, best first; of several look-ups the best rank counts."""
    ranked = chain.from_iterable(map(_rank, _select(trace, Retrieved)))
    worst_first = sorted(ranked, key=itemgetter(1), reverse=True)
    best = dict(worst_first)
    cited = find_cited(trace)
    places = sorted(best, key=best.__getitem__)
    found = map(Found, (best[each] for each in places), map(cited.get, places))
    return dict(zip(places, found, strict=True))


def _rank(search: Retrieved) -> Iterable[tuple[Place, int]]:
    return zip(map(place_of, search.hits), count(1), strict=False)


# What a step did


@dataclass(frozen=True, slots=True)
class _Done:
    """A step, and what is compared of it."""

    span: Span
    told: Mapping[str, Any]
    served: bool = False
    """Whether it was taken over from another run, whichever model is named."""

    @property
    def key(self) -> tuple[Hashable, Hashable]:
        """What it is like: its agent and kind; and what it is: all that it did."""
        like = (self.span.lane, self.span.kind)
        whole = json.dumps(self.told, sort_keys=True, default=str)
        return like, (like, whole)


def _read_steps(trace: Trace) -> list[_Done]:
    """In the order in which they were told: what was taken over is told with the time that it took
    once, and would seem to begin before what it follows. Embeddings are left out: a look-up that
    is taken over needs none, and what it found is compared.
    """
    there = filterfalse(_is_embedding, trace.spans[1:])
    spans = sorted(there, key=attrgetter("seq"))
    heard = list(map(trace.events_of, spans))
    return list(map(_Done, spans, map(_tell, heard), map(_is_served, heard)))


def _is_embedding(span: Span) -> bool:
    return span.kind == "embedding"


def _is_served(heard: Sequence[Event]) -> bool:
    return any(getattr(event, "replayed", False) for event in heard)


def _pair_steps(first: _Done | None, second: _Done | None) -> StepPair:
    if first is None or second is None:
        return StepPair(getattr(first, "span", None), getattr(second, "span", None))
    facts = _pair(first.told, second.told)
    if first.served or second.served:
        facts = [fact for fact in facts if fact.name != "model"]
    differs = filterfalse(attrgetter("is_same"), facts)
    return StepPair(first.span, second.span, tuple(differs))


def _tell(heard: Sequence[Event]) -> dict[str, Any]:
    """What is compared of the events of a step."""
    told: dict[str, Any] = {}
    for event in heard:
        fields = _TOLD.get(type(event), {})
        values = map(partial(getattr, event), fields.values())
        told.update(zip(fields, values, strict=True))
    if "passages" in told:
        told["passages"] = list(map(_name_hit, told["passages"]))
    return told


def _name_hit(hit: Mapping[str, Any]) -> str:
    _, start, end = place_of(hit)
    return f"{hit.get('document')} {start}-{end}"


_TOLD: dict[type[Any], Mapping[str, str]] = {
    ModelCalled: {"model": "model", "request": "asked"},
    events.ModelReplied: {"reply": "text", "status": "status", "error": "error"},
    events.ToolCalled: {"tool": "name", "arguments": "arguments"},
    events.ToolReturned: {"well": "ok", "result": "content"},
    events.CodeRan: {"code": "code", "exit code": "exit_code", "output": "output"},
    events.CodeBegan: {"code": "code"},
    Retrieved: {
        "query": "query",
        "collection": "collection",
        "mode": "mode",
        "passages": "hits",
    },
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
