"""What a model is sent of a history, which configurations there are, and what its replies
become.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest

from agentkit import ConversableAgent
from agentkit.conversation.model import Binding, list_tools, model_reply
from agentkit.errors import WrongArgument
from agentkit.events import Noted
from agentkit.llm.cache import Cache
from agentkit.llm.calls.scripted import scripted_model
from agentkit.messages import sendable_form
from tests.conversation.cast import agent, call, hearing, modelled

BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


def test_tool_responses_are_unrolled() -> None:
    responses = [
        {"tool_call_id": "1", "role": "tool", "content": "3"},
        {"tool_call_id": "2", "role": "tool", "content": "4"},
    ]
    history: list[dict[str, Any]] = [
        {"role": "user", "content": "x", "name": "ann"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}, {"id": "2"}]},
        {"role": "tool", "content": "3\n\n4", "tool_responses": responses, "name": "ann"},
        {"role": "user", "content": "rather not", "tool_responses": responses[:1]},
    ]
    before = copy.deepcopy(history)
    assert sendable_form(history) == [
        history[0],
        history[1],
        *responses,
        responses[0],
        {"role": "user", "content": "rather not"},
    ]
    assert history == before


def test_contexts_stay_behind_and_function_results_become_texts() -> None:
    history: list[dict[str, Any]] = [
        {"role": "user", "content": "x", "context": {"a": 1}},
        {"role": "function", "name": "f", "content": {"a": 1}},
        {"role": "tool", "content": "alone", "tool_call_id": "1"},
    ]
    assert sendable_form(history) == [
        {"role": "user", "content": "x"},
        {"role": "function", "name": "f", "content": "{'a': 1}"},
        {"role": "tool", "content": "alone", "tool_call_id": "1"},
    ]


class Asked:
    """A client that keeps what it is asked and gives back what it was made with."""

    def __init__(self, *replies: Any) -> None:
        self.replies = list(replies)
        self.asked: dict[str, Any] = {}

    def create(self, **asked: Any) -> Any:
        self.asked = asked
        return None

    def extract_text_or_completion_object(self, response: Any) -> list[Any]:
        return self.replies


def test_contexts_of_all_messages_are_merged_later_ones_first() -> None:
    client = Asked("fine")
    history: list[dict[str, Any]] = [
        {"content": "x", "context": {"a": 1, "b": 1}},
        {"content": "y"},
        {"content": "z", "context": {"b": 2}},
    ]
    assert model_reply(client, history, None, agent("ann"), {"tools": ["t"]}) == "fine"
    assert client.asked["context"] == {"a": 1, "b": 2}
    assert client.asked["tools"] == ["t"]
    model_reply(client, [{"content": "x"}], None, agent("ann"), {})
    assert client.asked["context"] is None


@pytest.mark.parametrize("replies", [[], [None]])
def test_an_empty_reply_is_none_and_told(replies: list[Any]) -> None:
    with hearing() as events:
        assert model_reply(Asked(*replies), [{"content": "x"}], None, agent("ann"), {}) is None
    assert events == [Noted("ann", "the model gave an empty reply")]


def test_calls_are_made_acceptable_to_servers() -> None:
    made = {
        "content": None,
        "function_call": {"name": "bad name!", "arguments": "{}"},
        "tool_calls": [
            {"id": None, "type": None, "function": {"name": "a.b", "arguments": "{}"}},
            {"id": "2", "type": "function", "function": {"name": "x" * 80}},
        ],
    }
    reply = model_reply(Asked(made), [{"content": "x"}], None, agent("ann"), {})
    assert isinstance(reply, dict)
    assert reply["function_call"]["name"] == "bad_name_"
    assert reply["tool_calls"] == [
        {"function": {"name": "a_b", "arguments": "{}"}},
        {"id": "2", "type": "function", "function": {"name": "x" * 64}},
    ]


def test_configurations() -> None:
    assert Binding("ann", False).client is None
    nothing: list[dict[str, Any]] = [{}, {"config_list": []}, {"config_list": [{"model": ""}]}]
    for empty in nothing:
        with pytest.raises(WrongArgument, match="ann: llm_config names no model"):
            Binding("ann", empty)
    given: dict[str, Any] = {
        "config_list": [{"model": scripted_model([])}],
        "tools": [{"function": {"name": "f"}}],
    }
    binding = Binding("ann", given)
    assert list_tools(binding.config) == {"tools": [{"function": {"name": "f"}}]}
    assert isinstance(binding.config, dict)
    binding.config["tools"].append({"function": {"name": "g"}})
    assert len(given["tools"]) == 1


def test_a_default_configuration_of_a_class() -> None:
    class Configured(ConversableAgent):
        # AutoGen's form.
        DEFAULT_CONFIG = {"config_list": [{"model": scripted_model(["from the class"])}]}  # noqa: RUF012

    assert Configured("c").generate_oai_reply([{"role": "user", "content": "x"}]) == (
        True,
        "from the class",
    )
    assert Configured("c", llm_config=False).client is None


@BOTH
def test_the_system_message_comes_first_and_may_change(is_async: bool) -> None:
    ann, client = modelled("ann", "a", "b", system_message="be kind")
    asked = [{"role": "user", "content": "x"}]
    call(is_async, ann, "generate_reply", messages=asked)
    ann.update_system_message("be brief")
    call(is_async, ann, "generate_reply", messages=asked)
    assert [request["messages"][0] for request in client.requests] == [
        {"content": "be kind", "role": "system"},
        {"content": "be brief", "role": "system"},
    ]
    assert ann.description == "be kind"


@BOTH
def test_usage_is_summed_and_forgotten_by_reset(is_async: bool) -> None:
    ann, _ = modelled("ann", "one", "two")
    asked = [{"role": "user", "content": "x"}]
    with Cache.memory() as cache:
        ann.client_cache = cache
        for _ in range(3):
            call(is_async, ann, "generate_reply", messages=asked)
    actual, total = ann.get_actual_usage(), ann.get_total_usage()
    assert actual is not None
    assert total is not None
    assert total["scripted"]["total_tokens"] == 3 * actual["scripted"]["total_tokens"] > 0
    ann.reset()
    assert ann.get_actual_usage() is ann.get_total_usage() is None


def test_subclasses_may_ask_a_client_of_their_own() -> None:
    (ann, _), (other, _) = modelled("ann"), modelled("other", "from another client")
    assert (
        ann._generate_oai_reply_from_client(other.client, [{"role": "user", "content": "hi"}], None)
        == "from another client"
    )
