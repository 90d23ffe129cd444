"""Whatever the agents of Python can be given is in the documents of teams, or left out for a
reason.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import fields

import pytest

from agentkit import ConversableAgent, GroupChat
from agentkit.agents.compressible import CompressibleAgent
from agentkit.agents.retrieve_chat.config import RetrieveConfig as KnownConfig
from agentkit.agentscope import DictDialogAgent
from agentkit.lagent import ReWOO, ReWOOProtocol
from agentkit.teams.built import agents, flows
from tests.teams.built.fields import PAGE, write_page

MADE_FOR_IT = "made for each agent from its other fields"
IN_PYTHON = "an object or function of Python; a script can give it"
LEFT_OUT = {
    "function_map": "`tools` say by name what it may call",
    "code_execution_config": "`code`: code runs in isolation only, where the chat's code runs",
    "llm_config": "`llm` says which model speaks for it",
    "chat_messages": "a chat begins with what the chat was",
    "messages": "a chat begins with what the chat was",
    "compress_function": "`strategy` names one; a script can give its own",
    "select_speaker_transform_messages": IN_PYTHON,
    "select_speaker_auto_model_client_cls": IN_PYTHON,
    "allowed_or_disallowed_speaker_transitions": "`transitions`, by the names of the agents",
    "client": IN_PYTHON,
    "embedding_function": IN_PYTHON,
    "custom_token_count_function": IN_PYTHON,
    "custom_text_split_function": IN_PYTHON,
    "llm": "the model that the chat asks",
    "action_executor": "the look-ups and tools of the team",
    "protocol": "the prompts stand in the flow itself",
    "name": "`planner` and `solver` are the names",
    "names": "`planner` and `solver` are the names",
    "on_plan": "the plan is shown before it runs, as the chat is set",
    "approve": "the person is asked as for all tools",
    "sys_prompt": "`system_message`",
    "model_config_name": "`llm` says which model speaks for it",
    "fault_handler": IN_PYTHON,
    "kwargs": "the arguments of ConversableAgent",
}


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
    assert [name for name in wanted if name not in known and name not in LEFT_OUT] == []


def test_no_reason_is_left_over() -> None:
    wanted = {name for names, _ in CASES.values() for name in names}
    assert LEFT_OUT.keys() - wanted == set()


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
