"""How the next speaker is chosen without a model: in turn, by chance, by a person, by a callable,
by the call to be answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from agentkit import runs
from agentkit.agents.group import GroupChat, GroupChatManager
from agentkit.core import bus
from agentkit.core.io import IOStream
from agentkit.errors import NoEligibleSpeaker, WrongArgument
from agentkit.events import Event, HumanInputRequested, SpeakerSelected
from tests.agents.group.members import Member, chat_with, group, members, said, speakers

FACES = ["sync", "async"]


class Console:
    """A stream that answers what it is told to and keeps what is printed."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.printed: list[str] = []

    def print(self, *objects: Any, sep: str = " ", end: str = "\n", flush: bool = False) -> None:
        self.printed.append(sep.join(map(str, objects)))

    def input(self, prompt: str = "", *, password: bool = False) -> str:
        self.printed.append(prompt)
        return self.answers.pop(0)


@pytest.mark.parametrize("face", FACES)
def test_in_turn(face: str) -> None:
    manager = group(members("abc"), max_round=5)
    chat_with(manager, face=face)
    assert speakers(manager) == "abcab"


@pytest.mark.parametrize("face", FACES)
def test_by_chance_without_repeating(face: str) -> None:
    manager = group(
        members("abc"), speaker_selection_method="random", allow_repeat_speaker=False, max_round=30
    )
    chat_with(manager, face=face)
    order = speakers(manager)
    assert len(order) == 30
    assert all(one != other for one, other in pairwise(order))


@pytest.mark.parametrize("face", FACES)
def test_a_person_chooses(face: str) -> None:
    console = Console("3", "x", "9", "1")
    manager = group(members("abc"), speaker_selection_method="manual", max_round=3)
    with IOStream.set_default(console):
        chat_with(manager, face=face)
    assert speakers(manager) == "aca"
    asked = [prompt.splitlines() for prompt in console.printed if "Who speaks next?" in prompt]
    assert asked[0][:4] == ["Who speaks next?", "1: a", "2: b", "3: c"]
    assert asked[-1][0] == "'9' is not a number from 1 to 3. Who speaks next?"


@pytest.mark.parametrize("answers", [[""], ["q"], ["b", "0", "9" * 5_000]])
def test_nobody_is_chosen_by_the_person(answers: list[str]) -> None:
    chat = GroupChat(members("abc"), [])
    console = Console(*answers)
    with IOStream.set_default(console):
        assert chat.manual_select_speaker() is None
    assert console.answers == []


def test_in_a_run_the_watcher_is_asked() -> None:
    manager = group(members("abc"), speaker_selection_method="manual", max_round=2)
    run = runs.start(lambda: chat_with(manager), kind="chat", title="group")
    prompts = []
    for recorded in run:
        if isinstance(recorded.event, HumanInputRequested):
            prompts.append(recorded.event.prompt)
            run.answer("3")
    run.result()
    assert speakers(manager) == "ac"
    assert len(prompts) == 1
    assert "2: b\n3: c\n" in prompts[0]


async def _third(last_speaker: Any, chat: GroupChat) -> Any:
    await asyncio.sleep(0)
    return chat.agents[2]


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize(
    ("method", "order"),
    [
        (lambda last, chat: chat.agents[2], "accc"),
        (_third, "accc"),
        (lambda last, chat: "round_robin", "abca"),
        (lambda last, chat: chat.agents[1] if len(chat.messages) < 3 else None, "abb"),
    ],
)
def test_a_callable_chooses(method: Callable[..., Any], order: str, face: str) -> None:
    manager = group(members("abc"), speaker_selection_method=method, max_round=4)
    chat_with(manager, face=face)
    assert speakers(manager) == order


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("b", "not 'b'"),
        (3, "not 3"),
        (Member("z"), r"'z', which is not in the group \['a', 'b', 'c'\]"),
    ],
)
def test_a_callable_that_answers_wrongly(answer: Any, told: str) -> None:
    manager = group(members("abc"), speaker_selection_method=lambda last, chat: answer)
    with pytest.raises(WrongArgument, match=told):
        chat_with(manager)


def test_one_agent_is_no_group() -> None:
    with pytest.raises(WrongArgument, match="at least two agents, this one has 1"):
        chat_with(group(members("a")))


def _call(*names: str) -> dict[str, Any]:
    calls = [
        {"id": str(number), "type": "function", "function": {"name": name, "arguments": "{}"}}
        for number, name in enumerate(names)
    ]
    return {"content": None, "tool_calls": calls}


def _group_with_functions(**functions: list[str]) -> Any:
    agents: list[Any] = members("abcd")
    for agent in agents:
        agent.register_function(
            {name: lambda name=name: f"{name} done" for name in functions.get(agent.name, [])}
        )
    return agents


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize(
    ("functions", "message", "speaker"),
    [
        ({"c": ["f"]}, _call("f"), "c"),
        ({"c": ["f"]}, {"content": "", "function_call": {"name": "f", "arguments": "{}"}}, "f"),
        ({"b": ["f"], "d": ["f", "g"]}, _call("f", "g"), "d"),
        ({"c": ["f"], "d": ["f"]}, _call("f"), "c"),
        ({"b": ["g"], "c": ["f"]}, _call("f", "g"), "b"),
        ({"a": ["f"]}, _call("f"), "a"),
    ],
)
def test_a_call_goes_to_who_can_execute_it(
    functions: dict[str, list[str]], message: dict[str, Any], speaker: str, face: str
) -> None:
    manager = group(_group_with_functions(**functions), max_round=2)
    chat_with(manager, message, face=face)
    name, content = said(manager)[1]
    assert name == speaker
    assert "done" in content


def test_a_call_that_nobody_can_execute() -> None:
    with pytest.raises(WrongArgument, match="can execute f"):
        chat_with(group(_group_with_functions(), max_round=2), _call("f"))


def test_without_the_filter_a_call_is_a_message_like_others() -> None:
    manager = group(_group_with_functions(c=["f"]), func_call_filter=False, max_round=2)
    chat_with(manager, _call("f"))
    assert speakers(manager) == "ab"


@pytest.mark.filterwarnings("ignore:No transition")
@pytest.mark.parametrize(("allowed", "speaker"), [("c", "c"), ("d", "b")])
def test_a_call_keeps_to_the_transitions_where_it_can(allowed: str, speaker: str) -> None:
    agents = _group_with_functions(b=["f"], c=["f"])
    graph = {agents[0]: [agent for agent in agents if agent.name == allowed]}
    manager = group(
        agents,
        allowed_or_disallowed_speaker_transitions=graph,
        speaker_transitions_type="allowed",
        max_round=2,
    )
    chat_with(manager, _call("f"))
    assert speakers(manager) == f"a{speaker}"


def test_every_choice_is_told() -> None:
    heard: list[Event] = []
    manager = group(_group_with_functions(b=["f"]), max_round=3)
    with bus.listening(heard.append):
        chat_with(manager, _call("f"))
    chosen = [event for event in heard if isinstance(event, SpeakerSelected)]
    assert chosen == [
        SpeakerSelected("chat_manager", "b", "function", 1, ["b"]),
        SpeakerSelected("chat_manager", "c", "round_robin", 2, ["a", "b", "c", "d"]),
    ]


@pytest.mark.parametrize("face", FACES)
def test_a_subclass_may_choose_in_its_own_way(face: str) -> None:
    class Last(GroupChat):
        def select_speaker(self, last_speaker: Any, selector: Any) -> Any:
            if len(self.messages) == 3:
                raise NoEligibleSpeaker("enough.")
            return self.agents[-1]

        async def a_select_speaker(self, last_speaker: Any, selector: Any) -> Any:
            return self.select_speaker(last_speaker, selector)

    manager = GroupChatManager(Last(members("abc"), []), llm_config=False, silent=True)
    result = chat_with(manager, face=face)
    assert speakers(manager) == "acc"
    assert result.stop_reason == "no eligible speaker: enough."


def test_both_faces_of_select_speaker() -> None:
    a, b, c = agents = members("abc")
    chat = GroupChat(agents, [], speaker_selection_method="round_robin")
    assert chat.select_speaker(a, None) is b
    assert asyncio.run(chat.a_select_speaker(b, None)) is c
