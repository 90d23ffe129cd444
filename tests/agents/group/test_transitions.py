"""Who may follow whom."""

from __future__ import annotations

from typing import Any

import pytest

from agentkit.agents.group import GroupChat
from agentkit.conversation.agent import Agent
from agentkit.errors import WrongArgument
from tests.agents.group.members import chat_with, group, members, speakers


def _letters(chat: GroupChat) -> dict[str, str]:
    return {
        agent.name: "".join(sorted(each.name for each in after))
        for agent, after in chat.allowed_speaker_transitions_dict.items()
    }


@pytest.mark.parametrize(
    ("repeat", "letters"),
    [
        (None, {"a": "abc", "b": "abc", "c": "abc"}),
        (True, {"a": "abc", "b": "abc", "c": "abc"}),
        (False, {"a": "bc", "b": "ac", "c": "ab"}),
        ([], {"a": "bc", "b": "ac", "c": "ab"}),
        (["b"], {"a": "bc", "b": "abc", "c": "ab"}),
    ],
)
def test_repeating(repeat: Any, letters: dict[str, str]) -> None:
    agents = members("abc")
    if isinstance(repeat, list):
        repeat = [agent for agent in agents if agent.name in repeat]
    assert _letters(GroupChat(agents, [], allow_repeat_speaker=repeat)) == letters


@pytest.mark.filterwarnings("ignore:No transition")
def test_allowed_and_disallowed() -> None:
    agents = members("abc")
    graph: Any = {agents[0]: [agents[1]], agents[1]: []}
    kinds: Any = {"allowed_or_disallowed_speaker_transitions": graph}
    assert _letters(GroupChat(agents, [], speaker_transitions_type="allowed", **kinds)) == {
        "a": "b",
        "b": "",
    }
    assert _letters(GroupChat(agents, [], speaker_transitions_type="disallowed", **kinds)) == {
        "a": "ac",
        "b": "abc",
        "c": "abc",
    }
    assert _letters(GroupChat(agents, [], speaker_transitions_type="ALLOWED", **kinds)) == {  # type: ignore[arg-type]
        "a": "b",
        "b": "",
    }


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"graph": {"a": ["b"]}}, "needs speaker_transitions_type"),
        ({"speaker_transitions_type": "x"}, "not 'x'"),
        (
            {
                "graph": {"a": ["b"]},
                "speaker_transitions_type": "allowed",
                "allow_repeat_speaker": True,
            },
            "exclude each other",
        ),
        ({"graph": {"z": ["a"]}, "speaker_transitions_type": "allowed"}, "key 'z'"),
        (
            {"graph": {"a": "b"}, "speaker_transitions_type": "allowed"},
            "'a' must be a list of agents",
        ),
        ({"graph": ["a"], "speaker_transitions_type": "disallowed"}, "must be a dict"),
        ({"allow_repeat_speaker": "a"}, "bool or a list"),
        ({"allow_repeat_speaker": ["z"]}, "names 'z'"),
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, Any], told: str) -> None:
    by_name = {agent.name: agent for agent in members("abz")}

    def agents_in(value: Any) -> Any:
        if isinstance(value, dict):
            return {by_name[key]: agents_in(each) for key, each in value.items()}
        return [by_name[each] for each in value] if isinstance(value, list) else value

    graph = agents_in(settings.pop("graph", None))
    if isinstance(settings.get("allow_repeat_speaker"), list):
        settings["allow_repeat_speaker"] = agents_in(settings["allow_repeat_speaker"])
    with pytest.raises(WrongArgument, match=told):
        GroupChat(
            [by_name["a"], by_name["b"]],
            [],
            allowed_or_disallowed_speaker_transitions=graph,
            **settings,
        )


def test_a_stranger_who_may_follow_is_warned_of() -> None:
    a, b, z = members("abz")
    with pytest.warns(UserWarning, match=r"of 'a' names \['z'\]"):
        GroupChat(
            [a, b],
            [],
            allowed_or_disallowed_speaker_transitions={a: [z, b]},
            speaker_transitions_type="allowed",
        )


@pytest.mark.parametrize("method", ["round_robin", "random", "auto"])
def test_a_dead_end_ends_the_chat(method: str) -> None:
    """The oracle lets everybody speak after an agent whom, by the graph, nobody follows."""
    a, b, c = agents = members("abc")
    graph: dict[Agent, list[Agent]] = {a: [c], c: [b], b: []}
    manager = group(
        agents,
        speaker_selection_method=method,
        allowed_or_disallowed_speaker_transitions=graph,
        speaker_transitions_type="allowed",
    )
    result = chat_with(manager)
    assert speakers(manager) == "acb"
    assert result.stop_reason == "no eligible speaker: No transition leads on from b."


def test_anybody_follows_somebody_from_outside() -> None:
    a, b, outside = members("abu")
    manager = group([a, b], allow_repeat_speaker=False, max_round=4)
    chat_with(manager, sender=outside, max_turns=1)
    assert speakers(manager) == "uaba"


def test_an_agent_that_joined_later_takes_part() -> None:
    agents = members("ab")
    manager = group(agents, max_round=4)
    manager.groupchat.agents.extend(members("c"))
    chat_with(manager)
    assert speakers(manager) == "abca"


@pytest.mark.parametrize("kind", ["allowed", "disallowed"])
def test_agents_that_no_transition_leads_to_or_from_are_warned_of(kind: Any) -> None:
    a, b, c = agents = members("abc")
    graph = {a: [b]} if kind == "allowed" else {a: [a, c], b: [c], c: agents}
    with pytest.warns(UserWarning, match=r"^No transition leads to or from \['c'\]\.$"):
        GroupChat(
            agents,
            [],
            allowed_or_disallowed_speaker_transitions=graph,
            speaker_transitions_type=kind,
        )


def test_a_follower_that_stands_there_twice_is_warned_of() -> None:
    a, b = members("ab")
    with pytest.warns(UserWarning, match=r"The transitions of 'a' name \['b'\] more than once"):
        GroupChat(
            [a, b],
            [],
            allowed_or_disallowed_speaker_transitions={a: [b, b]},
            speaker_transitions_type="allowed",
        )
