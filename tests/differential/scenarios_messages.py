"""Messages and their roles, sending and receiving, what an agent keeps of them."""

from __future__ import annotations

from typing import Any

from tests.differential.kit import Kit, scenario

CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
RESULT = {"tool_call_id": "1", "role": "tool", "content": "out"}


def _stored(kit: Kit, message: Any) -> Any:
    """What both keep of one message from a to b, or the name of the exception."""
    a, b = kit.agent("a"), kit.agent("b")
    raised = kit.raised(lambda: kit.call(a, "send", message, b, request_reply=False))
    return raised or [dict(one) for one in (a.chat_messages[b][0], b.chat_messages[a][0])]


@scenario(both=True)
def how_texts_and_dicts_are_kept(kit: Kit) -> Any:
    messages: list[Any] = [
        "text",
        "",
        {"content": "c"},
        {"content": ""},
        {"content": "c", "extra": 1},
        {"content": [{"type": "text", "text": "t"}]},
    ]
    return [_stored(kit, message) for message in messages]


@scenario(both=True)
def how_roles_and_names_are_kept(kit: Kit) -> Any:
    roles = ["user", "assistant", "system", "function", "tool", "other", None]
    messages = [{"content": "c", "role": role} for role in roles]
    return [
        _stored(kit, one)
        for one in [*messages, {"content": "c", "name": "n"}, {"content": "c", "name": ""}]
    ]


@scenario(both=True)
def how_calls_are_kept(kit: Kit) -> Any:
    call = {"name": "f", "arguments": "{}"}
    messages: list[Any] = [
        {"function_call": call},
        {"content": None, "function_call": call},
        {"content": "c", "function_call": call, "role": "user"},
        {"tool_calls": [CALL]},
        {"content": None, "tool_calls": [CALL], "name": "n"},
        {"content": "c", "tool_calls": [CALL], "function_call": call},
        {"tool_calls": []},
        {"content": None, "tool_calls": []},
        {"content": "out", "tool_responses": [RESULT], "role": "tool"},
        {"tool_responses": [RESULT]},
        {"content": "out", "role": "function", "name": "f"},
        {"content": "out", "role": "tool", "tool_call_id": "1"},
    ]
    return [_stored(kit, message) for message in messages]


@scenario(both=True)
def what_is_no_message(kit: Kit) -> Any:
    messages: list[Any] = [
        {},
        {"content": None},
        {"role": "user"},
        {"name": "n"},
        {"context": {}},
        None,
        3,
    ]
    return [_stored(kit, message) for message in messages]


@scenario(both=True)
def a_message_may_override_its_role(kit: Kit) -> Any:
    messages = [
        {"content": "c", "override_role": role} for role in ("user", "system", "assistant", "other")
    ]
    return [
        _stored(kit, message)
        for message in [*messages, {"content": "c", "override_role": "user", "role": "tool"}]
    ]


@scenario(both=True)
def the_senders_dict_is_not_changed(kit: Kit) -> Any:
    message = {"content": "c", "tool_calls": [CALL]}
    _stored(kit, message)
    return message


@scenario(both=True)
def what_a_reply_keeps_of_pydantic_like_messages(kit: Kit) -> Any:
    a, b = (
        kit.agent("a"),
        kit.agent(
            "b", default_auto_reply={"content": "r", "role": "user", "name": "other", "k": [1]}
        ),
    )
    kit.call(a, "send", "m", b, request_reply=True)
    return [kit.transcript(a, b), kit.transcript(b, a)]


@scenario(
    both=True,
    better=(
        "defect 3: content may be a function of the context, also under the default termination"
        " check, and the context stays"
    ),
    expected=[["<context> one"], {"word": "one"}],
)
def content_as_a_function_of_the_context(kit: Kit) -> Any:
    a, b = kit.agent("a"), kit.agent("b", llm_config=kit.llm_config())
    seen = kit.scripted(b, ["r"])
    message = {
        "content": lambda context: f"<context> {context['word']}",
        "context": {"word": "one"},
    }
    kit.call(a, "send", message, b, request_reply=True)
    return [[one["content"] for one in seen[0][1:]], b.chat_messages[a][0]["context"]]


@scenario(both=True)
def a_context_updates_the_content_of_earlier_messages(kit: Kit) -> Any:
    a, b = (
        kit.agent("a"),
        kit.agent("b", llm_config=kit.llm_config(), is_termination_msg=lambda message: False),
    )
    seen = kit.scripted(b, ["r", "s"])
    kit.call(
        a,
        "send",
        {"content": lambda context: f"use {context['tool']}", "context": {"tool": "X"}},
        b,
        request_reply=True,
    )
    kit.call(a, "send", {"content": "again", "context": {"tool": "Y"}}, b, request_reply=True)
    return [[one["content"] for one in messages] for messages in seen]


# Send and receive


@scenario(both=True)
def request_reply(kit: Kit) -> Any:
    found = []
    for wanted in (None, True, False):
        a, b = kit.agent("a", max_consecutive_auto_reply=0), kit.agent("b", default_auto_reply="r")
        kit.call(a, "send", "m", b, request_reply=wanted)
        found.append(kit.transcript(a, b))
    return found


@scenario(both=True)
def receiving_without_a_chat(kit: Kit) -> Any:
    a, b = kit.agent("a"), kit.agent("b", default_auto_reply="r")
    kit.call(b, "receive", "m", a)
    kit.call(b, "receive", "n", a, request_reply=False)
    return [kit.transcript(b, a), list(a.chat_messages)]


@scenario(both=True)
def receiving_is_answered_when_asked(kit: Kit) -> Any:
    a, b = kit.agent("a", max_consecutive_auto_reply=0), kit.agent("b", default_auto_reply="r")
    kit.call(b, "receive", "m", a, request_reply=True, silent=True)
    return [kit.transcript(b, a), kit.transcript(a, b)]


@scenario
def reply_at_receive(kit: Kit) -> Any:
    a, b = kit.agent("a"), kit.agent("b", default_auto_reply="r")
    b.reply_at_receive[a] = True
    a.send("m", b)
    first = len(b.chat_messages[a])
    b.stop_reply_at_receive(a)
    a.send("n", b)
    return [first, len(b.chat_messages[a]), b.reply_at_receive[a]]


@scenario
def stop_reply_at_receive_for_all(kit: Kit) -> Any:
    a, b, c = kit.agent("a"), kit.agent("b"), kit.agent("c")
    b.reply_at_receive[a] = b.reply_at_receive[c] = True
    b.stop_reply_at_receive()
    return len(b.reply_at_receive)


@scenario(both=True)
def a_chat_ends_with_reply_at_receive_on(kit: Kit) -> Any:
    a, b = kit.agent("a"), kit.agent("b", max_consecutive_auto_reply=1, default_auto_reply="r")
    kit.call(a, "initiate_chat", b, message="m")
    return [a.reply_at_receive[b], b.reply_at_receive[a]]


@scenario(both=True)
def who_prints_and_who_is_silent(kit: Kit) -> Any:
    base: Any = kit.IOConsole

    class Counting(base):  # type: ignore[misc]  # a class of either system
        printed = 0

        def print(
            self, *objects: Any, sep: str = " ", end: str = "\n", flush: bool = False
        ) -> None:
            self.printed += 1

    found = []
    for silent, argument in ((None, False), (None, True), (True, False), (False, True)):
        a, b = kit.agent("a", silent=silent), kit.agent("b", silent=silent, default_auto_reply="r")
        with kit.IOStream.set_default(stream := Counting()):
            kit.call(a, "initiate_chat", b, message="m", max_turns=1, silent=argument)
        found.append(stream.printed > 0)
    return found


# History


def _kept(agent: Any) -> dict[str, list[Any]]:
    return {
        other.name: [message["content"] for message in messages]
        for other, messages in agent.chat_messages.items()
    }


@scenario
def clearing_the_history(kit: Kit) -> Any:
    a, b, c = kit.agent("a"), kit.agent("b"), kit.agent("c")
    found = []
    for options in ({}, {"recipient": b}, {"nr_messages_to_preserve": 2}):
        a.clear_history()
        for other in (b, c):
            for text in ("1", "2", "3"):
                a.send(text, other, request_reply=False)
        a.clear_history(**options)
        found.append(_kept(a))
    return found


@scenario(
    better=(
        "nr_messages_to_preserve counts with a recipient too, as documented; the oracle ignores it"
        " there"
    ),
    expected=["2", "3"],
)
def clearing_one_history_but_its_end(kit: Kit) -> Any:
    a, b = kit.agent("a"), kit.agent("b")
    for text in ("1", "2", "3"):
        a.send(text, b, request_reply=False)
    a.clear_history(b, nr_messages_to_preserve=2)
    return _kept(a)["b"]


@scenario
def clearing_keeps_a_tool_result_with_its_call(kit: Kit) -> Any:
    a, b = kit.agent("a"), kit.agent("b")
    for message in (
        "1",
        {"content": None, "tool_calls": [CALL]},
        {"content": "out", "role": "tool", "tool_responses": [RESULT]},
        "4",
    ):
        a.send(message, b, request_reply=False)
    a.clear_history(nr_messages_to_preserve=3)
    b.clear_history(nr_messages_to_preserve=2)
    return [kit.transcript(a, b), kit.transcript(b, a)]


@scenario(
    better="defect 6: preserving more messages than there are keeps them all",
    expected=["1"],
)
def clearing_may_preserve_more_than_exists(kit: Kit) -> Any:
    a, b = kit.agent("a"), kit.agent("b")
    a.send("1", b, request_reply=False)
    a.clear_history(nr_messages_to_preserve=5)
    return _kept(a)["b"]


@scenario
def last_messages(kit: Kit) -> Any:
    a, b, c = kit.agent("a"), kit.agent("b"), kit.agent("c")
    found = [a.last_message()]
    a.send("1", b, request_reply=False)
    found += [a.last_message(), a.last_message(b)]
    a.send("2", c, request_reply=False)
    return [
        *found,
        a.last_message(c),
        kit.raised(a.last_message),
        kit.raised(a.last_message, kit.agent("stranger")),
    ]


@scenario(
    better="defect 6: the last message of an emptied conversation is None", expected=[None, None]
)
def last_message_of_an_emptied_conversation(kit: Kit) -> Any:
    a, b = kit.agent("a"), kit.agent("b")
    a.send("1", b, request_reply=False)
    a.clear_history(b)
    return [a.last_message(), a.last_message(b)]


@scenario(both=True)
def a_chat_resumes_from_given_messages(kit: Kit) -> Any:
    a = kit.agent("a")
    history = [
        {"content": "before", "role": "user", "name": "a"},
        {"content": "known", "role": "assistant", "name": "b"},
    ]
    b = kit.agent("b", chat_messages={a: history}, llm_config=kit.llm_config())
    seen = kit.scripted(b, ["r"])
    kit.call(a, "send", "now", b, request_reply=True)
    return [seen, _kept(b)]


@scenario(
    better="given messages are copied, so the caller's list does not grow with the chat",
    expected=[1, 3],
)
def given_messages_are_not_changed(kit: Kit) -> Any:
    a, history = kit.agent("a"), [{"content": "before", "role": "user", "name": "a"}]
    b = kit.agent("b", chat_messages={a: history}, default_auto_reply="r")
    a.send("now", b, request_reply=True)
    return [len(history), len(b.chat_messages[a])]


@scenario
def messages_for_a_summary(kit: Kit) -> Any:
    a, b = kit.agent("a"), kit.agent("b")
    a.send("1", b, request_reply=False)
    return [kit.rows(one.chat_messages_for_summary(other)) for one, other in ((a, b), (b, a))]


@scenario
def resetting_an_agent(kit: Kit) -> Any:
    a, b = kit.agent("a"), kit.agent("b", default_auto_reply="r")
    a.send("1", b, request_reply=True)
    b.reply_at_receive[a] = True
    b.set_context("k", 1)
    b.reset()
    counters = dict(b._consecutive_auto_reply_counter)
    return [_kept(b), counters, len(b.reply_at_receive), b.get_context("k"), _kept(a)]
