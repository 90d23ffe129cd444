"""Teams of documents that plan first: their prompts, limits, tools and models."""

from __future__ import annotations

from typing import Any

import pytest

from agentkit.core.tools import effects
from agentkit.events import PlanMade, StepDone
from agentkit.llm.calls.scripted import scripted_model
from agentkit.teams.built.document import read_document
from agentkit.teams.built.problems import find_problems
from agentkit.teams.built.team import build_team
from agentkit.teams.planning_settings import Planning
from tests.teams.built import drafts
from tests.teams.stage import DANUBE, Played, asked, play

ONE = "Plan: the Danube\n#E1 = search_documents[Danube]"
TWO = f"{ONE}\nPlan: the Volga\n#E2 = search_documents[Volga]"
ALL = ["search_documents", "find_exact", "read_result", "calculate"]


def planned(draft: dict[str, Any], replies: list[Any], **given: Any) -> tuple[Played, list[Any]]:
    model = scripted_model(replies)
    played = play(build_team(read_document(draft), "my-team:1"), model, **given)
    return played, asked(model)


def told(requests: list[Any], number: int) -> str:
    return str(requests[number][0]["content"])


def test_a_plan_is_carried_out_and_cited() -> None:
    played, requests = planned(drafts.plan(), [ONE, "2,850 km [1]."], find=lambda _: [])
    assert (played.final.sender, played.final.content) == ("Teller", "2,850 km [1].")
    assert [one["text"] for one in played.final.extra["citations"]] == [DANUBE]
    assert [made.agent for made in played.of(PlanMade)] == ["Thinker"]
    assert all(name in told(requests, 0) for name in ALL)


def test_only_what_the_planner_has_can_be_used() -> None:
    draft = drafts.plan(reads_results=False)
    draft["agents"][0] |= {"documents": None}
    script = ["Plan: it\n#E1 = calculate[2*3]", "Six."]
    played, requests = planned(draft, script, find=lambda _: [])
    assert [name for name in ALL if name in told(requests, 0)] == ["calculate"]
    assert [(done.ok, done.evidence) for done in played.of(StepDone)] == [(True, "6")]


def test_without_documents_no_plan_is_no_look_up() -> None:
    draft = drafts.plan(max_turn=1)
    draft["agents"][0] |= {"documents": None}
    played, _ = planned(draft, ["What plan?", "I cannot say."])
    assert played.of(StepDone) == []
    assert played.final.content == "I cannot say."


@pytest.mark.parametrize(
    ("flow", "wanted"),
    [
        ({"prompts": "english"}, "You plan how to answer"),
        ({"prompts": "chinese"}, "你负责规划"),
        ({"prompts": "own", "planner_prompt": "MINE {tool_description}"}, "MINE "),
        ({"most_steps": 3, "most_lookups": 2}, "at most 3 steps"),
    ],
)
def test_prompts_and_limits_are_those_of_the_document(flow: dict[str, Any], wanted: str) -> None:
    _, requests = planned(drafts.plan(**flow), [ONE, "Done."])
    assert wanted in told(requests, 0)


def test_the_solver_is_told_by_an_own_prompt() -> None:
    flow = {"prompts": "own", "planner_prompt": "{tool_description}"}
    own = "ASKED {question} KNOWN {worker_log}"
    _, requests = planned(drafts.plan(**flow, solver_prompt=own), [ONE, "Done."])
    assert requests[1][-1]["content"].startswith("ASKED How long is the Danube? KNOWN ")


def test_a_plan_beyond_the_limits_goes_back() -> None:
    played, _ = planned(drafts.plan(most_lookups=1), [TWO, ONE, "Done."])
    first, second = played.of(PlanMade)
    assert first.error
    assert len(second.steps) == 1


def test_what_the_chat_is_set_to_goes_first() -> None:
    draft = drafts.plan(most_steps=1, replans=0)
    chat = Planning(seen_first=True, most_steps=2)
    played, _ = planned(draft, [TWO, "Done."], planning=chat, answers=["approve"])
    assert [question.agent for question in played.questions] == ["Thinker"]
    assert len(played.of(StepDone)) == 2


def test_it_is_planned_anew_as_often_as_the_document_says() -> None:
    @effects("none")
    def broken() -> str:
        """Never works."""
        raise ValueError("no")

    failing = "Plan: try\n#E1 = broken[]"
    script = [failing, failing.replace("E1", "E2"), failing.replace("E1", "E3"), "No."]
    draft = drafts.plan(replans=2)
    draft["agents"][0]["tools"] = [{"name": "broken"}]
    played, requests = planned(draft, script, tools=[broken])
    assert len(played.of(PlanMade)) == 3
    assert len(requests) == 4


@pytest.mark.parametrize(("approval", "questions"), [("never", 0), ("first", 1), ("always", 2)])
def test_tools_ask_as_the_document_says(approval: str, questions: int) -> None:
    done: list[int] = []

    @effects("some")
    def send(amount: int) -> str:
        """Send money."""
        done.append(amount)
        return "sent"

    draft = drafts.plan(at_once=1)
    draft["agents"][0]["tools"] = [{"name": "send", "approval": approval}]
    script = ["Plan: a\n#E1 = send[5]\nPlan: b after #E1\n#E2 = send[6]", "Sent."]
    played, _ = planned(draft, script, tools=[send], answers=["approve"] * questions)
    assert played.error is None
    assert sorted(done) == [5, 6]
    assert len(played.questions) == questions


@pytest.mark.parametrize(
    ("flow", "place"),
    [
        ({"solver": "Thinker"}, "flow.solver"),
        ({"solver": "Nobody"}, "flow.solver"),
        ({"prompts": "own"}, "flow.planner_prompt"),
        ({"prompts": "own", "planner_prompt": "no tools"}, "flow.planner_prompt"),
        ({"solver_prompt": "{question} {worker_log} {x}"}, "flow.solver_prompt"),
        ({"worker_prompt": "{thought} {"}, "flow.worker_prompt"),
    ],
)
def test_wrong_plans_are_told(flow: dict[str, Any], place: str) -> None:
    problems = find_problems(read_document(drafts.plan(**flow)))
    assert [one.place for one in problems] == [place]


def test_instructions_that_nobody_would_read_are_told() -> None:
    draft = drafts.plan()
    draft["agents"][1]["system_message"] = "Be brief."
    assert [one.place for one in find_problems(read_document(draft))] == ["flow.solver"]
