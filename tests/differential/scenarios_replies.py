"""How a reply is found: the table of reply functions, triggers, hooks, nested chats."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from tests.differential.kit import Kit, scenario


def _says(
    text: str | None, final: bool = True, seen: list[Any] | None = None
) -> Callable[..., Any]:
    """A reply function that gives this text, and notes the call."""

    def reply(
        recipient: Any, messages: Any = None, sender: Any = None, config: Any = None
    ) -> tuple[bool, str | None]:
        if seen is not None:
            seen.append(
                [text, recipient.name, sender.name if sender else None, len(messages), config]
            )
        return final, text

    reply.__name__ = f"says_{text}"
    return reply


def _says_async(text: str) -> Callable[..., Any]:
    async def reply(
        recipient: Any, messages: Any = None, sender: Any = None, config: Any = None
    ) -> tuple[bool, str]:
        return True, text

    return reply


USER = [{"role": "user", "content": "m"}]


def _order(agent: Any) -> list[str]:
    """The names in the table; the oracle lists the two faces of a method one after the other, which
    count as one here.
    """
    names: list[str] = [
        entry["reply_func"].__name__.removeprefix("a_") for entry in agent._reply_func_list
    ]
    return [name for index, name in enumerate(names) if names[index - 1 : index] != [name]]


@scenario
def the_order_of_reply_functions(kit: Kit) -> Any:
    user = kit.UserProxyAgent("d", code_execution_config=False)
    agents = [
        kit.agent("a"),
        kit.agent("b", llm_config=kit.llm_config()),
        kit.AssistantAgent("c"),
        user,
    ]
    return [_order(agent) for agent in agents]


@scenario
def the_later_function_comes_first(kit: Kit) -> Any:
    agent, other = kit.agent("a"), kit.agent("other")
    for text in "xyz":
        agent.register_reply(kit.Agent, _says(text))
    return agent.generate_reply(USER, other)


@scenario
def the_position_of_a_function(kit: Kit) -> Any:
    agent = kit.agent("a")
    for text, position in (("x", 0), ("y", 1), ("z", 4), ("end", 99)):
        agent.register_reply(kit.Agent, _says(text), position)
    return _order(agent)


@scenario(both=True)
def functions_are_asked_until_one_is_final(kit: Kit) -> Any:
    agent, other, seen = kit.agent("a"), kit.agent("other"), list[Any]()
    agent.register_reply(kit.Agent, _says("third", True, seen))
    agent.register_reply(kit.Agent, _says("second", False, seen))
    agent.register_reply(kit.Agent, _says(None, False, seen), config=7)
    return [kit.call(agent, "generate_reply", USER, other), seen]


@scenario(both=True)
def a_final_function_may_give_no_reply(kit: Kit) -> Any:
    agent, other = kit.agent("a", default_auto_reply="default"), kit.agent("other")
    agent.register_reply(kit.Agent, _says(None))
    kit.call(other, "send", "m", agent, request_reply=True)
    return [kit.call(agent, "generate_reply", USER, other), kit.transcript(agent, other)]


@scenario
def triggers_of_every_kind(kit: Kit) -> Any:
    alice, bob, clerk = kit.agent("alice"), kit.agent("bob"), kit.AssistantAgent("clerk")
    triggers = {
        "class": kit.AssistantAgent,
        "base": kit.Agent,
        "name": "alice",
        "agent": bob,
        "call": lambda sender: sender is not None and sender.name.startswith("c"),
        "list": ["alice", bob],
        "list of kinds": [kit.AssistantAgent, lambda sender: False],
        "nothing": [],
        "with none": [None, "bob"],
    }
    found = {}
    for name, trigger in triggers.items():
        agent = kit.agent("a", default_auto_reply="-")
        agent.register_reply(trigger, _says("+"))
        found[name] = "".join(agent.generate_reply(USER, sender) for sender in (alice, bob, clerk))
    return found


@scenario
def triggers_without_a_sender(kit: Kit) -> Any:
    bob, found = kit.agent("bob"), []
    for trigger in (
        kit.Agent,
        bob,
        lambda sender: sender is None,
        [None],
        [],
        "bob",
        ["bob"],
        [None, "bob"],
    ):
        agent = kit.agent("a", default_auto_reply="-")
        agent.register_reply(trigger, _says("+"))
        found.append(kit.raised(agent.generate_reply, USER) or agent.generate_reply(USER))
    return found


@scenario(better="defect 7: a bare None is a trigger, as documented", expected=["+", "-"])
def none_as_a_trigger(kit: Kit) -> Any:
    agent = kit.agent("a", default_auto_reply="-")
    agent.register_reply(None, _says("+"))
    return [agent.generate_reply(USER), agent.generate_reply(USER, kit.agent("b"))]


@scenario
def wrong_triggers(kit: Kit) -> Any:
    agent = kit.agent("a")
    return [kit.raised(agent.register_reply, trigger, _says("x")) for trigger in (3, {"a": 1})]


@scenario
def a_wrong_trigger_in_a_list_is_found_when_used_at_the_latest(kit: Kit) -> Any:
    agent = kit.agent("a")

    def use() -> None:
        agent.register_reply([3], _says("x"))
        agent.generate_reply(USER, kit.agent("b"))

    return kit.raised(use)


@scenario
def a_config_is_copied_and_restored(kit: Kit) -> Any:
    agent, given = kit.agent("a"), {"n": 0}

    def count(
        recipient: Any, messages: Any = None, sender: Any = None, config: Any = None
    ) -> tuple[bool, str]:
        config["n"] += 1
        return True, str(config["n"])

    agent.register_reply(kit.Agent, count, config=given)
    other = kit.agent("other")
    found = [agent.generate_reply(USER, other), agent.generate_reply(USER, other), dict(given)]
    agent.reset()
    return [*found, agent.generate_reply(USER, other)]


@scenario
def a_config_reset_by_its_own_function(kit: Kit) -> Any:
    agent, seen = kit.agent("a"), []
    agent.register_reply(
        kit.Agent,
        _says("x"),
        config={"n": 1},
        reset_config=lambda config: seen.append(dict(config)),
    )
    agent.reset()
    return [seen, agent._reply_func_list[0]["config"]]


@scenario
def only_this_reply_function(kit: Kit) -> Any:
    agent = kit.agent("a", default_auto_reply="default")
    agent.register_reply(kit.Agent, _says(None, False), remove_other_reply_funcs=True)
    return [len(agent._reply_func_list), agent.generate_reply(USER, kit.agent("b"))]


@scenario
def replacing_a_reply_function(kit: Kit) -> Any:
    agent, other, old = kit.agent("a"), kit.agent("b"), _says("old")
    agent.register_reply(kit.Agent, old, config={"k": 1})
    seen: list[Any] = []
    agent.replace_reply_func(old, _says("new", True, seen))
    agent.replace_reply_func(old, _says("never"))
    return [agent.generate_reply(USER, other), seen]


@scenario
def replacing_a_reply_function_of_the_class(kit: Kit) -> Any:
    agent = kit.agent("a")
    agent.replace_reply_func(kit.ConversableAgent.check_termination_and_human_reply, _says("taken"))
    return agent.generate_reply(USER, kit.agent("b"))


@scenario
def an_async_function_in_a_sync_chat(kit: Kit) -> Any:
    agent, other = (
        kit.agent("a", default_auto_reply="default"),
        kit.agent("b", max_consecutive_auto_reply=0),
    )
    agent.register_reply(kit.Agent, _says_async("async"))
    raised = kit.raised(other.initiate_chat, agent, message="m")
    return [raised, agent.generate_reply(USER, other)]


@scenario
def an_async_function_that_a_sync_chat_may_skip(kit: Kit) -> Any:
    agent, other = (
        kit.agent("a", default_auto_reply="default"),
        kit.agent("b", max_consecutive_auto_reply=0),
    )
    agent.register_reply(kit.Agent, _says_async("async"), ignore_async_in_sync_chat=True)
    other.initiate_chat(agent, message="m", max_turns=1)
    found = [agent.last_message(other)["content"]]
    asyncio.run(other.a_initiate_chat(agent, message="m", max_turns=1))
    return [*found, agent.last_message(other)["content"]]


@scenario(both=True)
def excluding_reply_functions(kit: Kit) -> Any:
    agent, other = kit.agent("a", default_auto_reply="default"), kit.agent("b")
    first, second = _says("first"), _says("second")
    agent.register_reply(kit.Agent, second)
    agent.register_reply(kit.Agent, first)
    return [
        kit.call(agent, "generate_reply", USER, other, exclude=exclude)
        for exclude in ([], [first], [first, second])
    ]


@scenario(both=True)
def a_reply_without_messages(kit: Kit) -> Any:
    agent, other = kit.agent("a", default_auto_reply="default"), kit.agent("b")
    kit.call(other, "send", "m", agent, request_reply=False)
    raised = kit.raised(lambda: kit.call(agent, "generate_reply"))
    return [
        raised,
        kit.call(agent, "generate_reply", sender=other),
        kit.call(agent, "generate_reply", USER),
    ]


@scenario(
    both=True,
    better="defect 6: an empty conversation gets the default reply, no IndexError",
    expected=["d", "d", "d"],
)
def a_reply_to_an_empty_conversation(kit: Kit) -> Any:
    agent, other = kit.agent("a", default_auto_reply="d"), kit.agent("b")
    cases: list[dict[str, Any]] = [
        {"messages": []},
        {"messages": [], "sender": other},
        {"sender": other},
    ]
    return [kit.call(agent, "generate_reply", **case) for case in cases]


@scenario(both=True)
def a_default_reply_as_a_dict(kit: Kit) -> Any:
    agent, other = (
        kit.agent("a", default_auto_reply={"content": "d", "role": "user"}),
        kit.agent("b"),
    )
    kit.call(other, "send", "m", agent, request_reply=True)
    return [kit.call(agent, "generate_reply", sender=other), kit.transcript(other, agent)]


@scenario(both=True)
def an_overridden_reply_is_honoured(kit: Kit) -> Any:
    base: Any = kit.ConversableAgent

    class Own(base):  # type: ignore[misc]  # a class of either system
        def generate_reply(self, messages: Any = None, sender: Any = None, **kwargs: Any) -> str:
            return f"own {len(messages or self.chat_messages[sender])}"

        async def a_generate_reply(
            self, messages: Any = None, sender: Any = None, **kwargs: Any
        ) -> str:
            return self.generate_reply(messages, sender)

    own, other = (
        Own("own", human_input_mode="NEVER"),
        kit.agent("other", max_consecutive_auto_reply=0),
    )
    kit.call(other, "initiate_chat", own, message="m")
    return kit.transcript(other, own)


@scenario
def the_parts_of_a_reply_one_by_one(kit: Kit) -> Any:
    agent, other = kit.agent("a"), kit.agent("b")
    other.send("m", agent, request_reply=False)
    names = ("function_call", "tool_calls", "code_execution", "oai")
    found = [getattr(agent, f"generate_{name}_reply")(sender=other) for name in names]
    return [*found, agent.check_termination_and_human_reply(sender=other)]


# Hooks


def _add(text: str, seen: list[str]) -> Callable[[Any], Any]:
    def hook(content: Any) -> Any:
        seen.append(text)
        return f"{content} {text}" if isinstance(content, str) else content

    return hook


@scenario(both=True)
def a_hook_on_sending(kit: Kit) -> Any:
    a, b, seen = kit.agent("a"), kit.agent("b"), []

    def hook(sender: Any, message: Any, recipient: Any, silent: bool) -> Any:
        seen.append([sender.name, message, recipient.name, silent])
        return (
            f"{message} changed" if isinstance(message, str) else {**message, "content": "changed"}
        )

    a.register_hook("process_message_before_send", hook)
    kit.call(a, "send", "m", b, request_reply=False, silent=True)
    kit.call(a, "send", {"content": "n"}, b, request_reply=False)
    return [seen, kit.transcript(b, a)]


@scenario(
    both=True,
    better=(
        "defect 2: hooks see copies: what they change goes to the model, not into the stored"
        " history"
    ),
    expected=[["one", "two"], ["m one two"], ["m"]],
)
def hooks_on_the_last_received_message(kit: Kit) -> Any:
    a, b, order = kit.agent("a"), kit.agent("b", llm_config=kit.llm_config()), list[str]()
    seen = kit.scripted(b, ["r"])
    b.register_hook("process_last_received_message", _add("one", order))
    b.register_hook("process_last_received_message", _add("two", order))
    kit.call(a, "send", "m", b, request_reply=True)
    return [
        order,
        [one["content"] for one in seen[0][1:]],
        [one["content"] for one in b.chat_messages[a][:1]],
    ]


@scenario(both=True)
def the_last_message_hook_is_left_out_for_some_messages(kit: Kit) -> Any:
    agent, order = kit.agent("a", default_auto_reply="r"), list[str]()
    agent.register_hook("process_last_received_message", _add("x", order))
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "exit"},
        {"role": "user", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "assistant", "content": "text", "tool_calls": [call]},
        {"role": "tool", "content": "out", "context": {}},
        {"role": "user", "content": "plain"},
    ]
    found = []
    for message in messages:
        kit.call(agent, "generate_reply", [message], kit.agent("b"))
        found.append(len(order))
    return found


@scenario(both=True)
def a_hook_on_all_messages(kit: Kit) -> Any:
    a, b = kit.agent("a"), kit.agent("b", llm_config=kit.llm_config())
    seen = kit.scripted(b, ["r"])
    b.register_hook(
        "process_all_messages_before_reply",
        lambda messages: [{"role": "user", "content": "before"}, *messages],
    )
    kit.call(a, "send", "m", b, request_reply=True)
    return [[one["content"] for one in seen[0][1:]], len(b.chat_messages[a])]


@scenario(
    both=True,
    better=(
        "defect 2: hooks run in one order in both faces, the last message first, then all messages"
    ),
    expected=["state", "last", "all"],
)
def the_order_of_hooks(kit: Kit) -> Any:
    agent, order = kit.agent("a"), list[str]()

    def on_all(messages: Any) -> Any:
        order.append("all")
        return messages

    agent.register_hook("process_all_messages_before_reply", on_all)
    agent.register_hook("process_last_received_message", _add("last", order))
    agent.register_hook("update_agent_state", lambda agent, messages: order.append("state"))
    kit.call(agent, "generate_reply", USER, kit.agent("b"))
    return order


@scenario(both=True)
def a_hook_on_the_agents_state(kit: Kit) -> Any:
    a, b = kit.agent("a"), kit.agent("b", llm_config=kit.llm_config())
    seen = kit.scripted(b, ["r"])
    b.register_hook(
        "update_agent_state",
        lambda agent, messages: agent.update_system_message(f"you saw {len(messages)}"),
    )
    kit.call(a, "send", "m", b, request_reply=True)
    return [seen[0][0], b.system_message]


@scenario
def wrong_hooks(kit: Kit) -> Any:
    agent, hook = kit.agent("a"), _add("x", [])
    raised = [kit.raised(agent.register_hook, "unknown", hook)]
    agent.register_hook("process_last_received_message", hook)
    return [
        *raised,
        kit.raised(agent.register_hook, "process_last_received_message", hook),
        sorted(agent.hook_lists),
    ]
