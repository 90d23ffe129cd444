"""The plan as data: JSON and back, what cannot run, what depends on what, and evidence put in."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.agents.rewoo import Plan, Step
from agentkit.agents.rewoo.plan import fill
from agentkit.errors import WrongArgument, WrongType

PLAN = Plan(
    (
        Step("#E1", "a", "Search", "x"),
        Step("#E2", "b", "Ask", "#E1"),
        Step("#E3", "c", "Ask", '{"q": "#E2 and #E1"}'),
    )
)


def test_json_round_trip_tells_the_needs() -> None:
    data = json.loads(json.dumps(PLAN.to_json()))
    assert [step["needs"] for step in data["steps"]] == [[], ["#E1"], ["#E2", "#E1"]]
    assert Plan.from_json(data) == PLAN


def test_a_changed_plan_has_the_needs_of_its_new_arguments() -> None:
    data = PLAN.to_json()
    data["steps"][1]["arguments"] = {"q": "nothing"}
    changed = Plan.from_json(data)
    assert (changed.steps[1].needs, changed.steps[1].arguments) == ((), '{"q": "nothing"}')


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ([], "A plan is an object"),
        ({"steps": "x"}, "A plan is an object"),
        ({"steps": ["x"]}, "Step 1 of the plan must be an object"),
        (
            {"steps": [{"label": "E1", "tool": "a"}]},
            "the label 'E1'; write #E and a number, such as #E1",
        ),
        ({"steps": [{"label": "#E1", "tool": " "}]}, "#E1 names no tool"),
        (
            {"steps": [{"label": "#E1", "tool": "a", "arguments": {1, 2}}]},
            "The arguments of #E1 must be a text or JSON values",
        ),
    ],
)
def test_what_is_no_plan_is_refused(data: Any, told: str) -> None:
    with pytest.raises(WrongArgument, match=told):
        Plan.from_json(data)


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([], ["there are no steps"]),
        ([("#E1", "#E9")], ["#E1 refers to #E9, and there is no such step"]),
        ([("#E2", "#E1"), ("#E1", "")], []),  # the order of the list does not matter
        (
            [("#E1", "#E3"), ("#E2", "#E1"), ("#E3", "#E2")],
            ["the steps #E1 -> #E3 -> #E2 -> #E1 wait for one another in a circle"],
        ),
        ([("E1", "")], ["'E1' is not the name of a step; write #E and a number"]),
        ([("#E1", ""), ("#E1", "")], ["#E1 is there twice; give every step a name of its own"]),
    ],
)
def test_problems(steps: list[tuple[str, str]], told: list[str]) -> None:
    assert (
        Plan(tuple(Step(label, "", "Ask", arguments) for label, arguments in steps)).problems(
            ["Ask"]
        )
        == told
    )


def test_a_list_of_steps_is_a_plan_and_arguments_that_are_no_text_are_refused() -> None:
    assert Plan(list(PLAN.steps)) == PLAN  # type: ignore[arg-type]
    assert (
        Plan.from_json({"steps": [{"label": "#E1", "tool": "a", "arguments": None}]})
        .steps[0]
        .arguments
        == ""
    )
    with pytest.raises(
        WrongType, match=r"arguments of #E1 must be a text, not .*Plan\.from_json takes JSON"
    ):
        Step("#E1", "", "a", {"q": "x"})  # type: ignore[arg-type]


def test_unknown_tools_are_told_with_the_known_ones() -> None:
    assert PLAN.problems(["Ask", "Look"]) == [
        "#E1 uses the unknown tool 'Search'",
        "the tools are Ask, Look",
    ]


def test_what_a_step_with_evidence_needs_does_not_matter() -> None:
    assert Plan((Step("#E2", "b", "Ask", "#E1"),)).problems(["Ask"], ["#E2"]) == []


def test_after_is_the_step_and_all_that_lean_on_it() -> None:
    assert PLAN.after("#E2") == {"#E2", "#E3"}
    with pytest.raises(WrongArgument, match="no step '#E7'; its steps are #E1, #E2, #E3"):
        PLAN.after("#E7")


EVIDENCE = {"#E1": "one #E2", "#E2": 'two "quoted"\n{x}', "#E10": "ten"}


@pytest.mark.parametrize(
    ("arguments", "filled"),
    [
        ("#E1", "one #E2"),
        ("#E10 and #E1.", "ten and one #E2."),
        ("#E7", "#E7"),
        ('{"q": "#E2", "n": 3}', {"q": 'two "quoted"\n{x}', "n": 3}),
        ('{"q": "see #E10: #E10"}', {"q": "see ten: ten"}),
        ('{"q": #E2, "r": "#E1"}', {"q": 'two "quoted"\n{x}', "r": "one #E2"}),
        ('["#E10", {"a": ["#E1"]}]', ["ten", {"a": ["one #E2"]}]),
        ('```json\n{"q": "#E10"}\n```', {"q": "ten"}),
        ('{"#E1": 1}', {"#E1": 1}),
        ("{#E10", "{ten"),
        ("3", "3"),
    ],
)
def test_evidence_is_put_in_once(arguments: str, filled: Any) -> None:
    assert fill(arguments, EVIDENCE) == filled


@given(st.text(), st.text())
def test_evidence_stays_as_it_is(first: str, second: str) -> None:
    evidence = {"#E1": first + "#E2", "#E2": second}
    assert fill("a #E1 b #E2", evidence) == f"a {first}#E2 b {second}"
    assert fill('{"a": "#E1", "b": ["#E2"]}', evidence) == {"a": first + "#E2", "b": [second]}
