"""Whatever the agents of Python can be given is in the documents of teams, or left out for a
reason.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import fields
from typing import get_args

import pytest

from agentkit import ConversableAgent, GroupChat
from agentkit.agents.compressible import CompressibleAgent
from agentkit.agents.retrieve_chat.config import RetrieveConfig as KnownConfig
from agentkit.agentscope import DictDialogAgent
from agentkit.lagent import ReWOO, ReWOOProtocol
from agentkit.teams.built import agents, flows
from agentkit.teams.built.unread import ALWAYS, READ
from tests.teams.built.fields import PAGE, write_page

IN_PYTHON = "an object or function of Python; a script can give it"
_BEGINS = "a chat begins with what the chat was"
LEFT_OUT: dict[str, dict[str, str]] = {
    "ConversableAgent": {
        "function_map": "`tools` say by name what it may call",
        "code_execution_config": "`code`: in isolation only, where the chat's code runs",
        "llm_config": "`llm`, which has all that a request may say",
        "chat_messages": _BEGINS,
    },
    "GroupChat": {
        "messages": _BEGINS,
        "select_speaker_transform_messages": IN_PYTHON,
        "select_speaker_auto_model_client_cls": IN_PYTHON,
        "allowed_or_disallowed_speaker_transitions": "`transitions`, by the agents' names",
    },
    "retrieve_config": {
        "client": IN_PYTHON,
        "embedding_function": IN_PYTHON,
        "custom_token_count_function": IN_PYTHON,
        "custom_text_split_function": IN_PYTHON,
    },
    "compress_config": {
        "compress_function": "`strategy` names one; a script can give its own",
    },
    "ReWOO": {
        "llm": "`llm` of planner and solver",
        "action_executor": "documents and tools of the planner",
        "protocol": "the prompts stand in the flow itself",
        "name": "`planner` and `solver` are the names",
        "names": "`planner` and `solver` are the names",
        "on_plan": "the plan is shown before it runs, as the chat is set",
        "approve": "`approval` of the planner's tools",
    },
    "ReWOOProtocol": {},
    "DictDialogAgent": {
        "sys_prompt": "`system_message`",
        "model_config_name": "`llm`",
        "llm_config": "`llm`",
        "fault_handler": IN_PYTHON,
        "kwargs": "the arguments of ConversableAgent, which its reply in fields does not read",
    },
}
"""By what it is an argument of."""


def _arguments(kind: type) -> list[str]:
    return [name for name in inspect.signature(kind).parameters if name != "self"]


def _keys(*models: type[agents.Part]) -> set[str]:
    return {
        name
        for model in models
        for key, field in model.model_fields.items()
        for name in (key, field.alias or key)
    }


CASES: dict[str, tuple[Iterable[str], set[str]]] = {
    "ConversableAgent": (_arguments(ConversableAgent), _keys(agents.AgentDocument)),
    "GroupChat": (_arguments(GroupChat), _keys(flows.Group)),
    "retrieve_config": (
        [one.name for one in fields(KnownConfig) if one.init],
        _keys(agents.RetrieveConfig),
    ),
    "compress_config": (
        CompressibleAgent.DEFAULT_COMPRESS_CONFIG,
        _keys(agents.CompressConfig),
    ),
    "ReWOO": (_arguments(ReWOO), _keys(flows.Plan)),
    "ReWOOProtocol": (_arguments(ReWOOProtocol), _keys(flows.Plan)),
    "DictDialogAgent": (_arguments(DictDialogAgent), _keys(agents.AgentDocument, agents.Dialog)),
}


@pytest.mark.parametrize("what", CASES)
def test_every_argument_is_in_the_documents_or_left_out_for_a_reason(what: str) -> None:
    wanted, known = CASES[what]
    left = {name for name in wanted if name not in known}
    assert left == LEFT_OUT[what].keys(), "no key is forgotten, and no reason is left over"


def test_there_are_reasons_for_nothing_else() -> None:
    assert LEFT_OUT.keys() == CASES.keys()


def test_every_field_of_an_agent_is_read_somewhere() -> None:
    read = frozenset[str]().union(*READ.values())
    assert read | ALWAYS == agents.AgentDocument.model_fields.keys()
    assert READ.keys() == {*get_args(get_args(flows.Flow)[0])}


@pytest.mark.parametrize(
    "model",
    [one for home in (agents, flows) for one in vars(home).values() if isinstance(one, type)],
    ids=str,
)
def test_every_field_says_what_it_does(model: type) -> None:
    if issubclass(model, agents.Part):
        assert _list_silent(model) == []


def _list_silent(model: type[agents.Part]) -> list[str]:
    """The fields without a word; `kind` only tells models apart."""
    said = {key: field.description for key, field in model.model_fields.items()}
    return [key for key, about in said.items() if not about and key != "kind"]


def test_the_page_tells_every_field() -> None:
    """After a change: `.venv/bin/python -m tests.teams.built.fields`."""
    assert PAGE.read_text(encoding="utf-8") == write_page()
