"""Steps whose tools may change something: asked about, and not run on what failed."""

from __future__ import annotations

import functools
import threading
from typing import Any

import pytest

from agentkit.agents.rewoo import (
    ActionExecutor,
    BaseAction,
    Evidence,
    FunctionAction,
    Plan,
    Refusal,
    ReWOO,
    Step,
    execute,
    tool_api,
)
from agentkit.agents.rewoo.inputs import Arguments
from agentkit.core import stopping
from agentkit.core.tools import Effects, effects, effects_of
from agentkit.errors import WrongArgument, WrongType


@effects("none")
def look(name: str) -> str:
    """Look a name up."""
    if name == "nobody":
        raise LookupError("no such person")
    return f"{name}@example.org"


class Post:
    """Where mails are sent from."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def send(self, to: str) -> str:
        """Send a mail."""
        self.sent.append(to)
        return f"sent to {to}"


PLAN = Plan((Step("#E1", "find", "look", "nobody"), Step("#E2", "send", "send", "#E1")))


def run(plan: Plan, post: Post, **options: Any) -> dict[str, Evidence]:
    agent = ReWOO(lambda messages: "Done.", ActionExecutor([look, post.send]), **options)
    return agent.run(plan, "Write to them.").nodes or {}


def test_a_step_with_effects_does_not_run_on_what_failed() -> None:
    post = Post()
    made = run(PLAN, post)["#E2"]
    assert post.sent == []
    assert (made.ok, made.text, made.attempts) == (
        False,
        "[failed: not run, because #E1 failed]",
        0,
    )


def test_it_runs_when_the_plan_says_so() -> None:
    post = Post()
    steps = PLAN.to_json()["steps"]
    plan = Plan.from_json({"steps": [steps[0], {**steps[1], "anyway": True}]})
    assert run(plan, post)["#E2"].ok
    assert post.sent == ["[failed: no such person]"]
    assert Plan.from_json(plan.to_json()) == plan
    with pytest.raises(WrongArgument, match="#E2: anyway is true or false"):
        Plan.from_json({"steps": [steps[0], {**steps[1], "anyway": "yes"}]})


def test_what_depends_on_a_step_that_did_not_run_does_not_run_either() -> None:
    post = Post()
    plan = Plan((*PLAN.steps, Step("#E3", "tell", "send", "#E2")))
    assert run(plan, post)["#E3"].error == "not run, because #E2 failed"
    assert post.sent == []


def test_only_calls_with_effects_are_looked_at() -> None:
    post, seen = Post(), list[tuple[str, Arguments]]()

    def approve(tool: str, arguments: Arguments) -> Arguments:
        seen.append((tool, arguments))
        return "boss@example.org"

    plan = Plan((Step("#E1", "", "look", "Ann"), Step("#E2", "", "send", "#E1")))
    made = run(plan, post, approve=approve)["#E2"]
    assert seen == [("send", "Ann@example.org")]
    assert (post.sent, made.arguments) == (["boss@example.org"], "boss@example.org")


def test_a_refusal_is_evidence_and_is_not_tried_again() -> None:
    post, asked = Post(), list[str]()

    def refuse(tool: str, arguments: Arguments) -> Refusal:
        asked.append(tool)
        return Refusal("not on a Sunday")

    plan = Plan((Step("#E1", "", "send", "Ann"),))
    made = run(plan, post, approve=refuse, retries=3)["#E1"]
    assert (post.sent, asked) == ([], ["send"])
    assert (made.ok, made.error) == (False, "not on a Sunday")


def test_the_time_of_a_step_begins_when_it_may_run() -> None:
    may = threading.Event()

    def approve(tool: str, arguments: Arguments) -> Arguments:
        if tool == "slow":
            may.wait(60)
        return arguments

    def call(tool: str, arguments: Arguments) -> str:
        if tool == "late":
            stopping.current().wait(60)  # until it is told to stop, as it takes too long
        return "ok"

    plan = Plan((Step("#E1", "", "slow"), Step("#E2", "", "late")))
    found: dict[str, Evidence] = {}
    work = threading.Thread(
        target=lambda: found.update(execute(plan, call, timeout_s=0.1, approve=approve))
    )
    work.start()
    work.join(0.5)
    assert work.is_alive()
    may.set()
    work.join(60)
    assert (found["#E1"].ok, found["#E2"].error) == (True, "no result within 0.1 s")


def test_an_approved_call_is_not_asked_about_again_when_it_is_tried_again() -> None:
    asked, calls = list[str](), list[Arguments]()

    def approve(tool: str, arguments: Arguments) -> Arguments:
        asked.append(tool)
        return "changed"

    def call(tool: str, arguments: Arguments) -> str:
        calls.append(arguments)
        if len(calls) < 3:
            raise OSError("busy")
        return "ok"

    execute(Plan((Step("#E1", "", "t", "x"),)), call, retries=2, approve=approve)
    assert (asked, calls) == (["t"], ["changed"] * 3)


def test_every_way_to_declare_it() -> None:
    class Harmless(BaseAction):
        """Looks."""

        effects = "none"

        def run(self, text: str) -> str:
            """Look."""
            return text

    class Kit(BaseAction):
        """Looks and sends."""

        @tool_api
        @effects("none")
        def look(self, text: str) -> str:
            """Look."""
            return text

        @tool_api
        def send(self, text: str) -> str:
            """Send."""
            return text

    executor = ActionExecutor([Harmless(), Kit(), FunctionAction(look, "lookup"), Post().send])
    names = ("Harmless", "Kit.look", "Kit.send", "lookup", "send", "nothing")
    found: list[Effects] = [executor.effects_of(name) for name in names]
    assert found == ["none", "none", "some", "none", "some", "none"]
    assert effects_of(functools.partial(look, "Ann")) == "none"


def test_another_word_is_refused() -> None:
    with pytest.raises(WrongArgument, match='"none" or "some", not \'maybe\''):
        effects("maybe")  # type: ignore[arg-type]
    with pytest.raises(WrongType, match="approve must be a function"):
        ReWOO(lambda messages: "", ActionExecutor([look]), approve=3)  # type: ignore[arg-type]
