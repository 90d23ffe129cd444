"""Running plans: order, side by side, timeouts, retries, stops, failures, caches, and beginning
again from a step.
"""

from __future__ import annotations

import contextvars
import threading
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkit import runs
from agentkit.agents.rewoo import (
    ActionReturn,
    ActionStatusCode,
    Evidence,
    Plan,
    Step,
    execute,
    still_known,
)
from agentkit.core import bus, stopping
from agentkit.core.tools import Effects
from agentkit.core.twin import ASYNC
from agentkit.errors import Stopped, WrongArgument
from agentkit.events import Event, StepDone
from tests.timing import processor_time


def harmless(tool: str) -> Effects:
    return "none"


def plan_of(*steps: tuple[str, str, str]) -> Plan:
    return Plan(tuple(Step(label, "", tool, arguments) for label, tool, arguments in steps))


def independent(count: int) -> Plan:
    return plan_of(*((f"#E{n}", "t", str(n)) for n in range(count)))


def echo(tool: str, arguments: Any) -> str:
    return f"{tool}({arguments})"


@st.composite
def graphs(draw: st.DrawFn) -> Plan:
    """Any graph without circles, its steps in any order."""
    count = draw(st.integers(1, 12))
    steps = []
    for n in range(count):
        needs = draw(st.sets(st.integers(0, n - 1), max_size=4)) if n else set()
        steps.append((f"#E{n}", "t", " ".join([str(n), *(f"#E{need}" for need in sorted(needs))])))
    return plan_of(*draw(st.permutations(steps)))


@settings(max_examples=60, deadline=None)
@given(graphs(), st.integers(1, 4), st.sets(st.integers(0, 11), max_size=3))
def test_every_step_runs_once_after_its_needs_and_few_at_once(
    plan: Plan, at_once: int, bad: set[int]
) -> None:
    lock, running, most = threading.Lock(), 0, 0
    begun: list[str] = []
    ended: set[str] = set()
    steps = {step.arguments.split()[0]: step for step in plan.steps}

    def call(tool: str, arguments: Any) -> str:
        nonlocal running, most
        number = arguments.split()[0]
        with lock:
            running, most = running + 1, max(most, running + 1)
            begun.append(number)
            assert all(need in ended for need in steps[number].needs)
        time.sleep(0)
        with lock:
            running -= 1
            ended.add(f"#E{number}")
        if int(number) in bad:
            raise RuntimeError(number)
        return f"<{number}>"

    evidence = execute(plan, call, at_once=at_once, effects=harmless)
    assert sorted(begun, key=int) == [str(n) for n in range(len(plan.steps))]
    assert list(evidence) == list(plan.labels)
    assert {label for label, each in evidence.items() if not each.ok} == {
        f"#E{n}" for n in bad if f"#E{n}" in evidence
    }
    assert most <= at_once
    for step in plan.steps:
        assert all(evidence[need].text in evidence[step.label].arguments for need in step.needs)


def test_independent_steps_run_side_by_side_up_to_the_bound() -> None:
    together = threading.Barrier(4)

    def call(tool: str, arguments: Any) -> str:
        together.wait(60)  # breaks unless four run at once
        return "ok"

    assert all(each.ok for each in execute(independent(4), call, at_once=4).values())


def test_a_step_does_not_wait_for_what_it_does_not_need() -> None:
    late = threading.Event()

    def call(tool: str, arguments: Any) -> str:
        if tool == "slow":
            assert late.wait(60)
        if tool == "last":
            late.set()
        return "ok"

    evidence = execute(
        plan_of(("#E1", "slow", ""), ("#E2", "quick", ""), ("#E3", "last", "#E2")), call
    )
    assert all(each.ok for each in evidence.values())


def test_a_failure_is_evidence_for_those_who_need_it() -> None:
    def call(tool: str, arguments: Any) -> str:
        if tool == "bad":
            raise ValueError("no such page")
        return f"got {arguments}"

    evidence = execute(
        plan_of(("#E1", "bad", "x"), ("#E2", "ask", "see #E1"), ("#E3", "ask", "else")),
        call,
        effects=harmless,
    )
    assert (evidence["#E1"].ok, evidence["#E1"].text, evidence["#E1"].error) == (
        False,
        "[failed: no such page]",
        "no such page",
    )
    assert evidence["#E2"].text == "got see [failed: no such page]"
    assert evidence["#E3"].text == "got else"


@pytest.mark.parametrize(
    ("returned", "text"),
    [
        (ActionReturn(result=[{"type": "text", "content": "a"}]), "a"),
        ({"a": [1]}, '{"a": [1]}'),
        (None, "null"),
        ("é", "é"),
    ],
)
def test_what_a_call_returns_is_evidence_as_text(returned: Any, text: str) -> None:
    made = execute(plan_of(("#E1", "t", "")), lambda tool, arguments: returned)["#E1"]
    assert (made.ok, made.text, made.value) == (True, text, returned)


def test_an_action_that_tells_an_error_has_failed() -> None:
    failing = ActionReturn(errmsg="no", state=ActionStatusCode.API_ERROR)
    assert (
        execute(plan_of(("#E1", "t", "")), lambda tool, arguments: failing)["#E1"].text
        == "[failed: no]"
    )


def test_a_late_step_is_told_to_stop_and_the_others_go_on() -> None:
    told = threading.Event()

    def call(tool: str, arguments: Any) -> str:
        if tool == "slow" and stopping.current().wait(60):
            told.set()
            stopping.check()
        return "ok"

    plan = plan_of(("#E1", "slow", ""), ("#E2", "t", ""), ("#E3", "t", "#E1"))
    evidence = execute(plan, call, timeout_s=0.1, effects=harmless)
    assert evidence["#E1"].text == "[failed: no result within 0.1 s]"
    assert (evidence["#E2"].ok, evidence["#E3"].ok) == (True, True)
    assert told.wait(60)


def test_a_step_that_ignores_everything_is_left_alone() -> None:
    release = threading.Event()

    def call(tool: str, arguments: Any) -> str:
        release.wait(120)
        return "too late"

    evidence = execute(plan_of(("#E1", "t", "")), call, timeout_s=0.05)
    release.set()
    assert evidence["#E1"].ok is False


def test_retries_until_it_works() -> None:
    calls: list[int] = []

    def call(tool: str, arguments: Any) -> str:
        calls.append(1)
        if len(calls) < 3:
            raise OSError("busy")
        return "ok"

    made = execute(plan_of(("#E1", "t", "")), call, retries=2)["#E1"]
    assert (made.ok, made.attempts, len(calls)) == (True, 3, 3)
    assert made.seconds >= 0.3  # as it waited between them


def test_retries_after_a_timeout_and_then_gives_up() -> None:
    calls: list[int] = []

    def call(tool: str, arguments: Any) -> str:
        calls.append(1)
        stopping.current().wait(120)
        return "late"

    made = execute(plan_of(("#E1", "t", "")), call, retries=1, timeout_s=0.05)["#E1"]
    assert (made.ok, made.attempts, len(calls)) == (False, 2, 2)


@pytest.mark.parametrize(
    "problem",
    [
        WrongArgument("no such parameter"),
        ActionReturn(errmsg="bad", state=ActionStatusCode.ARGS_ERROR),
    ],
)
def test_wrong_arguments_are_not_tried_again(problem: Any) -> None:
    calls: list[int] = []

    def call(tool: str, arguments: Any) -> Any:
        calls.append(1)
        if isinstance(problem, Exception):
            raise problem
        return problem

    made = execute(plan_of(("#E1", "t", "")), call, retries=3)["#E1"]
    assert (made.ok, made.attempts, len(calls)) == (False, 1, 1)


def test_a_waiting_retry_holds_no_other_step_up() -> None:
    done: list[str] = []

    def call(tool: str, arguments: Any) -> str:
        done.append(tool)
        if tool == "bad" and done.count("bad") == 1:
            raise OSError("busy")
        return "ok"

    execute(plan_of(("#E1", "bad", ""), ("#E2", "t", "#E3"), ("#E3", "t", "x")), call, retries=1)
    assert done[-1] == "bad"


def test_stop_in_the_middle_ends_at_once_and_reaches_the_steps() -> None:
    begun, told = threading.Event(), threading.Event()

    def call(tool: str, arguments: Any) -> str:
        begun.set()
        if stopping.current().wait(60):
            told.set()
        return "ok"

    run = runs.start(
        lambda: execute(plan_of(("#E1", "t", "a"), ("#E2", "t", "#E1")), call), kind="test"
    )
    assert begun.wait(60)
    run.stop()
    with pytest.raises(Stopped):
        run.result()
    assert told.is_set()


def test_stop_does_not_wait_for_a_step_that_ignores_it() -> None:
    begun, release = threading.Event(), threading.Event()

    def call(tool: str, arguments: Any) -> str:
        begun.set()
        release.wait(120)
        return "ok"

    run = runs.start(lambda: execute(independent(1), call), kind="test")
    assert begun.wait(60)
    run.stop()
    assert run.wait(60), "the step is still at work"
    release.set()


def test_a_tool_that_was_stopped_stops_the_plan() -> None:
    def call(tool: str, arguments: Any) -> str:
        raise Stopped("stopped by the user")

    with pytest.raises(Stopped):
        execute(independent(3), call)


async def _cancelled(plan: Plan, call: Any, begun: threading.Event) -> None:
    import asyncio

    task = asyncio.ensure_future(ASYNC.invoke(execute, plan, call))
    await asyncio.to_thread(begun.wait, 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_from_async_code_a_cancelled_task_stops_the_steps() -> None:
    import asyncio

    begun, told = threading.Event(), threading.Event()

    def call(tool: str, arguments: Any) -> str:
        begun.set()
        if stopping.current().wait(120):
            told.set()
        return "ok"

    asyncio.run(_cancelled(independent(1), call, begun))
    assert told.wait(60)


def test_the_same_call_is_made_once_and_a_failed_one_is_not_kept() -> None:
    calls: list[Any] = []

    def call(tool: str, arguments: Any) -> str:
        calls.append((tool, arguments))
        if tool == "bad" and calls.count((tool, arguments)) == 1:
            raise OSError("down")
        return "ok"

    twice = plan_of(
        ("#E1", "t", '{"a": 1, "b": 2}'),
        ("#E2", "t", '{"b": 2, "a": 1}'),
        ("#E3", "t", '{"a": 1, "b": 2, "c": "#E1"}'),
        ("#E4", "u", '{"a": 1, "b": 2}'),
        ("#E5", "bad", "x"),
        ("#E6", "bad", "x"),
        ("#E7", "t", '{"a": 1, "b": 2}'),
    )
    evidence = execute(twice, call, at_once=3)
    assert [each.cached for each in evidence.values()].count(True) == 3
    assert calls.count(("t", {"a": 1, "b": 2})) == 1
    assert [evidence[label].ok for label in ("#E5", "#E6")] == [False, False]
    cache: dict[str, Evidence] = {}
    execute(plan_of(("#E1", "t", "x")), call, cache=cache)
    again = execute(plan_of(("#E8", "t", "x")), call, cache=cache)["#E8"]
    assert (again.cached, again.attempts, again.text) == (True, 0, "ok")


def test_a_run_begins_again_from_a_changed_step() -> None:
    calls: list[str] = []

    def call(tool: str, arguments: Any) -> str:
        calls.append(f"{tool} {arguments}")
        return f"{tool} {arguments}"

    plan = plan_of(("#E1", "a", "x"), ("#E2", "b", "#E1"), ("#E3", "c", "#E2"), ("#E4", "d", "#E1"))
    first = execute(plan, call)
    stored = {label: Evidence.from_json(each.to_json()) for label, each in first.items()}
    changed = plan_of(
        ("#E1", "a", "x"), ("#E2", "B", "#E1"), ("#E3", "c", "#E2"), ("#E4", "d", "#E1")
    )
    calls.clear()
    second = execute(changed, call, known=still_known(changed, stored, ["#E2"]))
    assert calls == ["B a x", "c B a x"]
    assert second["#E4"] == stored["#E4"]


def test_context_and_events_reach_the_run() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="lost")
    events: list[Event] = []

    def call(tool: str, arguments: Any) -> str:
        return variable.get()

    token = variable.set("there")
    with bus.listening(events.append):
        execute(plan_of(("#E1", "t", ""), ("#E2", "u", "#E1")), call, agent="Ann", plan_id="p")
    variable.reset(token)
    told = [event for event in events if isinstance(event, StepDone)]
    assert [
        (e.agent, e.plan_id, e.label, e.tool, e.arguments, e.ok, e.evidence, e.attempts)
        for e in told
    ] == [
        ("Ann", "p", "#E1", "t", "", True, "there", 1),
        ("Ann", "p", "#E2", "u", "there", True, "there", 1),
    ]


@pytest.mark.parametrize("options", [{"at_once": 0}, {"retries": -1}, {"timeout_s": 0}])
def test_impossible_limits_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(WrongArgument, match="must be"):
        execute(independent(1), echo, **options)


def test_a_plan_that_cannot_run_is_refused() -> None:
    with pytest.raises(WrongArgument, match="no such step"):
        execute(plan_of(("#E1", "t", "#E2")), echo)
    assert execute(Plan(), echo) == {}


def test_many_steps_take_little() -> None:
    with processor_time(5):
        assert len(execute(independent(300), echo)) == 300
