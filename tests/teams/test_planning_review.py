"""Plans that are seen before they run: approved, changed, refused, checked, estimated; limits and
languages.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.agents.rewoo import Plan, Step
from agentkit.errors import AgentkitError, WrongArgument
from agentkit.events import HumanInputRequested, ModelCalled, PlanMade, StepDone
from agentkit.llm.calls.scripted import scripted_model
from agentkit.llm.connections.config import offline_model
from agentkit.teams.planning.review import (
    Estimate,
    Proposal,
    count_lookups,
    list_steps,
    write_change,
)
from agentkit.teams.planning_settings import Planning
from tests.teams.stage import DANUBE, VOLGA, Played, asked, play

TWO = (
    "Plan: the Danube\n#E1 = search_documents[Danube]\nPlan: the Volga\n#E2 ="
    " search_documents[Volga]"
)
SEEN = Planning(seen_first=True)
TOOLS = ("search_documents", "read_result", "calculate")


def done(played: Played) -> list[str]:
    return [step.label for step in played.of(StepDone)]


def shown(request: HumanInputRequested) -> list[str]:
    return [step.arguments for step in Proposal.from_draft(request.draft).plan.steps]


def step(label: str, tool: str, arguments: str) -> dict[str, str]:
    return {"label": label, "thought": "", "tool": tool, "arguments": arguments}


def test_nothing_runs_before_the_plan_is_agreed_to() -> None:
    ran: list[int] = []

    def watch(event: Any, run: Any) -> None:
        if isinstance(event, HumanInputRequested):
            ran.extend(isinstance(one.event, StepDone) for one in run.events())

    played = play(
        "plan",
        scripted_model([TWO, "Long [1]."]),
        planning=SEEN,
        answers=["approve"],
        on_event=watch,
    )
    (question,) = played.questions
    assert (question.agent, question.language) == ("Planner", "plan")
    assert question.options == ["approve", "edit", "reject"]
    assert not any(ran)
    assert sorted(done(played)) == ["#E1", "#E2"]


def test_a_changed_plan_runs_and_stands_in_the_events() -> None:
    change = write_change([step("#E2", "search_documents", "Volga")])
    model = scripted_model([TWO, "The Volga [1]."])
    played = play("plan", model, planning=SEEN, answers=[change])
    assert done(played) == ["#E2"]
    first, second = played.of(PlanMade)
    assert (first.plan_id, len(first.steps)) == (second.plan_id, 2)
    assert [one["label"] for one in second.steps] == ["#E2"]
    told = asked(model)[1][-1]["content"]
    assert VOLGA in told
    assert DANUBE not in told


def test_a_change_that_cannot_run_is_asked_about_again_and_nothing_runs() -> None:
    for change, problem in (
        (write_change([step("#E1", "calculate", "#E7 + 1")]), "no such step"),
        (write_change([step("#E1", "web_search", "Danube")]), "unknown tool"),
        (write_change([]), "no steps"),
        ("edit\nno plan at all", "not JSON"),
        ("edit\n[]", "A plan is an object"),
    ):
        played = play(
            "plan",
            scripted_model([TWO, "Long [1]."]),
            planning=SEEN,
            answers=[change, write_change([step("#E1", "search_documents", "Danube")])],
        )
        _, second = played.questions
        assert problem in second.prompt
        assert done(played) == ["#E1"]


def test_another_plan_is_made_with_what_the_person_says() -> None:
    other = "Plan: the Volga\n#E1 = search_documents[Volga]"
    model = scripted_model([TWO, other, "The Volga [1]."])
    played = play("plan", model, planning=SEEN, answers=["reject\nonly the Volga", "approve"])
    assert [shown(question) for question in played.questions] == [["Danube", "Volga"], ["Volga"]]
    assert "only the Volga" in asked(model)[1][-1]["content"]
    assert done(played) == ["#E1"]
    refused = [made for made in played.of(PlanMade) if made.error]
    assert len(refused) == 1


def test_a_refusal_without_a_reason_is_told_so() -> None:
    model = scripted_model([TWO, TWO, "Long [1]."])
    play("plan", model, planning=SEEN, answers=["reject", "approve"])
    assert "gives no reason" in asked(model)[1][-1]["content"]


def test_nobody_in_time_means_that_nothing_runs() -> None:
    played = play("plan", scripted_model([TWO]), planning=SEEN, answer_s=0.01)
    assert isinstance(played.error, AgentkitError)
    assert "Nobody said within 0.01 seconds" in str(played.error)
    assert not done(played)


def test_a_plan_that_is_made_anew_is_seen_too_with_what_is_known() -> None:
    plan = "Plan: find it\n#E1 = search_documents[Danube]\nPlan: half\n#E2 = calculate[half of it]"
    again = "Plan: half\n#E3 = calculate[2850 / 2]"
    model = scripted_model([plan, again, "1425 km [1]."])
    played = play("plan", model, planning=SEEN, answers=["approve", "approve"])
    second = Proposal.from_draft(played.questions[1].draft)
    assert second.known == ("#E1",)
    assert second.find_problems(Plan((Step("#E4", "", "calculate", "#E1 / 2"),))) == []
    assert sorted(done(played)) == ["#E1", "#E2", "#E3"]


def test_offline_the_look_ups_are_seen_too() -> None:
    question = "How long is the Danube? What is the Volga?"
    change = write_change([step("#E1", "search_documents", "Danube")])
    played = play("plan", offline_model(), question, planning=SEEN, answers=[change])
    assert played.questions[0].options == ["approve", "edit"]
    assert done(played) == ["#E1"]
    refused = play("plan", offline_model(), question, planning=SEEN, answers=["no"])
    assert "no other plan" in str(refused.error)


def test_plans_beyond_a_limit_go_back_to_the_planner() -> None:
    one = "Plan: the Danube\n#E1 = search_documents[Danube]"
    for limits in (Planning(most_steps=1), Planning(most_lookups=1)):
        model = scripted_model([TWO, one, "Long [1]."])
        played = play("plan", model, planning=limits)
        assert "at most 1" in played.of(PlanMade)[0].error.lower()
        assert "t most 1" in asked(model)[0][0]["content"]
        assert done(played) == ["#E1"]


def test_without_replans_a_failed_step_is_told_as_it_is() -> None:
    model = scripted_model(["Plan: sum\n#E1 = calculate[x]", "The documents do not tell."])
    played = play("plan", model, planning=Planning(replans=0))
    assert len(played.of(PlanMade)) == 1


@pytest.mark.parametrize(
    ("question", "planning", "is_chinese"),
    [
        ("多瑙河有多长？", Planning(), True),
        ("How long is the Danube?", Planning(), False),
        ("How long is the Danube?", Planning(language="zh"), True),
        ("多瑙河有多长？", Planning(language="en"), False),
        ("ドナウ川の長さは？", Planning(), False),
    ],
)
def test_all_are_spoken_with_in_one_language(
    question: str, planning: Planning, is_chinese: bool
) -> None:
    plan = "Plan: x\n#E1 = search_documents[Danube]\nPlan: y\n#E2 = read_result[How many km? #E1]"
    model = scripted_model([plan, "2850", "2850 [1]."])
    played = play("plan", model, question, planning=planning)
    assert [called.agent for called in played.of(ModelCalled)] == ["Planner", "Reader", "Solver"]
    planner, reader, solver = asked(model)
    told = [planner[0]["content"], reader[0]["content"], solver[-1]["content"]]
    marks = (
        ("只写计划", "材料不是", "现在请回答") if is_chinese else ("Write the", "Answer the", "Now")
    )
    assert all(mark in text for mark, text in zip(marks, told, strict=True))


@pytest.mark.parametrize(
    "wrong", [{"most_steps": 0}, {"most_lookups": -1}, {"replans": 6}, {"language": "fr"}]
)
def test_settings_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(WrongArgument):
        Planning(**wrong)


def proposal(**limits: Any) -> Proposal:
    plan = Plan((Step("#E1", "find", "search_documents", "tea"),))
    return Proposal(plan, TOOLS, ("#E9",), tokens={"look_up": 1000, "answer": 400}, **limits)


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        ([], "there are no steps"),
        ([("#E1", "calculate", "#E2"), ("#E2", "search_documents", "tea")], "comes later"),
        ([("#E1", "calculate", "#E1 + 1")], "in a circle"),
        ([("#E1", "calculate", "#E3 + 1")], "no such step"),
        ([("#E1", "web", "tea")], "unknown tool"),
        ([("#E1", "search_documents", " ")], "has no input"),
        ([("#E1", "calculate", "1"), ("#E1", "calculate", "2")], "twice"),
    ],
)
def test_what_is_wrong_with_a_changed_plan(steps: list[tuple[str, str, str]], problem: str) -> None:
    plan = Plan(tuple(Step(label, "", tool, given) for label, tool, given in steps))
    assert any(problem in told for told in proposal().find_problems(plan))


def test_limits_are_checked_for_people_too() -> None:
    twice = Plan(tuple(Step(f"#E{n}", "", "search_documents", str(n)) for n in (1, 2)))
    assert proposal().find_problems(twice) == []
    assert len(proposal(most_steps=1, most_lookups=1).find_problems(twice)) == 2


def test_what_a_plan_takes_by_estimate() -> None:
    plan = Plan(
        (
            Step("#E1", "", "search_documents", "tea"),
            Step("#E2", "", "read_result", "degrees? #E1"),
            Step("#E3", "", "calculate", "#E2 / 2"),
        )
    )
    assert proposal().estimate(plan) == Estimate(1, 2, 120 + 1000 + 400 + 1000 + 30 + 30 + 300)


_LABELS = st.integers(1, 6).map(lambda number: f"#E{number}")
_STEPS = st.builds(
    Step,
    _LABELS,
    st.text(max_size=8),
    st.sampled_from([*TOOLS, "web"]),
    st.lists(st.one_of(_LABELS, st.text(max_size=4)), max_size=3).map(" ".join),
)


@given(st.lists(_STEPS, max_size=6))
def test_whatever_a_person_makes_of_a_plan_is_told_or_runs(steps: list[Step]) -> None:
    plan = Plan(tuple(steps))
    made = Proposal.from_draft(Proposal(plan, TOOLS).to_draft())
    assert made.plan == plan
    assert json.loads(write_change(plan.to_json()["steps"]).partition("\n")[2]) == plan.to_json()
    if not made.find_problems(plan):
        seen: set[str] = set()
        for each in plan.steps:
            assert seen.issuperset(each.needs)
            assert each.tool in TOOLS
            seen.add(each.label)
    assert count_lookups(plan) == sum(one.tool == "search_documents" for one in steps)
    assert all(one.label in list_steps(Proposal(plan, TOOLS).to_draft()) for one in steps)
