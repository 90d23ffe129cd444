"""Beginning again with what is known: evidence, texts, failed steps, and what is neither."""

from __future__ import annotations

from typing import Any

import pytest

from agentkit.agents.rewoo import ActionExecutor, Evidence, Plan, ReWOO, Step, execute, still_known
from agentkit.core import bus
from agentkit.core.tools import effects
from agentkit.errors import WrongArgument, WrongType
from agentkit.events import Event, StepDone

PLAN = Plan(
    (
        Step("#E1", "Ann", "search", "Ann"),
        Step("#E2", "Bob", "search", "Bob"),
        Step("#E3", "both", "search", "#E1 #E2"),
    )
)


class Network:
    """Fails for Bob until it is there."""

    def __init__(self) -> None:
        self.there, self.asked = False, list[str]()

    def agent(self) -> ReWOO:
        """With `search`, and a model that answers with what it is told."""

        @effects("none")
        def search(query: str) -> str:
            """Looks something up."""
            self.asked.append(query)
            if query == "Bob" and not self.there:
                raise OSError("no network")
            return f"<{query}>"

        return ReWOO(lambda messages: messages[-1]["content"], ActionExecutor([search]))


def test_a_text_stands_for_the_evidence_of_a_step() -> None:
    network, events = Network(), list[Event]()
    with bus.listening(events.append):
        done = network.agent().run(PLAN, "Who?", known={"#E1": "Ann is tall", "#E2": ""})
    assert network.asked == ["Ann is tall "]
    assert [(action.errmsg, action.format_result()) for action in done.actions[:2]] == [
        (None, "Ann is tall"),
        (None, ""),
    ]
    assert (done.nodes or {})["#E1"] == Evidence("#E1", True, "Ann is tall", attempts=0)
    assert [event.label for event in events if isinstance(event, StepDone)] == ["#E3"]


def test_failed_steps_and_what_needs_them_run_again() -> None:
    network = Network()
    agent = network.agent()
    first = agent.run(PLAN, "Who?")
    assert [label for label, each in (first.nodes or {}).items() if not each.ok] == ["#E2"]
    network.there, network.asked = True, []
    again = agent.run(PLAN, "Who?", known=first.nodes)
    assert network.asked == ["Bob", "<Ann> <Bob>"]
    assert "[failed:" not in again.response
    assert list(still_known(PLAN, first.nodes or {})) == ["#E1"]


def test_a_failure_stays_where_its_text_is_given() -> None:
    network = Network()
    agent = network.agent()
    first = agent.run(PLAN, "Who?").nodes or {}
    network.there, network.asked = True, []
    agent.run(PLAN, "Who?", known={**still_known(PLAN, first), "#E2": first["#E2"].text})
    assert network.asked == ["<Ann> [failed: no network]"]


def test_a_failure_from_outside_of_the_plan_can_only_be_told() -> None:
    failed = Evidence("#E9", False, "[failed: no]", error="no")
    plan = Plan((Step("#E1", "", "t", "see #E9", anyway=True),))
    assert (
        execute(plan, lambda tool, arguments: arguments, known={"#E9": failed})["#E1"].text
        == "see [failed: no]"
    )


def test_one_changed_step_may_be_a_text_and_labels_are_those_under_which_evidence_is_given() -> (
    None
):
    evidence: dict[str, Evidence | str] = {
        "#E1": Evidence("#E7", True, "x"),
        "#E2": "y",
        "#E3": "z",
    }
    assert still_known(PLAN, evidence, "#E2") == {"#E1": Evidence("#E1", True, "x")}


@pytest.mark.parametrize(
    ("known", "error", "told"),
    [
        (
            {"#E1": 3},
            WrongType,
            "What is known of #E1 must be evidence or a text, but it is 3; see Evidence.from_json",
        ),
        ({"#E1": None}, WrongType, "but it is None"),
        ({"E1": "text"}, WrongArgument, "labels such as #E1, but this is given for 'E1'"),
        ({1: "text"}, WrongArgument, "given for 1"),
    ],
)
def test_what_is_no_evidence_is_refused(known: Any, error: type[Exception], told: str) -> None:
    network = Network()
    with pytest.raises(error, match=told):
        network.agent().run(PLAN, "Who?", known=known)
    assert network.asked == []


@pytest.mark.parametrize("data", ["text", {}, {"label": "#E1", "ok": True}])
def test_evidence_that_lacks_something_is_refused(data: Any) -> None:
    with pytest.raises(WrongArgument, match="at least label, ok and text"):
        Evidence.from_json(data)


def test_something_else_than_a_plan_is_refused() -> None:
    with pytest.raises(WrongType, match=r"give a Plan to run, not \{'steps'.*Plan\.from_json"):
        Network().agent().run(PLAN.to_json(), "Who?")  # type: ignore[arg-type]
