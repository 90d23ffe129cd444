"""Tools, hooks, replies, executors and models that raise or make no sense: a chat ends, and
everything stays consistent.
"""

from __future__ import annotations

import asyncio
import copy
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from agentkit import Agent, ConversableAgent
from agentkit.core import bus, stopping
from agentkit.errors import AsyncReplyInSyncChat, BadModelReply, ModelUnreachable, Stopped
from agentkit.events import Event, ModelReplied, TokenDelta, ToolCalled, ToolReturned
from agentkit.llm.cache import Cache
from agentkit.llm.calls.scripted import scripted_model
from agentkit.llm.calls.stream import delta
from tests.conversation.cast import (
    CALL_ADD,
    Executor,
    agent,
    chat,
    hearing,
    modelled,
    said,
    speaker,
)

BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
CODE = "```python\nprint(1)\n```"


def raising(*_: Any, **__: Any) -> Any:
    raise RuntimeError("broken")


def with_hook(name: str) -> ConversableAgent:
    bob = speaker("bob", "fine")
    bob.register_hook(name, raising)
    return bob


def with_reply() -> ConversableAgent:
    bob = agent("bob")
    bob.register_reply([Agent, None], raising)
    return bob


BROKEN = {
    "last message": lambda: with_hook("process_last_received_message"),
    "all messages": lambda: with_hook("process_all_messages_before_reply"),
    "before send": lambda: with_hook("process_message_before_send"),
    "state": lambda: with_hook("update_agent_state"),
    "reply function": with_reply,
    "executor": lambda: agent(
        "bob", code_execution_config={"executor": Executor(RuntimeError("broken"))}
    ),
    "model": lambda: modelled("bob", RuntimeError("broken"))[0],
    "termination check": lambda: agent("bob", is_termination_msg=raising),
    "summary of a nested chat": lambda: nesting(),
}


def nesting() -> ConversableAgent:
    bob = agent("bob")
    queue = [{"recipient": speaker("cid", "inner"), "max_turns": 1, "summary_method": raising}]
    bob.register_nested_chats(queue, trigger=lambda sender: sender.name == "ann")
    return bob


@BOTH
@pytest.mark.parametrize("make", BROKEN.values(), ids=BROKEN)
def test_what_raises_leaves_everything_consistent(make: Any, is_async: bool) -> None:
    ann, bob, cache = agent("ann"), make(), Cache.memory()
    ann.client_cache = bob.client_cache = cache
    with pytest.raises(RuntimeError, match="broken"):
        chat(is_async, ann, bob, CODE, cache=Cache.memory())
    assert said(ann, bob) == said(bob, ann) == [CODE]
    assert ann.client_cache is bob.client_cache is cache
    assert ann._consecutive_auto_reply_counter[bob] == 0
    assert chat(is_async, ann, speaker("cid", "fine"), max_turns=1).summary == "fine"


@BOTH
def test_a_chat_that_was_broken_off_can_be_had_again(is_async: bool) -> None:
    ann, bob = agent("ann"), speaker("bob", "one", RuntimeError("broken"), "two", "three")
    with pytest.raises(RuntimeError, match="broken"):
        chat(is_async, ann, bob)
    assert said(ann, bob) == said(bob, ann) == ["hi", "one", ""]
    again = chat(is_async, ann, bob, "again", max_turns=1)
    assert [message["content"] for message in again.chat_history] == ["again", "two"]
    onward = chat(is_async, ann, bob, "on", max_turns=1, clear_history=False)
    assert [message["content"] for message in onward.chat_history] == [
        "again",
        "two",
        "on",
        "three",
    ]


@BOTH
def test_a_tool_that_raises_is_told_to_the_model(is_async: bool) -> None:
    ann, _ = modelled("ann", {"content": None, "tool_calls": [CALL_ADD]}, "I see")
    result = chat(is_async, agent("bob", function_map={"add": raising}), ann, "add!", max_turns=2)
    assert [message["content"] for message in result.chat_history] == [
        "add!",
        None,
        "Error: broken",
        "I see",
    ]


def test_a_sync_chat_that_meets_an_async_reply_changes_nothing() -> None:
    async def later(*_: Any, **__: Any) -> Any:
        return True, "later"

    ann, bob, cache = agent("ann"), agent("bob"), Cache.memory()
    bob.register_reply([Agent, None], later)
    ann.client_cache = cache
    with pytest.raises(AsyncReplyInSyncChat, match="bob has async reply functions"):
        chat(False, ann, bob)
    assert bob not in ann.chat_messages
    assert ann.client_cache is cache
    assert chat(True, ann, bob, max_turns=1).summary == "later"


# A model that makes no sense never hangs a chat


@BOTH
@pytest.mark.parametrize(
    ("reply", "history"),
    [
        ("", ["hi", ""]),
        ({"content": None}, ["hi", ""]),
        ({"content": "", "tool_calls": []}, ["hi", ""]),
        ("\x00\ud800 nonsense", ["hi", "\x00\ud800 nonsense"]),
        ('{"tool_calls": [', ["hi", '{"tool_calls": [']),
    ],
)
def test_a_model_that_says_nothing_or_nonsense_ends_in_a_result(
    reply: Any, history: list[str], is_async: bool
) -> None:
    bob, _ = modelled("bob", reply)
    with hearing():
        result = chat(is_async, agent("ann"), bob, max_turns=1)
    assert [message["content"] for message in result.chat_history][:2] == history


@BOTH
@pytest.mark.parametrize(
    ("name", "arguments"),
    [("f", '{"a":'), ("bad name!", "nonsense"), ("f", "[]"), ("f", "5"), ("f", '"')],
)
def test_a_model_that_calls_nonsense_is_told_and_stopped_by_the_limit(
    name: str, arguments: str, is_async: bool
) -> None:
    made = {"id": "1", "type": "function", "function": {"name": name, "arguments": arguments}}
    bob, client = modelled(
        "bob", *[{"content": None, "tool_calls": [made]}] * 9, max_consecutive_auto_reply=3
    )
    result = chat(is_async, agent("ann", function_map={"f": len}), bob)
    assert len(client.requests) == 3
    told = [message["content"] for message in result.chat_history if message["role"] == "tool"]
    assert len(told) == 3
    assert all(text.startswith("Error: ") for text in told)
    assert result.stop_reason == "bob reached its limit of automatic replies (3)"


class Odd:
    """A client that gives back whatever it was made with."""

    def __init__(self, config: dict[str, Any], messages: Any) -> None:
        self.messages = messages

    def create(self, params: dict[str, Any]) -> Any:
        return SimpleNamespace(choices=[], model="odd", cost=0)

    def message_retrieval(self, response: Any) -> Any:
        return self.messages

    def cost(self, response: Any) -> float:
        return 0.0

    @staticmethod
    def get_usage(response: Any) -> dict[str, Any]:
        return {}


def called(**call: Any) -> list[dict[str, Any]]:
    return [{"content": None, "tool_calls": [{"id": "1", "type": "function", **call}]}]


@BOTH
@pytest.mark.parametrize(
    ("messages", "error"),
    [
        ([], None),
        ([None], None),
        (["fine"], None),
        ([{"content": "a dict"}], None),
        ([{}], None),
        ([SimpleNamespace(content=[{"type": "text", "text": "parts"}])], None),
        ([5], BadModelReply),
        ([SimpleNamespace()], BadModelReply),
        ([{"content": 5}], BadModelReply),
        ([{"content": ["x"]}], BadModelReply),
        ([SimpleNamespace(content=5)], BadModelReply),
        ([{"content": None, "tool_calls": 5}], BadModelReply),
        ([{"content": None, "tool_calls": ["f"]}], BadModelReply),
        ([SimpleNamespace(content="x", tool_calls="abc")], BadModelReply),
        (called(), BadModelReply),
        (called(function={}), BadModelReply),
        (called(function={"name": None}), BadModelReply),
        (called(function={"name": 5}), BadModelReply),
        ([{"content": None, "function_call": {"arguments": "{}"}}], BadModelReply),
        ([{"content": None, "function_call": "f"}], BadModelReply),
    ],
)
def test_a_client_of_a_script_that_breaks_the_protocol_raises_or_ends(
    messages: Any, error: type[Exception] | None, is_async: bool
) -> None:
    bob = agent(
        "bob",
        llm_config={"config_list": [{"model": "m", "model_client_cls": "Odd"}], "cache_seed": None},
    )
    bob.register_model_client(Odd, messages=messages)
    ann = agent("ann")
    with (
        hearing() as events,
        pytest.raises(error, match="bob: the model m ") if error else nullcontext(),
    ):
        chat(is_async, ann, bob, max_turns=2)
    ends = [event.status for event in events if isinstance(event, ModelReplied)]
    assert ends == [*["ok"] * len(ends[:-1]), "failed" if error else "ok"]
    assert said(ann, bob)[0] == "hi"
    assert ann.client_cache is bob.client_cache is None
    assert chat(is_async, ann, speaker("cid", "fine"), max_turns=1).summary == "fine"


@BOTH
def test_a_call_without_a_name_says_whose_model_it_was(is_async: bool) -> None:
    bob = agent(
        "bob",
        llm_config={"config_list": [{"model": "m", "model_client_cls": "Odd"}], "cache_seed": None},
    )
    bob.register_model_client(Odd, messages=called(function={"arguments": "{}"}))
    with pytest.raises(
        BadModelReply, match=r"bob: .* a function without a name: \{'arguments': '\{\}'\}"
    ):
        chat(is_async, agent("ann"), bob)


@BOTH
def test_half_a_stream_is_what_the_model_said_when_the_run_was_stopped(is_async: bool) -> None:
    model = scripted_model(["one two three four"], delay_s=0.01)
    bob = agent(
        "bob", llm_config={"config_list": [{"model": model, "stream": True}], "cache_seed": None}
    )
    ann, signal = agent("ann"), stopping.StopSignal()

    def stop_at_the_second_word(event: Event) -> None:
        if isinstance(event, TokenDelta) and "two" in event.text:
            signal.set()

    with (
        hearing(),
        bus.listening(stop_at_the_second_word),
        stopping.stoppable(signal),
        pytest.raises(Stopped) as stopped,
    ):
        chat(is_async, ann, bob)
    assert stopped.value.partial.split() == ["one", "two"]
    assert said(ann, bob) == said(bob, ann) == ["hi"]
    assert ann.client_cache is bob.client_cache is None


@BOTH
def test_a_stream_that_breaks_off_raises_and_leaves_the_chat_as_it_was(is_async: bool) -> None:
    def breaks_off(params: Any) -> Any:
        delta("one two")
        raise ModelUnreachable("the server closed the stream")

    bob, _ = modelled("bob", breaks_off, "better")
    ann = agent("ann")
    with pytest.raises(ModelUnreachable, match="closed the stream"):
        chat(is_async, ann, bob)
    assert said(ann, bob) == said(bob, ann) == ["hi"]
    assert chat(is_async, ann, bob, max_turns=1).summary == "better"


@BOTH
def test_calls_of_a_scripts_own_objects_are_executed(is_async: bool) -> None:
    made = SimpleNamespace(
        id="1", type="function", function=SimpleNamespace(name="f", arguments="{}")
    )
    bob = agent(
        "bob",
        llm_config={"config_list": [{"model": "m", "model_client_cls": "Odd"}], "cache_seed": None},
    )
    bob.register_model_client(Odd, messages=[SimpleNamespace(content=None, tool_calls=[made])])
    result = chat(is_async, agent("ann", function_map={"f": lambda: "done"}), bob, max_turns=2)
    assert result.chat_history[2]["tool_responses"] == [
        {"tool_call_id": "1", "role": "tool", "content": "done"}
    ]


def test_a_reply_of_a_script_is_not_written_to() -> None:
    made = {
        "content": None,
        "tool_calls": [
            {"id": None, "type": "function", "function": {"name": "a.b", "arguments": "{}"}}
        ],
    }
    before = copy.deepcopy(made)
    bob = agent(
        "bob",
        llm_config={"config_list": [{"model": "m", "model_client_cls": "Odd"}], "cache_seed": None},
    )
    bob.register_model_client(Odd, messages=[made])
    reply = bob.generate_reply(messages=[{"role": "user", "content": "x"}])
    assert isinstance(reply, dict)
    assert reply["tool_calls"][0]["function"]["name"] == "a_b"
    assert made == before


class Uncounted(Odd):
    """A client that cannot say what a call took."""

    def cost(self, response: Any) -> float:
        """It cannot."""
        raise ValueError("no prices here")


@BOTH
def test_a_client_that_cannot_count_fails_its_call_with_its_own_error(is_async: bool) -> None:
    bob = agent(
        "bob",
        llm_config={
            "config_list": [{"model": "m", "model_client_cls": "Uncounted"}],
            "cache_seed": None,
        },
    )
    bob.register_model_client(Uncounted, messages=["fine"])
    with hearing() as events, pytest.raises(ValueError, match="no prices here"):
        chat(is_async, agent("ann"), bob)
    assert [(event.status, event.cost) for event in events if isinstance(event, ModelReplied)] == [
        ("failed", None)
    ]


@BOTH
def test_what_a_stopped_reply_took_is_in_the_sums(is_async: bool) -> None:
    signal = stopping.StopSignal()
    model = scripted_model(["one two three"], delay_s=0.01)
    bob = agent(
        "bob", llm_config={"config_list": [{"model": model, "stream": True}], "cache_seed": None}
    )

    def stop(event: Event) -> None:
        if isinstance(event, TokenDelta):
            signal.set()

    with (
        hearing() as events,
        bus.listening(stop),
        stopping.stoppable(signal),
        pytest.raises(Stopped),
    ):
        chat(is_async, agent("ann"), bob)
    (told,) = [event for event in events if isinstance(event, ModelReplied)]
    sums = [bob.get_actual_usage(), bob.get_total_usage()]
    assert [each and each["scripted"]["total_tokens"] for each in sums] == [told.usage.total] * 2


@BOTH
def test_a_cancelled_or_stopped_tool_has_returned_for_those_who_listen(is_async: bool) -> None:
    def work() -> None:
        raise Stopped("stopped by the user")

    made = {
        "content": None,
        "tool_calls": [{"id": "1", "function": {"name": "work", "arguments": "{}"}}],
    }
    with hearing() as events, pytest.raises(Stopped):
        chat(is_async, agent("ann"), agent("bob", function_map={"work": work}), made)
    called_, returned = [event for event in events if isinstance(event, ToolCalled | ToolReturned)]
    assert isinstance(returned, ToolReturned)
    assert (returned.call_id, returned.ok, returned.content) == (
        called_.call_id,
        False,
        "Error: stopped by the user",
    )


def test_a_cancelled_async_tool_has_returned_for_those_who_listen() -> None:
    begun = asyncio.Event()

    async def wait() -> None:
        begun.set()
        await asyncio.Event().wait()

    made = {
        "content": None,
        "tool_calls": [{"id": "1", "function": {"name": "wait", "arguments": "{}"}}],
    }

    async def main() -> None:
        task = asyncio.ensure_future(
            agent("ann").a_initiate_chat(agent("bob", function_map={"wait": wait}), message=made)
        )
        await begun.wait()
        task.cancel()
        await task

    with hearing() as events, pytest.raises(asyncio.CancelledError):
        asyncio.run(main())
    assert [(event.ok, event.content) for event in events if isinstance(event, ToolReturned)] == [
        (False, "Error: CancelledError")
    ]
