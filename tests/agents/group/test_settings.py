"""Settings of a group chat that cannot be are refused at once, naming the argument."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from agentkit.agents.group import GroupChat, GroupChatManager
from agentkit.errors import WrongArgument, WrongType
from tests.agents.group.members import members

TEMPLATES = (
    "select_speaker_message_template",
    "select_speaker_auto_multiple_template",
    "select_speaker_auto_none_template",
)


@pytest.mark.parametrize(
    ("setting", "value", "error"),
    [
        ("max_round", -1, WrongArgument),
        ("max_round", "10", WrongType),
        ("max_round", True, WrongType),
        ("max_retries_for_selecting_speaker", -1, WrongArgument),
        ("max_retries_for_selecting_speaker", 1.5, WrongArgument),
        ("max_retries_for_selecting_speaker", None, WrongArgument),
        ("speaker_selection_method", "nobody", WrongArgument),
        ("speaker_selection_method", None, WrongArgument),
        ("select_speaker_auto_verbose", None, WrongArgument),
        ("select_speaker_transform_messages", "x", WrongArgument),
        ("role_for_select_speaker_messages", "", WrongArgument),
        ("select_speaker_prompt_template", 3, WrongType),
        *((name, None, WrongArgument) for name in TEMPLATES),
        *((name, "", WrongArgument) for name in TEMPLATES),
        *((name, 3, WrongType) for name in TEMPLATES),
    ],
)
def test_wrong_settings(setting: str, value: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=setting):
        GroupChat(members("ab"), [], **{setting: value})


@pytest.mark.parametrize("template", ["{speakers}", "{", "{0}", "{roles.x}"])
def test_a_template_that_cannot_be_filled_is_refused_at_once(template: str) -> None:
    with pytest.raises(WrongArgument, match="cannot be filled in"):
        GroupChat(members("ab"), [], select_speaker_message_template=template)


@pytest.mark.parametrize(
    ("agents", "error"), [(None, WrongType), (["x"], WrongArgument), ("ab", WrongType)]
)
def test_wrong_agents(agents: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="agents"):
        GroupChat(agents, [])


def test_wrong_messages() -> None:
    with pytest.raises(WrongType, match="messages must be a list"):
        GroupChat(members("ab"), "hello")  # type: ignore[arg-type]


def test_the_errors_are_those_of_autogen() -> None:
    assert issubclass(WrongArgument, ValueError)
    assert issubclass(WrongType, TypeError)


def test_names_and_defaults_are_those_of_autogen() -> None:
    defaults = {
        item.name: item.default
        for item in dataclasses.fields(GroupChat)
        if not item.name.endswith("_template")
    }
    assert list(defaults.values())[2:-1] == [
        10,
        "Admin",
        True,
        "auto",
        2,
        None,
        None,
        None,
        False,
        False,
        None,
        False,
        None,
        None,
        "system",
    ]
    assert list(defaults)[2:] == [
        "max_round",
        "admin_name",
        "func_call_filter",
        "speaker_selection_method",
        "max_retries_for_selecting_speaker",
        "allow_repeat_speaker",
        "allowed_or_disallowed_speaker_transitions",
        "speaker_transitions_type",
        "enable_clear_history",
        "send_introductions",
        "select_speaker_transform_messages",
        "select_speaker_auto_verbose",
        "select_speaker_auto_model_client_cls",
        "select_speaker_auto_llm_config",
        "role_for_select_speaker_messages",
        "allowed_speaker_transitions_dict",
    ]


def test_forms_that_count_the_same() -> None:
    chat = GroupChat(
        members("ab"),
        [],
        speaker_selection_method="Round_Robin",  # type: ignore[arg-type]
        select_speaker_prompt_template="",
    )
    assert (chat.speaker_selection_method, chat.select_speaker_prompt_template) == (
        "round_robin",
        None,
    )
    assert chat.allow_repeat_speaker is True


def test_a_manager_needs_a_group_chat_and_no_functions() -> None:
    with pytest.raises(WrongType, match="groupchat must be a GroupChat"):
        GroupChatManager("group")  # type: ignore[arg-type]
    for key in ("tools", "functions"):
        with pytest.raises(WrongArgument, match="calls no functions"):
            GroupChatManager(
                GroupChat(members("ab"), []),
                llm_config={"config_list": [{"model": "m", "api_key": "k"}], key: [{}]},
            )


def test_a_tuple_of_agents_is_a_list_of_them() -> None:
    a, b = members("ab")
    chat = GroupChat((a, b), [], allow_repeat_speaker=False)  # type: ignore[arg-type]
    assert (chat.agents, chat.next_agent(a)) == ([a, b], b)
