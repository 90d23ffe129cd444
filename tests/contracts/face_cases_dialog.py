"""Dialog agents, played by both faces."""

from __future__ import annotations

from typing import Any

from agentkit import Msg
from agentkit.agents.dialog import hub
from agentkit.agents.dialog.structured_reply import Wish
from agentkit.agentscope import AgentBase, UserAgent
from tests.agents.dialog.cast import fenced, says, thinker, turn
from tests.contracts.faces import Face, case


def remembered(agent: AgentBase) -> list[tuple[str, str, Any]]:
    """What an agent remembers, without ids and times."""
    assert agent.memory is not None
    return [
        (message.name, message.content, message.metadata) for message in agent.memory.get_memory()
    ]


@case("AgentBase.call")
def call_in_a_hub(face: Face) -> Any:
    ann, bob = (face.add(thinker(name, [turn("t", f"I am {name}")])[0]) for name in ("Ann", "Bob"))
    with hub.msghub([ann, bob], Msg("Host", "Who are you?", "assistant")):
        said = [face.call(agent, "call") for agent in (ann, bob)]
    return [(x.content, x.metadata) for x in said], remembered(ann), remembered(bob)


@case("AgentBase.call")
def call_what_cannot_be_read(face: Face) -> Any:
    ann = face.add(thinker("Ann", lambda request: "prose", max_retries=2)[0])
    return face.call(ann, "call", Msg("user", "hi", "user"))


@case("AgentBase.reply")
def reply_without_an_audience(face: Face) -> Any:
    ann = face.add(AgentBase("Ann", "You are Ann.", llm_config=says(["one", "two"])[0]))
    face.call(ann, "reply", Msg("user", "hi", "user"))
    return face.call(ann, "reply").content, remembered(ann)


@case("AgentBase.generate_reply")
def reply_to_memory_and_chat(face: Face) -> Any:
    ann = face.add(AgentBase("Ann", "You are Ann.", llm_config=says(["one", "two"])[0]))
    ann.observe(Msg("Host", "Be brief.", "assistant"))
    messages = [{"role": "user", "content": "hi"}]
    return [
        face.call(ann, "generate_reply", messages=messages),
        face.call(ann, "generate_reply", messages=[]),
    ]


@case("AgentBase.generate_dialog_reply")
def reply_function_with_and_without_a_model(face: Face) -> Any:
    ann, mute = face.add(AgentBase("Ann", llm_config=says(["one"])[0]), AgentBase("Mute"))
    messages = [{"role": "user", "content": "hi"}]
    return [face.call(agent, "generate_dialog_reply", messages=messages) for agent in (ann, mute)]


@case("UserAgent.reply")
def person_asked_for_more(face: Face) -> Any:
    face.console.answers += ["hello", "42"]
    user = face.add(UserAgent())
    said = face.call(user, "reply", Msg("Ann", "Who are you?", "assistant"), required_keys="age")
    return said.content, said.role, said.metadata, remembered(user)


@case("UserAgent.reply")
def nobody_to_ask(face: Face) -> Any:
    return face.call(face.add(UserAgent("Bob", "? ")), "reply")


@case("DialogModel.call")
def model_asked_twice(face: Face) -> Any:
    ann = face.add(AgentBase("Ann", llm_config=says(["many", fenced("[3]"), "4"])[0]))
    found = face.call(
        ann.model,
        "call",
        "How many?",
        lambda response: int(response.text or ""),
        lambda response: 0,
        2,
    )
    return found.parsed, found.text


@case("DialogModel.whole")
def model_asked_for_all_of_a_reply(face: Face) -> Any:
    ann = face.add(AgentBase("Ann", llm_config=says(["no number", "4"])[0]))
    wish = Wish(
        lambda response: int(response.text or ""),
        "number",
        max_retries=1,
        fault_handler=None,
        parameters={},
    )
    return face.call(ann.model, "whole", [{"role": "user", "content": "How many?"}], wish).parsed


@case("sequential_pipeline")
def pipeline_of_two(face: Face) -> Any:
    ann, bob = (
        face.add(AgentBase(name, llm_config=says([f"I am {name}"])[0])) for name in ("Ann", "Bob")
    )
    said = face.call(hub, "sequential_pipeline", [ann, bob], Msg("user", "hi", "user"))
    return said.content, remembered(bob)
