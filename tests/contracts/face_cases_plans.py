"""Plans, played by both faces. Steps depend on one another or run one at a time, so that their
order is settled.
"""

from __future__ import annotations

import asyncio
from typing import Any

from agentkit.agents.rewoo import ActionExecutor, ReWOO, ReWOOAgent
from agentkit.agents.rewoo.workers import Worker
from agentkit.conversation.conversable import register_function
from tests.agents.dialog.cast import says
from tests.contracts.faces import Face, case

CHAIN = "Plan: find Ann\n#E1 = search[Ann]\nPlan: find her friend\n#E2 = search[friend of #E1]\n"


def search(query: str) -> str:
    """Looks a name up."""
    if query == "nobody":
        raise LookupError("no such person")
    return f"{query} is tall"


async def weigh(name: str) -> str:
    """Weighs somebody."""
    await asyncio.sleep(0)
    return f"{name}: 70 kg"


def planner(face: Face, *replies: Any, **settings: Any) -> ReWOOAgent:
    made: ReWOOAgent = face.add(
        ReWOOAgent("fox", llm_config=says(list(replies))[0], **{"tools": [search], **settings})
    )
    return made


@case("ReWOO.chat")
def plan_evidence_answer(face: Face) -> Any:
    replies = ["no plan", CHAIN, "Both."]
    given = face.call(
        ReWOO(lambda messages: replies.pop(0), ActionExecutor(search)), "chat", "Who is tall?"
    )
    return given.response, [action.format_result() for action in given.actions]


@case("ReWOOAgent.generate_plan_reply")
def plans_in_a_chat(face: Face) -> Any:
    fox = planner(face, "no plan", CHAIN, "Both.", "Plan: p\n#E1 = search[nobody]", "Unknown.")
    ann = face.agent("ann")
    first = face.chat(ann, fox, "Who is tall?", max_turns=1)
    return first, face.chat(ann, fox, "And who is not?", max_turns=1, clear_history=False)


@case("ReWOOAgent.generate_plan_reply")
def all_kinds_of_tools(face: Face) -> Any:
    lee = face.speaker("lee", "yes", None)
    plan = (
        "Plan: a\n#E1 = weigh[Ann]\nPlan: b\n#E2 = lee[is #E1 much?]\nPlan: c\n#E3 = lee[really?]\n"
    )
    fox = planner(face, plan, "Much.", workers=[lee], at_once=1)
    register_function(weigh, caller=fox, executor=fox, description="Weighs somebody.")
    return face.call(
        fox, "generate_plan_reply", messages=[{"role": "user", "content": "Is Ann heavy?"}]
    )


@case("ReWOOAgent.generate_plan_reply")
def without_tools_and_without_a_model(face: Face) -> Any:
    messages = [{"role": "user", "content": "hi"}]
    mute = face.add(ReWOOAgent("mute", tools=[search]))
    return [
        face.call(agent, "generate_plan_reply", messages=messages)
        for agent in (planner(face, "hello", tools=[]), mute)
    ]


@case("Worker.ask")
def ask_a_worker_until_it_is_silent(face: Face) -> Any:
    worker = Worker("fox", face.speaker("lee", "one", "two"))
    return [face.call(worker, "ask", "which?") for _ in range(3)]
