"""Two runs beside each other: what differs in settings, plan, passages, answer and steps."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentkit.events import (
    Event,
    MessageSent,
    ModelCalled,
    ModelReplied,
    PlanMade,
    Recorded,
    Retrieved,
    RunFinished,
    RunStarted,
    ToolCalled,
    ToolReturned,
    Unknown,
    Usage,
)
from agentkit.ledger.comparing import Comparison, Found, Side
from agentkit.ledger.queries import RunTotals
from agentkit.ledger.trace import build_trace

BEGAN = datetime(2026, 1, 1, tzinfo=UTC).replace(tzinfo=None)
TOTALS = RunTotals(
    "first", "chat", "How hot?", "finished", "", "chat", BEGAN, BEGAN, 1.0, 1, 15, 0.5
)


def side(*told: Event, run_id: str = "first", **system: str) -> Side:
    recorded = [Recorded(seq, float(seq), event) for seq, event in enumerate(told, start=1)]
    return Side(replace(TOTALS, id=run_id), build_trace(recorded), system)


def say(text: str, role: str, **extra: Any) -> MessageSent:
    who = ("you", "Writer") if role == "user" else ("Writer", "you")
    return MessageSent(f"{role}-{text}", None, *who, role, text, extra=extra)


def call(number: int, text: str, agent: str = "Writer", model: str = "small") -> list[Event]:
    usage, name = Usage(input=10, output=5), f"{agent}-{number}-{text}"
    return [
        ModelCalled(name, agent, "server", model, asked=f"{agent} {number}"),
        ModelReplied(name, agent, "server", model, text=text, usage=usage, cost=0.5),
    ]


def hit(start: int, rank: int) -> dict[str, Any]:
    place = {"document_id": "tea", "start": start, "end": start + 9}
    return {**place, "document": "tea.txt", "rank": rank, "text": "80 degrees", "score": 0.5}


def search(*hits: dict[str, Any], top_k: int = 4) -> Retrieved:
    return Retrieved("tea", "Kitchen", "hybrid", list(hits), 0.1, options={"top_k": top_k})


def test_a_run_is_equal_to_itself() -> None:
    one = side(
        *(RunStarted("chat"), say("How hot?", "user", team_id="answer"), search(hit(0, 1))),
        *call(1, "80"),
        *(say("80", "assistant"), RunFinished()),
    )
    found = Comparison(one, one)
    assert found.first_difference is None
    assert all(fact.is_same for fact in [*found.settings, *found.took, *found.plan])
    assert all(pair.is_same for pair in found.passages)
    assert all(pair.is_same for pair in found.steps)
    assert [piece.how for piece in found.answer] == ["same"]


def test_settings_that_differ_are_named() -> None:
    asked = say("How hot?", "user", team_id="answer", max_tokens=100, instructions="Be short.")
    again = replace(asked, extra={**asked.extra, "instructions": "Be long.", "repeat": REPEAT})
    found = Comparison(
        side(asked, search(top_k=4), *call(1, "80"), Writer="You write."),
        side(again, search(top_k=8), *call(1, "80", model="big"), Writer="You write well."),
    )
    differing = {
        fact.name: (fact.first, fact.second) for fact in found.settings if not fact.is_same
    }
    assert differing == {
        "models": (["small"], ["big"]),
        "instructions": ("Be short.", "Be long."),
        "again: from_step": (None, 2),
        "search: top_k": (4, 8),
        "system: Writer": ("You write.", "You write well."),
    }
    assert [fact.first for fact in found.settings if fact.name == "max_tokens"] == [100]


REPEAT = {"run_id": "first", "from_step": 2}


def test_passages_are_told_by_rank_and_citation() -> None:
    cited = say("80", "assistant", citations=[{**hit(0, 1), "marker": 1}])
    first = side(search(hit(0, 1), hit(10, 2), hit(20, 3)), cited)
    second = side(search(hit(0, 1), hit(10, 2)), search(hit(10, 1), hit(30, 2)))
    pairs = {
        one.hit["start"]: (one.first, one.second) for one in Comparison(first, second).passages
    }
    assert pairs == {
        0: (Found(1, 1), Found(1)),
        10: (Found(2), Found(1)),
        20: (Found(3), None),
        30: (None, Found(2)),
    }


def test_a_search_that_is_taken_over_stays_behind_the_question() -> None:
    asked = say("How hot?", "user")
    slow = replace(search(hit(0, 1)), seconds=3.0)
    first, second = (
        side(asked, *call(1, "80"), slow),
        side(asked, *call(1, "80"), search(hit(0, 1))),
    )
    assert [pair.is_same for pair in Comparison(first, second).steps] == [True, True, True]


def test_plans_are_told_by_label() -> None:
    step = {"label": "#E1", "thought": "Look", "tool": "search", "arguments": "tea"}
    failed = PlanMade("Planner", "p", 1, [], "it has no step")
    first = side(failed, PlanMade("Planner", "p", 2, [step]))
    second = side(PlanMade("Planner", "q", 1, [step, {**step, "label": "#E2"}]))
    assert [(one.name, one.is_same) for one in Comparison(first, second).plan] == [
        ("#E1", True),
        ("#E2", False),
    ]


def test_a_group_from_its_second_call_on_differs_there() -> None:
    first = side(RunStarted("chat"), *call(1, "80"), *call(2, "fine", "Critic"))
    again = RunStarted("chat", repeats="first", from_step=2)
    later = call(2, "wrong", "Critic", "big")
    second = side(again, *call(1, "80"), *later, *call(3, "95"), run_id="second")
    found = Comparison(first, second)
    assert [pair.is_same for pair in found.steps] == [True, False, False]
    pair = found.first_difference
    assert pair is not None
    assert [fact.name for fact in pair.differs] == ["model", "reply"]
    assert (found.steps[2].first, found.steps[2].differs) == (None, ())
    assert found.difference_too_early is None
    called, replied = call(1, "80", model="big")
    assert isinstance(replied, ModelReplied)
    served = called, replace(replied, replayed=True)
    assert Comparison(first, side(again, *served, run_id="second")).steps[0].is_same
    early = Comparison(first, side(again, *call(1, "95"), *later, run_id="second"))
    assert early.difference_too_early is early.steps[0]
    assert Comparison(first, first).difference_too_early is None


def test_tools_are_paired_in_their_lane_and_results_compared() -> None:
    def use(call_id: str, agent: str, result: str) -> list[Event]:
        called = ToolCalled(call_id, agent, "book", '{"place": "Riga"}')
        return [called, ToolReturned(call_id, agent, "book", True, result)]

    first = side(*use("a", "Reader", "booked"), *use("b", "Writer", "booked"))
    second = side(*use("c", "Writer", "full"), *use("d", "Critic", "booked"))
    found = [
        (one.first.lane if one.first else "", one.second.lane if one.second else "")
        for one in Comparison(first, second).steps
    ]
    assert found == [("Reader", ""), ("Writer", "Writer"), ("", "Critic")]
    told = Comparison(first, second).to_json()["steps"][1]
    assert told["differs"] == [{"name": "result", "first": "booked", "second": "full"}]


def test_runs_that_are_odd_are_compared_all_the_same() -> None:
    newer, nothing = side(Unknown("Dreamt", {"of": "tea"}), *call(1, "80")[:1]), side()
    found = Comparison(newer, nothing)
    assert [pair.second for pair in found.steps] == [None, None]
    assert found.answer == []
    assert Comparison(nothing, nothing).first_difference is None
    found.to_json()


agents = st.sampled_from(["Writer", "Critic"])
calls = st.lists(st.tuples(agents, st.sampled_from(["80", "95"])), max_size=12)


@given(calls, calls)
def test_steps_keep_the_order_of_both_runs(
    first: list[tuple[str, str]], second: list[tuple[str, str]]
) -> None:
    def make(talk: list[tuple[str, str]]) -> Side:
        told = [call(place, text, agent) for place, (agent, text) in enumerate(talk)]
        return side(*(event for events in told for event in events))

    one, other = make(first), make(second)
    steps = Comparison(one, other).steps
    assert [pair.first for pair in steps if pair.first] == list(one.trace.spans[1:])
    assert [pair.second for pair in steps if pair.second] == list(other.trace.spans[1:])
    both = [(pair.first, pair.second) for pair in steps if pair.first and pair.second]
    assert all(before.lane == after.lane for before, after in both)
    assert (first == second) == all(pair.is_same for pair in steps)
