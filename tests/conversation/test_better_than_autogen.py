"""What is better on purpose than in AutoGen 0.2 / AG2 0.6: one or more tests for each defect of
theirs that is gone here.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest

from agentkit import ConversableAgent
from agentkit.errors import WrongArgument
from agentkit.llm.cache import Cache
from tests.conversation.cast import (
    CALL_ADD,
    Console,
    agent,
    call,
    chat,
    hearing,
    modelled,
    said,
    speaker,
)

BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


# 1. Async chats ran both termination checks: counters rose by two a turn and the human was asked
#    twice.


@BOTH
def test_01_a_turn_counts_once(is_async: bool) -> None:
    ann, bob = (
        agent(name, default_auto_reply="on", max_consecutive_auto_reply=4)
        for name in ("ann", "bob")
    )
    assert len(chat(is_async, ann, bob).chat_history) == 1 + 2 * 4
    ann, bob = agent("ann", default_auto_reply="on"), speaker("bob", "one", "two")
    chat(is_async, ann, bob)
    assert ann._consecutive_auto_reply_counter[bob] == 2


@BOTH
def test_01_the_person_is_asked_once_a_turn(is_async: bool) -> None:
    console = Console("first", "second", "exit")
    ann = ConversableAgent("ann", human_input_mode="ALWAYS")
    bob = speaker("bob", "one", "two", "three")
    with hearing(console):
        chat(is_async, ann, bob)
    assert len(console.asked) == 3
    assert said(ann, bob) == ["hi", "one", "first", "two", "second", "three"]


# 2. Hooks ran in a different order in sync and async, and process_last_received_message changed the
#    stored history.


@BOTH
def test_02_hooks_run_in_one_order_and_on_copies(is_async: bool) -> None:
    order: list[str] = []
    bob = speaker("bob", "fine")

    def last(content: str) -> str:
        order.append("last")
        return content.upper()

    def every(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        order.append(f"all {messages[-1]['content']}")
        messages[-1]["content"] = "changed in place"
        return messages

    bob.register_hook("process_all_messages_before_reply", every)
    bob.register_hook("process_last_received_message", last)
    bob.register_hook("update_agent_state", lambda *_: order.append("state"))
    ann = agent("ann")
    ann.send("hi", bob, request_reply=False, silent=True)
    assert call(is_async, bob, "generate_reply", sender=ann) == "fine"
    assert order == ["state", "last", "all HI"]
    assert said(bob, ann) == ["hi"]


# 3. A callable content raised in the default termination check, and its context was popped from the
#    stored message.


def balance(context: dict[str, Any]) -> str:
    return f"balance: {context['balance']}"


@BOTH
def test_03_a_message_with_a_callable_content_works(is_async: bool) -> None:
    bob, client = modelled("bob", "noted", "noted again")
    ann = agent("ann")
    message = {"content": balance, "context": {"balance": 5}}
    result = chat(is_async, ann, bob, message, max_turns=1)
    assert client.requests[0]["messages"][-1]["content"] == "balance: 5"
    assert result.chat_history[0]["context"] == {"balance": 5}
    assert result.chat_history[0]["content"] is balance
    assert message == {"content": balance, "context": {"balance": 5}}
    call(
        is_async,
        ann,
        "send",
        {"content": "and now?", "context": {"balance": 7}},
        bob,
        request_reply=True,
        silent=True,
    )
    assert [m["content"] for m in client.requests[1]["messages"][1:]] == [
        "balance: 7",
        "noted",
        "and now?",
    ]


@BOTH
def test_03_a_callable_content_may_end_the_chat(is_async: bool) -> None:
    result = chat(
        is_async,
        agent("ann"),
        agent("bob"),
        {"content": lambda context: context["word"], "context": {"word": "TERMINATE"}},
    )
    assert len(result.chat_history) == 1
    assert result.stop_reason == "ann sent a termination message"


# 4. ChatResult.chat_history and .human_input were live lists that later chats rewrote.


@BOTH
def test_04_results_are_snapshots(is_async: bool) -> None:
    console = Console("typed", "exit", "other", "exit", "more", "exit")
    ann = ConversableAgent("ann", human_input_mode="ALWAYS")
    bob = speaker("bob", "one", "two", "three", "four", "five", "six")
    with hearing(console):
        first = chat(is_async, ann, bob, "first")
        history, typed = [dict(each) for each in first.chat_history], list(first.human_input)
        second = chat(is_async, ann, bob, "second")
        chat(is_async, ann, bob, "third", clear_history=False)
    ann.chat_messages[bob][0]["content"] = "rewritten"
    assert (first.chat_history, first.human_input) == (history, typed)
    assert typed == ["typed", "exit"]
    assert second.human_input == ["other", "exit"]
    assert second.chat_history[0]["content"] == "second"


# 5. Registering a tool rebuilt the client and lost custom model clients and usage totals;
#    client_cache was not restored.


class Counting:
    """A model client of a script's own."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.asked: list[Any] = []

    def create(self, params: dict[str, Any]) -> Any:
        from types import SimpleNamespace

        self.asked.append(params)
        return SimpleNamespace(choices=["answer"], model="own", cost=0.5)

    def message_retrieval(self, response: Any) -> list[str]:
        return list(response.choices)

    def cost(self, response: Any) -> float:
        return float(response.cost)

    @staticmethod
    def get_usage(response: Any) -> dict[str, Any]:
        return {
            "prompt_tokens": 2,
            "completion_tokens": 1,
            "total_tokens": 3,
            "cost": response.cost,
            "model": response.model,
        }


@BOTH
def test_05_registering_a_tool_keeps_the_client_and_its_sums(is_async: bool) -> None:
    ann = agent(
        "ann",
        llm_config={
            "config_list": [{"model": "own", "model_client_cls": "Counting"}],
            "cache_seed": None,
        },
    )
    ann.register_model_client(Counting)
    client = ann.client
    assert (
        call(is_async, ann, "generate_reply", messages=[{"role": "user", "content": "x"}])
        == "answer"
    )

    @ann.register_for_llm(description="Adds.")
    def add(a: int, b: int) -> int:
        return a + b

    assert ann.client is client
    assert ann.get_total_usage() == {
        "total_cost": 0.5,
        "own": {"cost": 0.5, "prompt_tokens": 2, "completion_tokens": 1, "total_tokens": 3},
    }
    assert (
        call(is_async, ann, "generate_reply", messages=[{"role": "user", "content": "x"}])
        == "answer"
    )
    usage = ann.get_actual_usage()
    assert usage is not None
    assert usage["total_cost"] == 1.0


@BOTH
def test_05_the_next_request_offers_the_new_tool(is_async: bool) -> None:
    ann, client = modelled("ann", "a", "b")
    asked = [{"role": "user", "content": "x"}]
    call(is_async, ann, "generate_oai_reply", asked)
    ann.update_tool_signature({"type": "function", "function": {"name": "add"}}, is_remove=False)
    call(is_async, ann, "generate_oai_reply", asked)
    assert ["tools" in request for request in client.requests] == [False, True]


@BOTH
def test_05_the_cache_is_restored_after_an_exception(is_async: bool) -> None:
    own = Cache.memory()
    ann, bob = agent("ann"), speaker("bob", RuntimeError("lost"), "found")
    ann.client_cache, bob.client_cache = own, None
    with pytest.raises(RuntimeError, match="lost"):
        chat(is_async, ann, bob, cache=Cache.memory())
    assert ann.client_cache is own
    assert bob.client_cache is None
    assert chat(is_async, ann, bob, max_turns=1).summary == "found"


# 6. IndexErrors: preserving more than exists, the last message of an emptied conversation,
#    generate_reply(messages=[]).


def test_06_preserving_more_than_exists_keeps_all() -> None:
    ann, bob = agent("ann"), agent("bob")
    ann.send("one", bob, silent=True)
    bob.clear_history(ann, nr_messages_to_preserve=9)
    ann.clear_history(nr_messages_to_preserve=9)
    assert said(bob, ann) == said(ann, bob) == ["one"]


def test_06_the_last_message_of_an_emptied_conversation_is_none() -> None:
    ann, bob = agent("ann"), agent("bob")
    ann.send("one", bob, silent=True)
    ann.clear_history(bob)
    assert ann.last_message(bob) is ann.last_message() is None


@BOTH
def test_06_no_messages_get_the_default_reply(is_async: bool) -> None:
    ann = agent(
        "ann",
        default_auto_reply="default",
        code_execution_config={"use_docker": False},
        function_map={"f": len},
    )
    assert call(is_async, ann, "generate_reply", messages=[]) == "default"
    assert call(is_async, ann, "generate_reply", sender=agent("bob")) == "default"


# 7. register_function({"unknown": None}) raised TypeError; a verbose unknown function
#    UnboundLocalError; None was no trigger.


def test_07_an_unknown_function_can_be_removed_and_called_verbosely() -> None:
    ann = agent("ann", function_map={"known": len})
    with pytest.warns(UserWarning, match="ann has no function 'unknown' to remove"):
        ann.register_function({"unknown": None})
    console = Console()
    with hearing(console):
        ok, result = ann.execute_function({"name": "unknown", "arguments": "{}"}, verbose=True)
    assert (ok, result["name"]) == (False, "unknown")
    assert "Functions that ann can execute: known." in result["content"]
    assert "unknown not found" in console.text


@BOTH
def test_07_none_triggers_without_a_sender(is_async: bool) -> None:
    ann = agent("ann", default_auto_reply="default")
    ann.register_reply(None, lambda *_, **__: (True, "nobody asked"))
    asked = [{"role": "user", "content": "x"}]
    assert call(is_async, ann, "generate_reply", messages=asked) == "nobody asked"
    assert call(is_async, ann, "generate_reply", messages=asked, sender=agent("bob")) == "default"


# 8. An async tool in a sync chat inside a running loop raised; a call without an id crashed in
#    async; None differed.


async def a_add(a: int, b: int) -> int:
    await asyncio.sleep(0)
    return a + b


def tool_chat(is_async: bool, functions: dict[str, Any], tool_call: dict[str, Any]) -> Any:
    ann = agent("ann", function_map=functions)
    return call(is_async, ann, "generate_tool_calls_reply", [{"tool_calls": [tool_call]}])[1]


def test_08_an_async_tool_works_in_a_sync_chat_inside_a_running_loop() -> None:
    async def main() -> Any:
        return tool_chat(False, {"add": a_add}, CALL_ADD)

    assert asyncio.run(main())["content"] == "3"


@BOTH
def test_08_a_call_without_an_id_and_a_result_of_none(is_async: bool) -> None:
    without = {key: value for key, value in CALL_ADD.items() if key != "id"}
    assert tool_chat(is_async, {"add": a_add}, without)["tool_responses"] == [
        {"role": "tool", "content": 3}
    ]
    nothing: dict[str, Any] = {"add": lambda a, b: None}
    assert tool_chat(is_async, nothing, CALL_ADD) == {
        "role": "tool",
        "tool_responses": [{"tool_call_id": "1", "role": "tool", "content": ""}],
        "content": "",
    }


# 9. Sync chats died by recursion near 400 automatic replies.


@BOTH
def test_09_only_the_limit_ends_a_long_chat(is_async: bool) -> None:
    most = sys.getrecursionlimit()
    ann, bob = (
        agent(name, default_auto_reply="on", max_consecutive_auto_reply=most)
        for name in ("ann", "bob")
    )
    result = chat(is_async, ann, bob)
    assert len(result.chat_history) == 2 * most + 1
    assert result.stop_reason == f"bob reached its limit of automatic replies ({most})"


# 10. Cyclic chat prerequisites returned an empty result in silence.


def test_10_a_circle_of_prerequisites_is_named() -> None:
    ann, bob = agent("ann"), agent("bob")
    needs = {"a": ["b"], "b": ["c"], "c": ["a"], "d": []}
    queue = [
        {"chat_id": key, "prerequisites": value, "recipient": bob, "message": "x"}
        for key, value in needs.items()
    ]
    with pytest.raises(WrongArgument, match=r"run in a circle: ('[abc]' -> ){3}'[abc]'"):
        asyncio.run(ann.a_initiate_chats(queue))
    assert bob not in ann.chat_messages


# 11. The legacy code path dropped stdout on failure.


def test_11_what_failing_code_printed_is_kept(tmp_path: Any) -> None:
    ann = agent(
        "ann", code_execution_config={"use_docker": False, "work_dir": str(tmp_path), "timeout": 30}
    )
    program = "```python\nprint('as far as here')\nraise SystemExit('no further')\n```"
    _, reply = ann.generate_code_execution_reply([{"role": "user", "content": program}])
    assert reply.startswith("exitcode: 1 (execution failed)\nCode output: ")
    assert "as far as here" in reply
    assert "no further" in reply


# 16. Termination is exact equality with TERMINATE, and every ended chat says why it ended.


@BOTH
@pytest.mark.parametrize(
    ("text", "ends"),
    [("TERMINATE", True), ("TERMINATE.", False), ("terminate", False), ("ok TERMINATE", False)],
)
def test_16_termination_is_exact(text: str, ends: bool, is_async: bool) -> None:
    result = chat(is_async, agent("ann", default_auto_reply="go on"), speaker("bob", text))
    assert (result.chat_history[-1]["content"] == text) == ends


@BOTH
def test_16_every_end_has_its_reason(is_async: bool) -> None:
    on = {"default_auto_reply": "on", "max_consecutive_auto_reply": 2}
    person = ConversableAgent("person", human_input_mode="ALWAYS")
    with hearing(Console("exit", "")):
        reasons = [
            chat(is_async, agent("ann", **on), speaker("bob", "TERMINATE")).stop_reason,
            chat(is_async, agent("ann", **on), agent("bob", **on)).stop_reason,
            chat(is_async, agent("ann", **on), agent("bob", **on), max_turns=1).stop_reason,
            chat(is_async, agent("ann"), speaker("bob")).stop_reason,
            chat(is_async, person, speaker("bob", "well?")).stop_reason,
            chat(is_async, person, speaker("bob", "TERMINATE")).stop_reason,
        ]
    assert reasons == [
        "bob sent a termination message",
        "bob reached its limit of automatic replies (2)",
        "the limit of 1 turns was reached",
        "bob gave no reply",
        "the person behind person ended the chat",
        "bob sent a termination message",
    ]
