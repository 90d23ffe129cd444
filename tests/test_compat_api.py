"""The public face is AutoGen's: every member, parameter, default, constant and poked-at attribute
of pyautogen 0.6.0 is there.

What it looks like there is written down in conversation/data/api.json: `[name, kind, repr of the
default]` a parameter.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
from pathlib import Path
from typing import Any

import pytest

import agentkit
from agentkit import AssistantAgent, ChatResult, ConversableAgent, UserProxyAgent
from agentkit.conversation.chats import a_initiate_chats

API: dict[str, Any] = json.loads(
    (Path(__file__).parent / "conversation" / "data" / "api.json").read_text(encoding="utf-8")
)
CLASSES: dict[str, type[Any]] = {
    "ConversableAgent": ConversableAgent,
    "AssistantAgent": AssistantAgent,
    "UserProxyAgent": UserProxyAgent,
}
MEMBERS = [(kind, name) for kind in CLASSES for name in API[kind]]
DOCUMENTED = "If the intended request is NOT properly addressed, please point it out."
"""The last sentence of the default summary prompt, which pyautogen's code lacks."""
OWN_TEXT = "<text>"
"""Stands for long texts, which are our own."""
MORE: dict[str, set[str]] = {"ChatResult": {"stop_reason", "cut_replies", "end"}}
"""What ours has beside AutoGen's, on purpose: why the chat ended, which replies were cut."""


def parameters(function: Any) -> list[list[str]]:
    """The parameters in the form of the file."""
    rows = []
    for each in inspect.signature(function).parameters.values():
        row = [each.name, each.kind.name]
        if each.default is not each.empty:
            long = isinstance(each.default, str) and len(each.default) > 200
            row.append(OWN_TEXT if long else repr(each.default))
        rows.append(row)
    return rows


@pytest.mark.parametrize(("kind", "name"), MEMBERS)
def test_every_member_is_there_and_looks_the_same(kind: str, name: str) -> None:
    expected, member = API[kind][name], inspect.getattr_static(CLASSES[kind], name)
    if expected["kind"] == "property":
        assert isinstance(member, property)
        assert (member.fset is not None) == expected["setter"]
        return
    assert inspect.iscoroutinefunction(member) == (expected["kind"] == "async")
    assert parameters(member) == expected["parameters"]


@pytest.mark.parametrize("name", API["functions"])
def test_every_function_is_there_and_looks_the_same(name: str) -> None:
    expected, function = API["functions"][name], getattr(agentkit, name)
    assert inspect.iscoroutinefunction(function) == (expected["kind"] == "async")
    assert parameters(function) == expected["parameters"]


def test_nothing_else_is_public() -> None:
    """A name of our own would be one that an AutoGen script may use for something else in a
    subclass.
    """
    ours = {name for name in dir(ConversableAgent) if not name.startswith("_")}
    constants = set(API["constants"])
    attributes = {name for name in API["attributes"] if not name.startswith("_")}
    assert ours - set(API["ConversableAgent"]) - constants - attributes == set()


@pytest.mark.parametrize("name", API["constants"])
def test_constants_have_the_same_values(name: str) -> None:
    value = getattr(ConversableAgent, name)
    assert (
        repr(value.removesuffix(" " + DOCUMENTED) if name == "DEFAULT_SUMMARY_PROMPT" else value)
        == API["constants"][name]
    )


def test_the_default_summary_prompt_is_that_of_the_document() -> None:
    assert ConversableAgent.DEFAULT_SUMMARY_PROMPT.endswith(DOCUMENTED)


@pytest.mark.parametrize("name", API["attributes"])
def test_attributes_that_scripts_poke_at_are_there(name: str) -> None:
    agent = ConversableAgent("agent", llm_config=False)
    value = getattr(agent, name)
    setattr(agent, name, value)
    assert getattr(agent, name) is value


@pytest.mark.parametrize(
    ("attribute", "value", "public"),
    [
        ("_function_map", {"f": len}, lambda agent: agent.function_map),
        (
            "_default_auto_reply",
            "other",
            lambda agent: agent.generate_reply(messages=[{"content": "x", "role": "user"}]),
        ),
        ("_max_consecutive_auto_reply", 7, lambda agent: agent.max_consecutive_auto_reply()),
        ("_oai_messages", {}, lambda agent: agent.chat_messages),
        (
            "_oai_system_message",
            [{"content": "s"}],
            lambda agent: [{"content": agent.system_message}],
        ),
        (
            "_code_execution_config",
            {"use_docker": False},
            lambda agent: {"use_docker": agent.use_docker},
        ),
        ("_context_variables", {"key": 1}, lambda agent: {"key": agent.get_context("key")}),
        ("_description", "does things", lambda agent: agent.description),
        ("_name", "other", lambda agent: agent.name),
    ],
)
def test_writing_such_an_attribute_counts(attribute: str, value: Any, public: Any) -> None:
    agent = ConversableAgent("agent", human_input_mode="NEVER")
    setattr(agent, attribute, value)
    assert public(agent) == value


def test_a_replaced_termination_check_counts() -> None:
    agent = ConversableAgent("agent", human_input_mode="NEVER", default_auto_reply="go on")
    agent._is_termination_msg = lambda message: message["content"] == "basta"
    assert (
        agent.generate_reply(messages=[{"content": "basta", "role": "user"}], sender=agent) is None
    )
    assert (
        agent.generate_reply(messages=[{"content": "TERMINATE", "role": "user"}], sender=agent)
        == "go on"
    )


def test_reply_functions_stand_in_the_same_order() -> None:
    agent = ConversableAgent("agent", code_execution_config={"use_docker": False})
    assert [entry["reply_func"].__name__ for entry in agent._reply_func_list] == API["reply_order"]


def test_hookable_methods_are_the_same() -> None:
    assert list(ConversableAgent("agent").hook_lists) == API["hook_lists"]


def test_a_chat_result_has_the_same_fields_and_one_more() -> None:
    ours = [[each.name, repr(each.default)] for each in dataclasses.fields(ChatResult)]
    assert ours[: len(API["ChatResult"])] == API["ChatResult"]
    assert {name for name, _ in ours[len(API["ChatResult"]) :]} == MORE["ChatResult"]


def test_the_async_queue_is_a_public_function() -> None:
    assert agentkit.a_initiate_chats is a_initiate_chats


def test_the_members_written_down_are_those_of_the_surface() -> None:
    assert API["source"] == "ag2/pyautogen 0.6.0"
    assert len(MEMBERS) == 66 + len(("AssistantAgent", "UserProxyAgent"))
