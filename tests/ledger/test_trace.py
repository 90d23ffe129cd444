"""Stored events read as spans: a tree in time, whatever the events are like."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from agentkit.events import (
    CallStatus,
    Cell,
    CodeBegan,
    CodeRan,
    Compressed,
    DocumentDone,
    Event,
    HumanAnswered,
    HumanInputRequested,
    LimitTold,
    MessageSent,
    ModelCalled,
    ModelReplied,
    PlanMade,
    Recorded,
    ReplyParsed,
    Retrieved,
    RunFailed,
    RunFinished,
    RunStarted,
    RunStopped,
    SpeakerSelected,
    StepDone,
    ToolCalled,
    ToolReturned,
    Unknown,
    Usage,
)
from agentkit.ledger.spans import ROOT, TOLERANCE_S, Span, Trace
from agentkit.ledger.trace import build_trace


def record(*told: tuple[float, Event]) -> list[Recorded]:
    return [Recorded(seq, at, event) for seq, (at, event) in enumerate(told, start=1)]


def called(call: str, agent: str = "Writer") -> ModelCalled:
    return ModelCalled(call, agent, "server", "small")


def replied(
    call: str, cost: float | None = 0.5, agent: str = "Writer", attempt: int = 1
) -> ModelReplied:
    usage = Usage(input=10, output=5)
    status: CallStatus = "ok" if cost is not None else "failed"
    return ModelReplied(
        call, agent, "server", "small", usage=usage, cost=cost, attempt=attempt, status=status
    )


def retrieved(query: str, seconds: float) -> Retrieved:
    return Retrieved(query, "Documents", "hybrid", [], seconds)


def names(trace: Trace) -> list[tuple[int, str, str]]:
    return [(span.depth, span.kind, span.name) for span in trace.spans]


def test_what_happens_within_a_tool_stands_below_it_and_has_its_lane() -> None:
    trace = build_trace(
        record(
            (0.0, RunStarted("chat", "How long?")),
            (1.0, called("a")),
            (3.0, replied("a")),
            (3.1, ToolCalled("t", "Reader", "search", "{}")),
            (5.0, retrieved("how long", 1.5)),
            (5.2, ToolReturned("t", "Reader", "search", True, "41 months")),
            (6.0, RunFinished()),
        )
    )
    assert names(trace) == [
        (0, "run", "How long?"),
        (1, "model", "small"),
        (1, "tool", "search"),
        (2, "search", "how long"),
    ]
    assert [span.lane for span in trace.spans] == ["", "Writer", "Reader", "Reader"]
    assert trace.lanes == ("Writer", "Reader")
    assert trace.problems == ()
    root = trace.run
    assert (root.status, root.tokens, root.cost, root.key) == ("ok", 15, 0.5, "chat")
    assert trace.find("t") is trace.find("4")
    assert trace.find("") is None
    assert [span.kind for span in trace.spans if 5 in span.seqs] == ["search"]


def test_a_look_up_that_is_told_late_holds_the_embedding_that_it_began_with() -> None:
    told = record(
        (0.0, RunStarted("chat", "How long?")),
        (1.0, ModelCalled("e", "", "server", "minilm", "embedding")),
        (1.1, replace(replied("e", agent=""), purpose="embedding")),
        (3.0, replace(retrieved("how long", 0.5), began=0.75)),
        (3.5, RunFinished()),
    )
    trace = build_trace(told)
    assert [kind for _, kind, _ in names(trace)] == ["run", "search", "embedding"]
    assert (trace.spans[1].start, trace.spans[1].end) == (0.75, 1.25)
    assert trace.problems == ()


def test_the_critical_path_takes_the_slower_of_two_parallel_steps() -> None:
    plan = PlanMade("Planner", "p", 1, [])
    trace = build_trace(
        record(
            (0.0, RunStarted("chat")),
            (1.0, plan),
            (3.0, StepDone("Planner", "p", "#E1", "search", "a", True, "x", seconds=2.0)),
            (5.0, StepDone("Planner", "p", "#E2", "search", "b", True, "y", seconds=4.0)),
            (5.0, called("a")),
            (7.0, replied("a")),
            (7.0, RunFinished()),
        )
    )
    critical = {span.name for span in trace.spans if span.critical}
    assert critical == {"", "1", "#E2 search", "small"}
    assert trace.critical_s() == {"run": 1.0, "plan": 0.0, "step": 4.0, "model": 2.0}


def test_parallel_steps_stand_beside_each_other_with_what_each_did() -> None:
    """Of two look-ups at the same time each stands in the tool that was given its query."""
    plan = {"label": "#E1", "tool": "search", "arguments": '{"query": "tée"}'}
    trace = build_trace(
        record(
            (0.0, RunStarted("chat", "q")),
            (1.0, PlanMade("Planner", "p", 1, [plan, plan])),
            (2.0, ToolCalled("one", "Planner", "search", '{"query": "tée"}')),
            (2.1, ToolCalled("two", "Planner", "search", '{"query": "rivers"}')),
            (2.9, Retrieved("tée", "Kitchen", "hybrid", [], 0.5)),
            (3.0, Retrieved("rivers", "Kitchen", "hybrid", [], 0.5)),
            (3.1, ToolReturned("two", "Planner", "search", True, "", 1.0)),
            (3.1, StepDone("Planner", "p", "#E2", "search", '{"query": "rivers"}', True, "", 1.0)),
            (3.2, ToolReturned("one", "Planner", "search", True, "", 1.2)),
            (3.2, StepDone("Planner", "p", "#E1", "search", '{"query": "tée"}', True, "", 1.2)),
            (4.0, RunFinished()),
        )
    )
    tree = [(span.depth, span.kind, span.name) for span in trace.spans[2:]]
    assert tree == [
        (2, "step", "#E1 search"),
        (3, "tool", "search"),
        (4, "search", "tée"),
        (2, "step", "#E2 search"),
        (3, "tool", "search"),
        (4, "search", "rivers"),
    ]


def test_all_attempts_of_a_call_are_one_span_with_what_they_took_together() -> None:
    trace = build_trace(
        record(
            (0.0, RunStarted("chat")),
            (1.0, called("a")),
            (2.0, replied("a", None)),
            (3.0, called("a")),
            (4.0, replied("a", 0.25, attempt=2)),
            (5.0, RunFailed("no more", "ModelError")),
        )
    )
    (call,) = trace.spans[1:]
    assert (call.start, call.end, call.attempts, call.status) == (1.0, 4.0, 2, "ok")
    assert (call.tokens, call.cost, call.unpriced, call.seqs) == (30, 0.25, True, (2, 3, 4, 5))
    assert trace.run.status == "failed"


def test_what_has_no_end_is_open_and_told() -> None:
    trace = build_trace(
        record(
            (0.0, RunStarted("chat")),
            (1.0, HumanInputRequested("r", "Writer", "May it run?\nprint(1)")),
            (2.0, called("a")),
            (4.0, RunStopped()),
        )
    )
    assert [(span.name, span.status, span.end) for span in trace.spans[1:]] == [
        ("May it run?", "open", 4.0),
        ("small", "open", 4.0),
    ]
    assert [(one.kind, one.seq) for one in trace.problems] == [("no end", 2), ("no end", 3)]
    going_on = build_trace(record((0.0, RunStarted("chat")), (1.0, called("a"))))
    assert going_on.run.status == "open"
    assert [(one.kind, one.seq) for one in going_on.problems] == [("no end", ROOT)]


def test_ends_without_a_beginning_unknown_kinds_and_an_odd_order_are_told() -> None:
    events = record(
        (9.0, replied("a")),
        (5.0, Unknown("Dreamt", {"of": "sheep"})),
        (10.0, RunFinished()),
    )
    trace = build_trace([events[2], events[0], events[1], events[1]])
    assert [(one.kind, one.seq) for one in trace.problems] == [
        ("order", 1),
        ("order", 2),
        ("twice", 2),
        ("no begin", 1),
        ("clock", 2),
        ("unknown", 2),
        ("no start", 1),
    ]
    assert sorted(span.kind for span in trace.spans) == ["model", "run", "unknown"]
    assert [one.kind for one in build_trace([]).problems] == ["no start"]


def test_a_cell_of_a_kernel_is_one_span() -> None:
    cell = Cell("c", "ok")
    trace = build_trace(
        record(
            (0.0, RunStarted("chat")),
            (1.0, CodeBegan("c", "Runner", "python", "1")),
            (3.0, CodeRan("Runner", "python", "1", 0, "1", seconds=2.0, cell=cell)),
            (4.0, CodeRan("Runner", "sh", "ls", 1, "no", seconds=0.5)),
            (5.0, RunFinished()),
        )
    )
    assert [(span.name, span.seconds, span.status) for span in trace.spans[1:]] == [
        ("python", 2.0, "ok"),
        ("sh", 0.5, "failed"),
    ]


def test_everything_is_json_with_the_events_of_each_span() -> None:
    events = record((0.0, RunStarted("chat")), (1.0, called("a")), (2.0, replied("a")))
    found = json.loads(json.dumps(build_trace(events).to_json()))
    call = found["spans"][1]
    assert [one["kind"] for one in call["events"]] == ["ModelCalled", "ModelReplied"]
    assert call["seconds"] == 1.0
    assert found["problems"] == [{"kind": "no end", "seq": 0, "what": ""}]


IDS = st.sampled_from("abc")
AGENTS = st.sampled_from(["", "Ann", "Bob"])
SECONDS = st.floats(-1, 50)
EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.builds(RunStarted, st.sampled_from(["", "chat"])),
    st.builds(called, IDS, AGENTS),
    st.builds(
        ModelReplied,
        IDS,
        AGENTS,
        st.just("server"),
        st.just("small"),
        usage=st.builds(Usage, input=st.integers(0, 9), output=st.integers(0, 9)),
        cost=st.none() | st.floats(0, 1),
        seconds=SECONDS,
    ),
    st.builds(ToolCalled, IDS, AGENTS, st.just("search"), st.just("{}")),
    st.builds(
        ToolReturned, IDS, AGENTS, st.just("search"), st.booleans(), st.just(""), seconds=SECONDS
    ),
    st.builds(retrieved, st.text(max_size=3), SECONDS),
    st.builds(PlanMade, AGENTS, IDS, st.integers(1, 3), error=st.sampled_from(["", "no"])),
    st.builds(
        StepDone,
        AGENTS,
        IDS,
        IDS,
        st.just("search"),
        st.just(""),
        st.booleans(),
        st.just(""),
        seconds=SECONDS,
    ),
    st.builds(CodeBegan, IDS, AGENTS, st.just("python"), st.just("1")),
    st.builds(
        CodeRan,
        AGENTS,
        st.just("python"),
        st.just("1"),
        st.integers(0, 1),
        st.just(""),
        seconds=SECONDS,
        cell=st.none() | st.builds(Cell, IDS, st.just("ok")),
    ),
    st.builds(HumanInputRequested, IDS, AGENTS, st.text(max_size=3)),
    st.builds(HumanAnswered, st.sampled_from(["", "a", "b"]), st.text(max_size=3)),
    st.builds(
        Compressed,
        AGENTS,
        st.just("window"),
        st.booleans(),
        st.just(4),
        st.just(2),
        st.just(9),
        st.just(4),
        seconds=SECONDS,
    ),
    st.builds(MessageSent, IDS, st.none(), AGENTS, AGENTS, st.just("user"), st.text(max_size=3)),
    st.builds(SpeakerSelected, AGENTS, AGENTS, st.just("auto"), st.just(1)),
    st.builds(ReplyParsed, AGENTS, st.just("json"), st.just(1), st.booleans()),
    st.builds(LimitTold, AGENTS, st.just("run"), st.just("tokens"), st.just(1.0), st.just(2.0)),
    st.builds(DocumentDone, IDS, IDS, st.just("indexed"), seconds=SECONDS),
    st.builds(Unknown, IDS),
    st.just(RunFinished()),
    st.just(RunStopped()),
)
STORED = st.lists(
    st.builds(Recorded, st.integers(1, 60), st.floats(0, 100), EVENTS), max_size=40
) | st.lists(EVENTS, max_size=40).map(
    lambda told: record(*((float(at), event) for at, event in enumerate(told)))
)


@given(STORED)
def test_whatever_is_stored_the_spans_are_a_tree_in_time(stored: list[Recorded]) -> None:
    trace = build_trace(stored)
    by_seq: dict[int, Span] = {}
    for span in trace.spans:
        assert span.start <= span.end
        if by_seq:  # its holder has come before it, holds it, and is one level up
            holder = by_seq[span.parent]
            assert holder.start - TOLERANCE_S <= span.start
            assert span.end <= holder.end + TOLERANCE_S
            assert span.depth == holder.depth + 1
            assert not span.critical or holder.critical
        assert span.seq not in by_seq
        by_seq[span.seq] = span
    assert trace.run.seq == ROOT
    assert set(trace.lanes) == {span.lane for span in trace.spans} - {""}
    seqs = [seq for span in trace.spans for seq in span.seqs]
    assert len(seqs) == len(set(seqs))
    assert set(seqs) <= {one.seq for one in stored}
    json.dumps(trace.to_json())


@given(STORED, st.randoms())
def test_the_order_in_which_events_come_changes_nothing_but_what_is_told(
    stored: Sequence[Recorded], chance: Random
) -> None:
    once = list({one.seq: one for one in stored}.values())
    mixed = [*once]
    chance.shuffle(mixed)
    assert build_trace(mixed).spans == build_trace(sorted(once, key=lambda one: one.seq)).spans


@given(st.lists(st.tuples(SECONDS, SECONDS), min_size=1, max_size=20))
def test_the_seconds_of_the_critical_path_are_those_of_the_run(
    times: list[tuple[float, float]],
) -> None:
    events: list[tuple[float, Event]] = [(-60.0, RunStarted("chat"))]
    events += [(at, retrieved(str(n), took)) for n, (at, took) in enumerate(sorted(times))]
    trace = build_trace(record(*events, (60.0, RunFinished())))
    total = sum(trace.critical_s().values())
    overlap = len(trace.spans) * TOLERANCE_S
    assert abs(total - trace.run.seconds) <= overlap
