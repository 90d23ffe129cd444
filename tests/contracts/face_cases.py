"""What is played by both faces: at least one case for each pair of methods `x` and `a_x`."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

from agentkit import Agent, ConversableAgent, GroupChat, GroupChatManager
from agentkit.agents.society_of_mind import SocietyOfMindAgent
from agentkit.coding import CodeResult
from agentkit.conversation import chats, nested
from agentkit.llm.cache import Cache
from tests.contracts.faces import Face, case
from tests.conversation.cast import CALL_ADD, Executor, modelled

CODE = "```python\nprint(1)\n```"


def add(a: int, b: int) -> int:
    return a + b


async def a_add(a: int, b: int) -> int:
    await asyncio.sleep(0)
    return a + b


def fail(**_: Any) -> str:
    raise RuntimeError("out of order")


def counted(context: dict[str, Any]) -> str:
    return f"n={context['n']}"


def calls(*functions: tuple[str | None, str, Any]) -> dict[str, Any]:
    """A message with calls of (id, name, arguments)."""
    made = [
        {"type": "function", "function": {"name": name, "arguments": given}, "id": own}
        for own, name, given in functions
    ]
    return {"role": "assistant", "content": None, "tool_calls": made}


@case("ConversableAgent.send")
def send_what_there_is(face: Face) -> Any:
    ann, bob = face.agent("ann"), face.agent("bob", silent=True)
    ann.register_hook(
        "process_message_before_send",
        lambda message, **_: message if isinstance(message, dict) else message + "!",
    )
    for message in (
        "text",
        {"content": "dict", "name": "zed"},
        calls(("1", "f", "{}")),
        {"content": [{"type": "text", "text": "p"}]},
    ):
        face.call(ann, "send", message, bob)
    face.call(ann, "send", {"content": counted, "context": {"n": 1}}, bob, silent=True)
    return [message.get("context") for message in bob.chat_messages[ann]]


@case("ConversableAgent.send")
def send_and_have_a_reply(face: Face) -> Any:
    ann, bob = face.speaker("ann", "one", "two"), face.speaker("bob", "three", "four")
    face.call(ann, "send", "hi", bob, request_reply=True)
    ann.reply_at_receive[bob] = bob.reply_at_receive[ann] = True
    face.call(ann, "send", "again", bob)
    face.call(ann, "send", "quiet", bob, request_reply=False)


@case("ConversableAgent.send")
def send_what_is_no_message(face: Face) -> Any:
    face.call(face.agent("ann"), "send", {"content": None}, face.agent("bob"))


@case("ConversableAgent.receive")
def receive_and_reply_or_not(face: Face) -> Any:
    ann, bob = face.agent("ann"), face.speaker("bob", "one", None, "three")
    for request in (True, True, None, False, True):
        face.call(bob, "receive", "hi", ann, request_reply=request, silent=True)


@case("ConversableAgent.receive")
def receive_what_makes_the_reply_fail(face: Face) -> Any:
    face.call(face.speaker("bob", ValueError("no idea")), "receive", "hi", face.agent("ann"), True)


@case("ConversableAgent.receive")
def receive_in_a_subclass_with_a_reply_of_its_own(face: Face) -> Any:
    class Echo(ConversableAgent):
        def generate_reply(self, messages: Any = None, sender: Any = None, **kwargs: Any) -> Any:
            return messages[-1]["content"] + " back"

        async def a_generate_reply(
            self, messages: Any = None, sender: Any = None, **kwargs: Any
        ) -> Any:
            return self.generate_reply(messages, sender)

    ann, echo = face.agent("ann"), face.add(Echo("echo"))
    face.call(echo, "receive", "hi", ann, request_reply=True)


@case("ConversableAgent.generate_reply")
def replies_of_all_kinds(face: Face) -> Any:
    def text(recipient: Any, messages: Any, sender: Any, config: Any) -> Any:
        return len(messages) > 1, f"{messages[-1:]} {config}"

    ann = face.agent("ann", default_auto_reply={"content": "default"})
    ann.register_reply([Agent, None], text, config="c")
    ann.register_hook("process_last_received_message", lambda content: f"[{content}]")
    ann.register_hook(
        "process_all_messages_before_reply",
        lambda messages: [*messages, {"content": "last", "role": "user"}],
    )
    ann.register_hook(
        "update_agent_state", lambda agent, messages: agent.set_context("seen", len(messages))
    )
    one = [{"role": "user", "content": "x"}]
    return [
        face.call(ann, "generate_reply", messages=one),
        face.call(ann, "generate_reply", messages=one, sender=ann, exclude=[text]),
        face.call(ann, "generate_reply", messages=[]),
        face.call(ann, "generate_reply", sender=ann),
    ]


@case("ConversableAgent.generate_reply")
def replies_of_somebody_who_raises(face: Face) -> Any:
    ann = face.agent("ann")
    ann.register_reply([Agent, None], lambda *_, **__: 1 / 0)
    face.call(ann, "generate_reply", messages=[{"role": "user", "content": "x"}])


@case("ConversableAgent.check_termination_and_human_reply")
def check_in_every_mode(face: Face) -> Any:
    texts: list[dict[str, Any]] = [
        {"content": "x"},
        {"content": "TERMINATE"},
        calls(("1", "f", "{}")),
    ]
    face.console.answers = ["", "no", "exit"] * 6
    checks = []
    for mode in ("ALWAYS", "TERMINATE", "NEVER"):
        ann = face.add(
            ConversableAgent(f"ann {mode}", human_input_mode=mode, max_consecutive_auto_reply=1)
        )
        for message in texts * 2:
            checks.append(face.call(ann, "check_termination_and_human_reply", [message], ann))
    return [checks, face.console.asked]


@case("ConversableAgent.generate_function_call_reply")
def function_calls(face: Face) -> Any:
    ann = face.agent("ann", function_map={"add": add, "a_add": a_add, "fail": fail})
    given = [
        ("add", '{"a": 1, "b": 2}'),
        ("a_add", '{"a": 1, "b": 2}'),
        ("fail", ""),
        ("none", "{}"),
        ("add", "[1]"),
        ("add", 5),
    ]
    messages = [
        {"function_call": {"name": name, "arguments": arguments}, "role": "assistant"}
        for name, arguments in given
    ]
    return [
        face.call(ann, "generate_function_call_reply", [message])
        for message in [*messages, {"content": "no call"}]
    ]


@case("ConversableAgent.generate_tool_calls_reply")
def tool_calls_one_at_a_time(face: Face) -> Any:
    nothing: dict[str, Any] = {"nothing": lambda: None}
    ann = face.agent("ann", function_map={"add": add, "a_add": a_add, "fail": fail, **nothing})
    given = [
        ("1", "add", '{"a": 1, "b": 2}'),
        (None, "a_add", '{"a": 1, "b": 2}'),
        ("3", "fail", ""),
        ("4", "nothing", ""),
        ("5", "add", "{"),
        ("6", "unknown", "{}"),
        ("7", "add", 5),
    ]
    replies = [face.call(ann, "generate_tool_calls_reply", [calls(one)]) for one in given]
    return [*replies, face.call(ann, "generate_tool_calls_reply", [{"content": "no call"}])]


@case("ConversableAgent.generate_tool_calls_reply")
def tool_calls_together(face: Face) -> Any:
    ann = face.agent("ann", function_map={"add": add, "fail": fail})
    return face.call(
        ann,
        "generate_tool_calls_reply",
        [calls(("1", "add", '{"a": 1, "b": 2}'), ("2", "fail", "{}"), ("3", "add", "{}"))],
    )


@case("ConversableAgent.generate_oai_reply")
def model_replies(face: Face) -> Any:
    ann = face.modelled(
        "ann", "text", {"content": "", "tool_calls": [CALL_ADD]}, system_message="be kind"
    )
    asked = [{"role": "user", "content": "x"}]
    replies = [face.call(ann, "generate_oai_reply", asked) for _ in range(2)]
    without = face.agent("without")
    return [
        replies,
        face.call(without, "generate_oai_reply", asked),
        face.call(without, "generate_oai_reply", asked, config=modelled("m", "lent")[0].client),
    ]


@case("ConversableAgent.generate_oai_reply")
def model_failures(face: Face) -> Any:
    face.call(
        face.modelled("ann", ValueError("overheated")),
        "generate_oai_reply",
        [{"role": "user", "content": "x"}],
    )


@case("ConversableAgent.get_human_input")
def human_input(face: Face) -> Any:
    face.console.answers = ["yes", ""]
    ann = face.agent("ann")
    return [face.call(ann, "get_human_input", "Well? ") for _ in range(2)], face.console.asked


@case("ConversableAgent.get_human_input")
def human_input_when_nobody_is_there(face: Face) -> Any:
    face.call(face.agent("ann"), "get_human_input", "Well? ")


@case("ConversableAgent.execute_function")
def functions_by_hand(face: Face) -> Any:
    ann = face.agent("ann", function_map={"add": add, "a_add": a_add, "fail": fail})
    given: list[dict[str, Any]] = [
        {"name": "add", "arguments": '{"a": 1, "b": 2}'},
        {"name": "a_add", "arguments": {"a": 1, "b": 2}},
        {"name": "fail"},
        {},
    ]
    return [face.call(ann, "execute_function", one) for one in given]


@case("ConversableAgent.generate_init_message")
def first_messages(face: Face) -> Any:
    face.console.answers = ["typed"]
    ann = face.agent("ann")
    parts = {"content": [{"type": "text", "text": "p"}]}
    return [
        face.call(ann, "generate_init_message", None, carryover="c"),
        face.call(ann, "generate_init_message", "x", carryover=["a", 1]),
        face.call(ann, "generate_init_message", parts, carryover="c"),
        face.call(ann, "generate_init_message", {"content": "x"}),
    ]


@case("ConversableAgent.initiate_chat")
def chat_until_termination(face: Face) -> Any:
    return face.chat(
        face.speaker("ann", "more"),
        face.speaker("bob", "one", "TERMINATE", "never said"),
        carryover=["c"],
    )


@case("ConversableAgent.initiate_chat")
def chat_of_so_many_turns(face: Face) -> Any:
    ann, bob = face.speaker("ann", "a1", "a2", "a3"), face.speaker("bob", "b1", "b2", "b3")
    first = face.chat(ann, bob, max_turns=2)
    return [
        first,
        face.chat(ann, bob, max_turns=2, clear_history=False),
        face.chat(ann, bob, max_turns=0),
    ]


@case("ConversableAgent.initiate_chat")
def chat_with_a_person(face: Face) -> Any:
    face.console.answers = ["one", "", "exit"]
    ann = face.add(ConversableAgent("ann", human_input_mode="ALWAYS", default_auto_reply="auto"))
    return face.chat(ann, face.speaker("bob", "b1", "b2", "b3", "b4"), None), face.console.asked


@case("ConversableAgent.initiate_chat")
def chat_with_models_tools_and_a_reflection(face: Face) -> Any:
    ann = face.agent("ann", function_map={"add": add})
    bob = face.modelled(
        "bob", {"content": None, "tool_calls": [CALL_ADD]}, "it is 3", "three, in short"
    )
    reflected = {"summary_prompt": "In short?", "summary_role": "user"}
    return face.chat(
        ann,
        bob,
        "1 + 2?",
        max_turns=2,
        summary_method="reflection_with_llm",
        summary_args=reflected,
    )


@case("ConversableAgent.initiate_chat")
def chat_with_code(face: Face) -> Any:
    ann = face.agent(
        "ann",
        code_execution_config={"executor": Executor(CodeResult(0, "1\n"), CodeResult(1, "oh"))},
    )
    return face.chat(
        ann,
        face.speaker("bob", CODE, CODE, "TERMINATE"),
        "code!",
        summary_method=lambda *given: len(given),
    )


@case("ConversableAgent.initiate_chat")
def chat_with_nested_chats(face: Face) -> Any:
    ann, bob, cid = face.speaker("ann", "a1"), face.agent("bob"), face.speaker("cid", "c1", "c2")
    queue = [
        {"recipient": cid, "max_turns": 1},
        {"recipient": cid, "max_turns": 1, "message": "and then?"},
    ]
    bob.register_nested_chats(queue, trigger=ann)
    return face.chat(ann, bob, max_turns=1)


@case("ConversableAgent.initiate_chat")
def chat_with_a_cache(face: Face) -> Any:
    bob = face.modelled("bob", "only once")
    with Cache.memory() as cache:
        return [
            face.chat(face.agent(name), bob, "x", max_turns=1, cache=cache)
            for name in ("ann", "ann")
        ]


@case("ConversableAgent.initiate_chat")
def chat_begun_by_a_function(face: Face) -> Any:
    def opening(sender: Any, recipient: Any, context: Any) -> str:
        return f"{sender.name} to {recipient.name}: {context['topic']}"

    return face.chat(
        face.agent("ann"), face.speaker("bob", "fine"), opening, topic="tea", silent=True
    )


@case("ConversableAgent.initiate_chat")
def chat_in_which_somebody_raises(face: Face) -> Any:
    ann = face.speaker("ann", "a1")
    ann.client_cache = before = Cache.memory()
    try:
        face.chat(ann, face.speaker("bob", "b1", RuntimeError("lost")))
    finally:
        assert ann.client_cache is before
        ann.client_cache = None


@case("ConversableAgent.initiate_chat")
def chat_whose_summary_fails(face: Face) -> Any:
    face.chat(
        face.agent("ann"),
        face.speaker("bob", "b1"),
        summary_method=lambda *_: 1 / 0,
        cache=Cache.memory(),
    )


@case("ConversableAgent.initiate_chat")
def chat_with_who_is_no_agent(face: Face) -> Any:
    nobody: Any = "bob"
    face.chat(face.agent("ann"), nobody)


@case("ConversableAgent.initiate_chat")
def chat_with_a_limit_of_replies(face: Face) -> Any:
    talker = {"default_auto_reply": "on", "max_consecutive_auto_reply": 3}
    return face.chat(face.agent("ann", **talker), face.agent("bob", **talker))


def queue_of(face: Face, **more: Any) -> list[dict[str, Any]]:
    """Two chats, the second with what the first gave."""
    bob, cid = face.speaker("bob", "b1"), face.speaker("cid", "c1")
    return [
        {"chat_id": "one", "recipient": bob, "message": "first", "max_turns": 1, **more},
        {
            "chat_id": "two",
            "prerequisites": ["one"],
            "recipient": cid,
            "message": "second",
            "max_turns": 1,
            "carryover": "own",
        },
    ]


def summaries(results: Any) -> list[Any]:
    """Of a list or, in async, a dict by id."""
    return [
        dataclasses.asdict(each)
        for each in (results.values() if isinstance(results, dict) else results)
    ]


@case("ConversableAgent.initiate_chats")
def queue_of_an_agent(face: Face) -> Any:
    ann = face.agent("ann")
    results = summaries(face.call(ann, "initiate_chats", queue_of(face)))
    return [results, summaries(ann.get_chat_results())]


@case("ConversableAgent.initiate_chats")
def queue_that_cannot_be(face: Face) -> Any:
    face.call(face.agent("ann"), "initiate_chats", queue_of(face, summary_method="nonsense"))


@case("initiate_chats")
def queue_of_the_module(face: Face) -> Any:
    ann = face.agent("ann")
    return summaries(
        face.call(chats, "initiate_chats", [{**chat, "sender": ann} for chat in queue_of(face)])
    )


@case("initiate_chats")
def queue_without_a_sender(face: Face) -> Any:
    face.call(chats, "initiate_chats", queue_of(face))


@case("nested_summary")
def summary_of_nested_chats(face: Face) -> Any:
    ann, bob = face.agent("ann"), face.agent("bob")
    outer = [{"content": "outer", "role": "user"}]
    return [
        face.call(nested, "nested_summary", queue, bob, outer, ann, None)
        for queue in (queue_of(face), [])
    ]


@case("GroupChat.select_speaker")
def next_speakers(face: Face) -> Any:
    members: list[Agent] = [face.agent(name) for name in ("ann", "bob", "cid")]
    chosen = []
    for method in ("round_robin", lambda last, chat: chat.agents[2], "auto"):
        chat = GroupChat(
            members,
            [{"role": "user", "content": "who?", "name": "ann"}],
            speaker_selection_method=method,
        )
        chief = face.modelled("chief", "bob")
        chosen.append(face.call(chat, "select_speaker", members[0], chief).name)
    return chosen


def group_of(face: Face, **settings: Any) -> tuple[ConversableAgent, GroupChatManager]:
    """Ann and the manager of her group."""
    ann, bob, cid = (
        face.speaker("ann", "a1", "a2"),
        face.speaker("bob", "b1"),
        face.speaker("cid", "c1"),
    )
    chat = GroupChat(
        [ann, bob, cid],
        [],
        **{"max_round": 4, "speaker_selection_method": "round_robin", **settings},
    )
    manager = GroupChatManager(chat, llm_config=False)
    face.add(manager)
    return ann, manager


@case("SocietyOfMindAgent.generate_inner_monologue_reply")
def society_that_talks_it_over_twice(face: Face) -> Any:
    _, manager = group_of(face)
    society = SocietyOfMindAgent("society", manager, human_input_mode="NEVER")
    face.add(society)
    user = face.agent("user")
    messages = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "ho"},
        {"role": "user", "content": "who?"},
    ]
    replies = [
        face.call(society, "generate_inner_monologue_reply", given, user)
        for given in (messages[:1], messages)
    ]
    return replies, manager.groupchat.messages


@case("GroupChatManager.run_chat")
def group_chat(face: Face) -> Any:
    ann, manager = group_of(face, send_introductions=True)
    return face.chat(ann, manager), manager.groupchat.messages


@case("GroupChatManager.run_chat")
def group_chat_of_which_a_member_raises(face: Face) -> Any:
    ann, manager = group_of(face)
    manager.groupchat.agents[1] = face.speaker("bad", RuntimeError("lost"))
    face.chat(ann, manager)


@case("GroupChatManager.resume")
def group_chat_that_goes_on(face: Face) -> Any:
    _, manager = group_of(face)
    earlier = [
        {"content": "go", "name": "ann", "role": "user"},
        {"content": "went", "name": "bob", "role": "user"},
    ]
    last, message = face.call(manager, "resume", earlier)
    return (
        last.name,
        message,
        manager.groupchat.messages,
        face.chat(last, manager, message, clear_history=False),
    )


@case("ConversableAgent.generate_reply")
def hooks_that_have_to_be_awaited(face: Face) -> Any:
    async def louder(content: Any) -> Any:
        await asyncio.sleep(0)
        return content + "!"

    async def longer(messages: Any) -> Any:
        await asyncio.sleep(0)
        return [*messages, {"content": "more", "role": "user"}]

    async def look(agent: Any, messages: Any) -> None:
        agent.set_context("seen", len(messages))

    def repeat(recipient: Any, messages: Any, sender: Any, config: Any) -> Any:
        return True, [message["content"] for message in messages]

    ann = face.agent("ann")
    ann.register_reply([None], repeat)
    ann.register_hook("process_last_received_message", louder)
    ann.register_hook("process_all_messages_before_reply", longer)
    ann.register_hook("update_agent_state", look)
    return face.call(ann, "generate_reply", messages=[{"content": "hi", "role": "user"}])


@case("ConversableAgent.send")
def a_hook_before_a_message_is_sent(face: Face) -> Any:
    async def censor(sender: Any, message: Any, recipient: Any, silent: bool) -> Any:
        await asyncio.sleep(0)
        return f"{sender.name} to {recipient.name}: {message} {silent}"

    ann, bob = face.agent("ann"), face.agent("bob")
    ann.register_hook("process_message_before_send", censor)
    face.call(ann, "send", "hi", bob, silent=True)
