"""AssistantAgent: its own defaults, and what a script may change of them."""

from __future__ import annotations

import pytest

from agentkit import AssistantAgent, ConversableAgent
from agentkit.errors import WrongType
from tests.conversation.cast import chat, speaker


def test_defaults() -> None:
    made = AssistantAgent("helper")
    assert isinstance(made, ConversableAgent)
    assert (made.human_input_mode, made.client, made.code_executor, made.use_docker) == (
        "NEVER",
        None,
        None,
        None,
    )
    assert made.system_message == AssistantAgent.DEFAULT_SYSTEM_MESSAGE
    assert made.description == AssistantAgent.DEFAULT_DESCRIPTION != made.system_message
    assert "TERMINATE" in made.system_message
    assert "generate_code_execution_reply" not in {
        entry["reply_func"].__name__ for entry in made._reply_func_list
    }


def test_a_system_message_of_ones_own_describes_the_agent_too() -> None:
    assert AssistantAgent("poet", "You write poems.").description == "You write poems."
    assert (
        AssistantAgent("poet", "You write poems.", description="A poet.").description == "A poet."
    )
    assert (
        AssistantAgent("poet", description="A poet.").system_message
        == AssistantAgent.DEFAULT_SYSTEM_MESSAGE
    )


def test_a_subclass_may_have_other_defaults() -> None:
    class Poet(AssistantAgent):
        DEFAULT_SYSTEM_MESSAGE = "You write poems."
        DEFAULT_DESCRIPTION = "A poet."

    assert Poet("poet", Poet.DEFAULT_SYSTEM_MESSAGE).description == "A poet."


def test_further_arguments_are_those_of_conversable_agent() -> None:
    made = AssistantAgent(
        "a",
        max_consecutive_auto_reply=2,
        default_auto_reply="on",
        silent=True,
        context_variables={"k": 1},
    )
    assert (made.max_consecutive_auto_reply(), made.silent, made.get_context("k")) == (2, True, 1)
    assert chat(False, speaker("asker"), made, max_turns=1).summary == "on"
    with pytest.raises(WrongType, match="a: system_message must be a text, not 5"):
        AssistantAgent("a", 5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="unknown"):
        AssistantAgent("a", unknown=1)
