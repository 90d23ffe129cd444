"""A model chooses the next speaker; wrong answers are corrected, and when none is right the next in
turn speaks.
"""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from agentkit.agents.group import GroupChat, GroupChatManager
from agentkit.conversation.transforms import MessageHistoryLimiter, TransformMessages
from agentkit.core import bus
from agentkit.core.io import IOStream
from agentkit.events import Event, Noted, SpeakerSelected
from agentkit.llm.calls.scripted import ScriptedClient, scripted_model
from tests.agents.group.members import chat_with, group, members, speakers
from tests.agents.group.test_selection import Console
from tests.conversation.cast import modelled

FACES = ["sync", "async"]


def _config(*answers: str) -> tuple[dict[str, Any], ScriptedClient]:
    model = scripted_model(list(answers))
    assert isinstance(model.client, ScriptedClient)
    return {"config_list": [{"model": model}], "cache_seed": None}, model.client


def _chat(
    *answers: str, face: str = "sync", names: str = "abc", **settings: Any
) -> tuple[GroupChatManager, list[Any], list[Event]]:
    config, client = _config(*answers)
    manager = group(
        members(names),
        speaker_selection_method="auto",
        **{"select_speaker_auto_llm_config": config, "max_round": 2, **settings},
    )
    heard: list[Event] = []
    with bus.listening(heard.append):
        chat_with(manager, face=face)
    return manager, [request["messages"] for request in client.requests], heard


@pytest.mark.parametrize("face", FACES)
def test_the_model_sees_the_roles_the_transcript_and_the_question(face: str) -> None:
    manager, asked, heard = _chat("c", "b", face=face, max_round=3)
    assert speakers(manager) == "acb"
    assert [[(m["role"], m.get("name")) for m in messages] for messages in asked] == [
        [("system", None), ("user", "a"), ("system", "checking_agent")],
        [("system", None), ("user", "a"), ("user", "c"), ("system", "checking_agent")],
    ]
    assert asked[0][0]["content"] == manager.groupchat.select_speaker_msg()
    assert asked[0][-1]["content"] == manager.groupchat.select_speaker_prompt()
    assert [event.method for event in heard if isinstance(event, SpeakerSelected)] == [
        "auto",
        "auto",
    ]


def test_a_call_that_is_still_to_be_made_is_not_sent() -> None:
    config, client = _config("b")
    manager = group(
        members("abc"),
        speaker_selection_method="auto",
        select_speaker_auto_llm_config=config,
        func_call_filter=False,
    )
    made = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    calling: Any = {
        "role": "assistant",
        "name": "a",
        "content": "Let me look.",
        "tool_calls": [made],
    }
    chat = manager.groupchat
    chat.messages.append(calling)
    assert chat.select_speaker(chat.agents[0], manager).name == "b"
    (_, said, _) = client.requests[0]["messages"]
    assert said == {"role": "user", "name": "a", "content": "Let me look."}
    assert chat.messages == [calling]


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize(
    ("answers", "corrections", "order"),
    [
        (["b and c", "b"], ["several"], "ab"),
        (["nobody", "c"], ["none"], "ac"),
        (["nobody", "a or b", "c"], ["none", "several"], "ac"),
        (["nobody", "a or b", "?"], ["none", "several"], "ab"),
    ],
)
def test_wrong_answers_are_corrected(
    answers: list[str], corrections: list[str], order: str, face: str
) -> None:
    manager, asked, _ = _chat(
        *answers,
        face=face,
        select_speaker_auto_multiple_template="several",
        select_speaker_auto_none_template="none",
    )
    assert speakers(manager) == order
    assert len(asked) == len(answers)
    assert [
        message["content"] for message in asked[-1] if message["content"] in ("several", "none")
    ] == corrections


@pytest.mark.parametrize("retries", [0, 4])
def test_so_many_retries(retries: int) -> None:
    manager, asked, heard = _chat(*["?"] * 9, max_retries_for_selecting_speaker=retries)
    assert len(asked) == retries + 1
    assert speakers(manager) == "ab"
    assert [event.method for event in heard if isinstance(event, SpeakerSelected)] == [
        "round_robin"
    ]
    assert any(
        isinstance(event, Noted) and f"no answer of {retries + 1}" in event.text for event in heard
    )


def test_only_those_who_may_speak_can_be_named() -> None:
    manager, asked, _ = _chat("a", "c", allow_repeat_speaker=False)
    assert speakers(manager) == "ac"
    assert "['b', 'c']" in asked[0][0]["content"]
    assert "['b', 'c']" in asked[1][-1]["content"]


def test_nothing_is_asked_when_only_one_may_speak() -> None:
    manager, asked, _ = _chat(names="ab", allow_repeat_speaker=False, max_round=4)
    assert speakers(manager) == "abab"
    assert asked == []


def test_the_role_of_the_questions() -> None:
    _, asked, _ = _chat("?", "b", role_for_select_speaker_messages="user")
    assert [message["role"] for message in asked[1] if message.get("name") == "checking_agent"] == [
        "user",
        "user",
    ]


def test_without_a_prompt_the_last_message_is_not_said_twice() -> None:
    """The oracle has it in the history and again as the question."""
    manager, asked, _ = _chat("b", select_speaker_prompt_template=None)
    assert [message["content"] for message in asked[0][1:]] == ["go"]
    assert speakers(manager) == "ab"


def test_messages_are_transformed_for_the_model() -> None:
    transform = TransformMessages(transforms=[MessageHistoryLimiter(max_messages=2)])
    _, asked, _ = _chat("b", "c", "a", max_round=4, select_speaker_transform_messages=transform)
    assert [
        len([m for m in messages if m.get("role") != "system" or m.get("name")])
        for messages in asked
    ] == [2, 2, 2]


@pytest.mark.parametrize("face", FACES)
def test_the_managers_own_model_chooses_and_counts(face: str) -> None:
    config, client = _config("c")
    manager = group(
        members("abc"), {"llm_config": config}, speaker_selection_method="auto", max_round=2
    )
    result = chat_with(manager, face=face)
    assert speakers(manager) == "ac"
    assert len(client.requests) == 1
    assert "scripted" in result.cost["usage_including_cached_inference"]


def test_without_a_model_the_next_in_turn_speaks() -> None:
    heard: list[Event] = []
    manager = group(members("abc"), speaker_selection_method="auto", max_round=4)
    with bus.listening(heard.append):
        chat_with(manager)
    assert speakers(manager) == "abca"
    assert any(isinstance(event, Noted) and "no model" in event.text for event in heard)


class NamesB:
    """A model client of somebody else, as AutoGen's protocol has it."""

    def __init__(self, config: dict[str, Any], **kwargs: Any) -> None:
        self.model = config["model"]

    def create(self, params: dict[str, Any]) -> Any:
        message = SimpleNamespace(content="I choose b.", function_call=None, tool_calls=None)
        return SimpleNamespace(choices=[SimpleNamespace(message=message)], model=self.model)

    def message_retrieval(self, response: Any) -> list[str]:
        return [choice.message.content for choice in response.choices]

    def cost(self, response: Any) -> float:
        return 0.0

    @staticmethod
    def get_usage(response: Any) -> dict[str, Any]:
        return {
            "prompt_tokens": 1,
            "completion_tokens": 1,
            "total_tokens": 2,
            "cost": 0.0,
            "model": response.model,
        }


CUSTOM = {"config_list": [{"model": "m", "model_client_cls": "NamesB"}], "cache_seed": None}


@pytest.mark.parametrize("classes", [NamesB, [NamesB]])
@pytest.mark.parametrize("own", [True, False])
def test_a_custom_client_chooses(classes: Any, own: bool) -> None:
    """Also with the manager's config; the oracle then says that the client is not registered."""
    manager = group(
        members("abc"),
        {"llm_config": False if own else CUSTOM},
        speaker_selection_method="auto",
        select_speaker_auto_llm_config=CUSTOM if own else None,
        select_speaker_auto_model_client_cls=classes,
        max_round=3,
    )
    chat_with(manager)
    assert speakers(manager) == "abb"


def test_a_client_registered_with_the_manager_chooses() -> None:
    """The oracle forgets it."""
    manager = group(
        members("abc"), {"llm_config": CUSTOM}, speaker_selection_method="auto", max_round=2
    )
    manager.register_model_client(NamesB)
    chat_with(manager)
    assert speakers(manager) == "ab"


def test_without_a_manager_the_model_chooses_too() -> None:
    config, _ = _config("nobody", "c")
    a, b, c = agents = members("abc")
    chat = group(
        agents,
        speaker_selection_method="auto",
        select_speaker_auto_llm_config=config,
        max_retries_for_selecting_speaker=0,
    ).groupchat
    chat.messages.append({"role": "user", "name": "a", "content": "Who is next?"})
    assert chat.select_speaker(a, None) is b  # nobody was named, so the next in turn
    assert chat.select_speaker(a, None) is c


def test_attempts_are_printed_when_wanted() -> None:
    console = Console()
    with IOStream.set_default(console):
        _chat("b or c", "b", select_speaker_auto_verbose=True)
    attempts = [line for line in console.printed if "attempt" in line]
    assert [line.partition("attempt ")[2] for line in attempts] == [
        "1 of 3: names b, c",
        "2 of 3: names b",
    ]
    console = Console()
    with IOStream.set_default(console):
        _chat("b or c", "b")
    assert console.printed == []


@pytest.mark.parametrize("face", FACES)
def test_a_script_may_ask_the_model_itself(face: str) -> None:
    config, client = _config("c", "nobody", "nobody", "nobody")
    a, b, c = agents = members("abc")
    chat = group(
        agents, speaker_selection_method="auto", select_speaker_auto_llm_config=config
    ).groupchat

    def asked(*args: Any) -> Any:
        if face == "async":
            return asyncio.run(chat.a_auto_select_speaker(a, None, *args))
        return chat._auto_select_speaker(a, None, *args)

    said = [{"role": "user", "name": "a", "content": "Who is next?"}]
    assert asked(said, [b, c]) is c
    assert "Who is next?" in str(client.requests[0]["messages"])
    assert chat.messages == []
    assert asked() is b, "no name, so the next in turn"


def test_a_selector_needs_no_name() -> None:
    a, b, c = members("abc")
    chat = GroupChat([a, b, c], [{"content": "hi", "role": "user", "name": "a"}])
    selector: Any = SimpleNamespace(client=modelled("m", "c")[0].client, llm_config=False)
    assert chat.select_speaker(a, selector) is c
    assert chat.select_speaker(a, SimpleNamespace(client=None)) is b
