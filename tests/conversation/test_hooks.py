"""Functions that are hung into an agent: what they see, what they may change, in which order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from agentkit import Agent, ConversableAgent
from agentkit.conversation.hooks import HOOKABLE, Hooks
from agentkit.core.twin import SYNC
from agentkit.errors import WrongArgument, WrongType
from agentkit.messages import Stored, copy_message
from tests.conversation.cast import agent, call, said, speaker

BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


def plain(content: Any, **more: Any) -> Stored:
    return copy_message({"content": content, "role": "user", **more})


def apply(
    method: Callable[..., Coroutine[Any, Any, list[Stored]]], messages: list[Stored]
) -> list[Stored]:
    return asyncio.run(method(SYNC, messages))


def test_only_known_methods_take_hooks_and_each_hook_once() -> None:
    hooks = Hooks("ann")
    for name in HOOKABLE:
        hooks.register(name, print)
        with pytest.raises(
            WrongArgument, match=f"ann: .*print.* is already registered as a hook of {name}"
        ):
            hooks.register(name, print)
    with pytest.raises(
        WrongArgument,
        match="ann: 'generate_reply' is not a hookable method; choose one of process_last",
    ):
        hooks.register("generate_reply", print)
    with pytest.raises(WrongType, match="ann: a hook must be callable, not None"):
        hooks.register("update_agent_state", None)  # type: ignore[arg-type]


def test_hooks_run_in_the_order_of_their_registration() -> None:
    hooks = Hooks("ann")
    for letter in "abc":
        hooks.register(
            "process_last_received_message", lambda content, letter=letter: content + letter
        )
        hooks.register(
            "process_all_messages_before_reply",
            lambda messages, letter=letter: [*messages, plain(letter)],
        )
    messages = [plain("x")]
    assert [m["content"] for m in apply(hooks.last_message, messages)] == ["xabc"]
    assert [m["content"] for m in apply(hooks.all_messages, messages)] == ["x", "a", "b", "c"]
    assert messages == [plain("x")]


@pytest.mark.parametrize(
    "message",
    [
        plain("exit"),
        plain(None, tool_calls=[1]),
        plain("x", function_call={"name": "f"}),
        plain("x", context={"a": 1}),
        plain(lambda context: "x", context={}),
        {"role": "user"},
    ],
)
def test_the_last_message_is_left_alone(message: Stored) -> None:
    hooks = Hooks("ann")
    hooks.register("process_last_received_message", lambda content: "changed")
    assert apply(hooks.last_message, [message]) == [message]
    assert apply(hooks.last_message, []) == []


def test_parts_of_a_message_can_be_processed() -> None:
    hooks = Hooks("ann")
    hooks.register(
        "process_last_received_message",
        lambda content: [*content, {"type": "text", "text": "more"}],
    )
    messages = [plain([{"type": "text", "text": "x"}])]
    assert len(apply(hooks.last_message, messages)[0]["content"]) == 2
    assert len(messages[0]["content"]) == 1


@BOTH
def test_what_is_sent_is_what_the_hooks_made_of_it(is_async: bool) -> None:
    seen: list[Any] = []

    def censor(sender: Any, message: Any, recipient: Any, silent: bool) -> Any:
        seen.append((sender.name, message, recipient.name, silent))
        return {"content": f"[{message}]"}

    ann, bob = agent("ann"), agent("bob")
    ann.register_hook("process_message_before_send", censor)
    call(is_async, ann, "send", "x", bob, silent=True)
    assert seen == [("ann", "x", "bob", True)]
    assert said(ann, bob) == said(bob, ann) == ["[x]"]


@BOTH
def test_a_hook_may_be_async(is_async: bool) -> None:
    async def shout(content: str) -> str:
        await asyncio.sleep(0)
        return content.upper()

    bob = speaker("bob", None)
    bob.register_hook("process_last_received_message", shout)
    heard: list[Any] = []

    def look(recipient: Any, messages: Any, sender: Any, config: Any) -> Any:
        heard.append(messages[-1]["content"])
        return False, None

    bob.register_reply(None, look)
    call(is_async, bob, "generate_reply", messages=[plain("x")])
    assert heard == ["X"]


@BOTH
def test_the_state_is_updated_before_each_reply(is_async: bool) -> None:
    bob = agent("bob", default_auto_reply="on")
    bob.register_hook(
        "update_agent_state", lambda who, messages: who.set_context("seen", messages[-1]["content"])
    )
    call(is_async, bob, "generate_reply", messages=[plain("x")])
    assert bob.get_context("seen") == "x"


def test_context_variables() -> None:
    given = {"a": 1}
    ann = agent("ann", context_variables=given)
    ann.update_context({"b": 2})
    ann.set_context("c", 3)
    assert (
        ann.get_context("a"),
        ann.pop_context("b"),
        ann.pop_context("b", "gone"),
        ann.get_context("z", "none"),
    ) == (
        1,
        2,
        "gone",
        "none",
    )
    assert given == {"a": 1, "c": 3}  # shared, as in AutoGen: agents may work on the same variables


@pytest.mark.parametrize("name", HOOKABLE)
def test_an_async_hook_may_wait_for_the_loop_of_its_async_chat(name: str) -> None:
    async def talk() -> list[Any]:
        opened, loop = asyncio.Event(), asyncio.get_running_loop()

        async def hook(*args: Any, **kwargs: Any) -> Any:
            assert asyncio.get_running_loop() is loop
            await opened.wait()
            return kwargs.get("message", args[-1] if args else None)

        async def open_it() -> None:
            await asyncio.sleep(0)
            opened.set()

        ann, bob = agent("ann"), speaker("bob", "hello")
        (ann if name == "process_message_before_send" else bob).register_hook(name, hook)
        task = asyncio.create_task(open_it())
        await ann.a_initiate_chat(bob, message="hi", max_turns=1, silent=True)
        await task
        return said(ann, bob)

    assert asyncio.run(talk()) == ["hi", "hello"]


@BOTH
def test_an_override_of_what_calls_the_hooks_counts(is_async: bool) -> None:
    class Shouting(ConversableAgent):
        def process_last_received_message(self, messages: list[Stored]) -> list[Stored]:
            return [*messages[:-1], {**messages[-1], "content": messages[-1]["content"].upper()}]

    def repeat(recipient: Any, messages: Any, sender: Any, config: Any) -> Any:
        return True, messages[-1]["content"]

    bob, eve = Shouting("bob", human_input_mode="NEVER"), speaker("eve")
    vars(eve)["process_all_messages_before_reply"] = lambda messages: [plain("changed")]
    for each in (bob, eve):
        each.register_reply([Agent, None], repeat)
    assert call(is_async, bob, "generate_reply", [plain("hi")]) == "HI"
    assert call(is_async, eve, "generate_reply", [plain("hi")]) == "changed"


@BOTH
def test_what_hooks_change_within_a_content_is_theirs_alone(is_async: bool) -> None:
    ann, bob = agent("ann"), speaker("bob", "one")

    def add(content: Any) -> Any:
        content.append({"type": "text", "text": "more"})
        return content

    def hide(messages: list[Any]) -> list[Any]:
        messages[-1]["content"][0]["text"] = "hidden"
        return messages

    bob.register_hook("process_last_received_message", add)
    bob.register_hook("process_all_messages_before_reply", hide)
    given = {"content": [{"type": "text", "text": "hi"}]}
    result = call(is_async, ann, "initiate_chat", bob, message=given, max_turns=1)
    whole = [{"type": "text", "text": "hi"}]
    assert given == {"content": whole}
    assert said(bob, ann)[0] == said(ann, bob)[0] == result.chat_history[0]["content"] == whole
    said(ann, bob)[0].append("later")
    assert result.chat_history[0]["content"] == whole
