"""Wrong types and impossible values raise at once, in both faces; the message names the agent, the
argument and the value.
"""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest

from agentkit import ConversableAgent, UserProxyAgent, initiate_chats, register_function
from agentkit.conversation.chats import a_initiate_chats
from agentkit.errors import (
    AgentkitError,
    InvalidCarryOverType,
    NoModelConfig,
    UnknownName,
    WrongArgument,
    WrongType,
)

BOB = ConversableAgent("bob", human_input_mode="NEVER")
MODEL = {"config_list": [{"model": "m", "model_client_cls": "Client"}]}
CHAT: Any = {"recipient": BOB, "message": "hi"}


def row(
    method: str,
    argument: str,
    wrong: Any,
    error: type[AgentkitError] = WrongType,
    /,
    *,
    says: str | None = None,
    **more: Any,
) -> Any:
    """One wrong call: `more` are its other arguments, `says` what the message has to name instead
    of the value.
    """
    named = repr(wrong) if says is None else says
    return pytest.param(
        method,
        {**more, argument: wrong},
        argument,
        named,
        error,
        id=f"{method}-{argument}-{type(wrong).__name__}",
    )


SETTINGS = [
    row("__init__", "name", 5),
    row("__init__", "name", "", WrongArgument, says="name"),
    row("__init__", "system_message", 5),
    row("__init__", "system_message", {"content": "x"}),
    row("__init__", "is_termination_msg", "TERMINATE"),
    row("__init__", "max_consecutive_auto_reply", True),
    row("__init__", "max_consecutive_auto_reply", "3"),
    row("__init__", "max_consecutive_auto_reply", 1.5),
    row("__init__", "max_consecutive_auto_reply", -1, WrongArgument),
    row("__init__", "human_input_mode", "SOMETIMES", WrongArgument),
    row("__init__", "human_input_mode", None, WrongArgument),
    row("__init__", "function_map", [len]),
    row("__init__", "function_map", {"f": 5}, says="5"),
    row("__init__", "code_execution_config", "docker", WrongArgument),
    row("__init__", "code_execution_config", True, WrongArgument),
    row(
        "__init__",
        "code_execution_config",
        {"last_n_messages": -1},
        WrongArgument,
        says="last_n_messages",
    ),
    row("__init__", "llm_config", "gpt-4", WrongArgument),
    row("__init__", "llm_config", True, WrongArgument),
    row("__init__", "llm_config", {}, WrongArgument, says="model"),
    row("__init__", "default_auto_reply", 5),
    row("__init__", "default_auto_reply", ["x"]),
    row("__init__", "description", 5),
    row("__init__", "chat_messages", [("bob", [])]),
    row("__init__", "chat_messages", {"bob": []}, says="'bob'"),
    row("__init__", "chat_messages", {BOB: "hi"}, says="'hi'"),
    row("__init__", "chat_messages", {BOB: ["hi"]}, says="'hi'"),
    row("__init__", "silent", "x"),
    row("__init__", "context_variables", ["x"]),
    row("__init__", "context_variables", "x"),
]
METHODS = [
    row("description", "description", 5),
    row("update_system_message", "system_message", 5),
    row("register_reply", "trigger", 5, WrongArgument, reply_func=len),
    row("register_reply", "trigger", [5], WrongArgument, says="5", reply_func=len),
    row("register_reply", "reply_func", "len", trigger=None),
    row("register_reply", "position", "first", trigger=None, reply_func=len),
    row("register_reply", "reset_config", {}, trigger=None, reply_func=len),
    row("replace_reply_func", "new_reply_func", 5, old_reply_func=len),
    row("register_nested_chats", "chat_queue", CHAT, says="'message': 'hi'", trigger=BOB),
    row("register_nested_chats", "chat_queue", [BOB], says="ConversableAgent", trigger=BOB),
    row(
        "register_nested_chats",
        "chat_queue",
        [CHAT],
        WrongArgument,
        says="chat_id",
        trigger=BOB,
        use_async=True,
    ),
    row("register_nested_chats", "position", "last", chat_queue=[CHAT], trigger=BOB),
    row("register_nested_chats", "trigger", 5, WrongArgument, chat_queue=[CHAT]),
    row("register_nested_chats", "use_async", "yes", chat_queue=[CHAT], trigger=BOB),
    row(
        "register_nested_chats",
        "reply_func_from_nested_chats",
        "last",
        WrongArgument,
        chat_queue=[CHAT],
        trigger=BOB,
    ),
    row("generate_reply", "messages", 5),
    row("generate_reply", "messages", "hi"),
    row("generate_reply", "messages", ["hi"], says="'hi'"),
    row("generate_reply", "messages", {"content": "hi"}),
    row("generate_reply", "messages", None, WrongArgument, says="sender"),
    row("generate_reply", "sender", 5),
    row("generate_reply", "sender", "bob"),
    row("generate_reply", "exclude", 5, messages=[]),
    row("send", "message", 5, says="5", recipient=BOB),
    row("send", "message", None, says="None", recipient=BOB),
    row("send", "message", {}, WrongArgument, recipient=BOB),
    row("send", "message", {"content": None}, WrongArgument, recipient=BOB),
    row("send", "message", {"content": "x", "context": 5}, says="5", recipient=BOB),
    row("send", "recipient", "bob", message="hi"),
    row("send", "recipient", None, message="hi"),
    row("send", "request_reply", "x", message="hi", recipient=BOB),
    row("send", "silent", "x", message="hi", recipient=BOB),
    row("receive", "message", 5, says="5", sender=BOB),
    row("receive", "message", {}, WrongArgument, sender=BOB),
    row("receive", "sender", "bob", message="hi"),
    row("receive", "sender", None, message="hi"),
    row("receive", "request_reply", "x", message="hi", sender=BOB),
    row("receive", "silent", 5, message="hi", sender=BOB),
    row("chat_messages_for_summary", "agent", 5),
    row("chat_messages_for_summary", "agent", None),
    row("last_message", "agent", 5),
    row("last_message", "agent", BOB, UnknownName, says="'bob'"),
    row("clear_history", "recipient", 5),
    row("clear_history", "nr_messages_to_preserve", -1, WrongArgument),
    row("clear_history", "nr_messages_to_preserve", "1"),
    row("clear_history", "nr_messages_to_preserve", True),
    row("initiate_chat", "recipient", "bob", WrongArgument),
    row("initiate_chat", "recipient", None, WrongArgument),
    row("initiate_chat", "clear_history", "no", **CHAT),
    row("initiate_chat", "silent", "x", **CHAT),
    row("initiate_chat", "cache", 42, **CHAT),
    row("initiate_chat", "max_turns", -1, WrongArgument, **CHAT),
    row("initiate_chat", "max_turns", "2", WrongArgument, **CHAT),
    row("initiate_chat", "max_turns", True, WrongArgument, **CHAT),
    row("initiate_chat", "summary_method", "shortest", WrongArgument, **CHAT),
    row("initiate_chat", "summary_method", 5, WrongArgument, **CHAT),
    row("initiate_chat", "summary_method", "reflection_with_llm", WrongArgument, **CHAT),
    row("initiate_chat", "summary_args", "x", **CHAT),
    row("initiate_chat", "summary_args", ["x"], **CHAT),
    row("initiate_chat", "message", 5, WrongArgument, recipient=BOB),
    row("initiate_chat", "message", ["hi"], WrongArgument, recipient=BOB),
    row("initiate_chat", "carryover", 5, InvalidCarryOverType, **CHAT),
    row("initiate_chat", "carryover", {"a": 1}, InvalidCarryOverType, **CHAT),
    row("initiate_chats", "chat_queue", 5),
    row("initiate_chats", "chat_queue", CHAT, says="'message': 'hi'"),
    row("initiate_chats", "chat_queue", ["hi"], says="'hi'"),
    row("initiate_chats", "chat_queue", [{"message": "hi"}], WrongArgument, says="recipient"),
    row(
        "initiate_chats",
        "chat_queue",
        [{**CHAT, "chat_id": 1, "max_turns": -1}],
        WrongArgument,
        says="max_turns",
    ),
    row(
        "initiate_chats",
        "chat_queue",
        [{**CHAT, "chat_id": 1, "prerequisites": 5}],
        says="prerequisites",
    ),
    row(
        "initiate_chats",
        "chat_queue",
        [{**CHAT, "chat_id": 1, "carryover": 5}],
        InvalidCarryOverType,
        says="carryover",
    ),
    row("get_chat_results", "chat_index", 3, UnknownName),
    row("get_chat_results", "chat_index", "x", UnknownName),
    row("stop_reply_at_receive", "sender", "bob"),
    row("reset_consecutive_auto_reply_counter", "sender", "bob"),
    row("max_consecutive_auto_reply", "sender", "bob"),
    row("update_max_consecutive_auto_reply", "sender", "bob", value=1),
    row("update_max_consecutive_auto_reply", "value", "1"),
    row("update_max_consecutive_auto_reply", "value", None),
    row("update_max_consecutive_auto_reply", "value", -1, WrongArgument),
    row("check_termination_and_human_reply", "messages", "hi"),
    row("check_termination_and_human_reply", "sender", 5),
    row("generate_function_call_reply", "messages", ["hi"], says="'hi'"),
    row("generate_function_call_reply", "sender", 5),
    row("generate_function_call_reply", "messages", [{"function_call": "f"}], says="function_call"),
    row("generate_tool_calls_reply", "messages", {}),
    row("generate_tool_calls_reply", "sender", 5),
    row("generate_tool_calls_reply", "messages", [{"tool_calls": "f"}], says="tool_calls"),
    row("generate_tool_calls_reply", "messages", [{"tool_calls": ["f"]}], says="'f'"),
    row("generate_code_execution_reply", "messages", 5),
    row("generate_code_execution_reply", "sender", 5),
    row("generate_oai_reply", "messages", 5, config=object()),
    row("generate_oai_reply", "sender", 5, config=object()),
    row("get_human_input", "prompt", 5),
    row("generate_init_message", "message", 5, InvalidCarryOverType, carryover="x"),
    row("run_code", "code", 5),
    row("execute_code_blocks", "code_blocks", "print(1)"),
    row("execute_code_blocks", "code_blocks", ["print(1)"], says="'print(1)'"),
    row("execute_function", "func_call", "f"),
    row("register_function", "function_map", [len]),
    row("register_function", "function_map", {"bad name": len}, WrongArgument, says="'bad name'"),
    row("register_function", "function_map", {"f": 5}, says="5"),
    row("can_execute_function", "name", 5),
    row("update_function_signature", "func_sig", 5, WrongArgument, says="5", is_remove=False),
    row("update_function_signature", "func_sig", 5, is_remove=True, says="5"),
    row(
        "update_tool_signature",
        "tool_sig",
        {"function": {}},
        WrongArgument,
        says="function",
        is_remove=False,
    ),
    row("update_tool_signature", "tool_sig", "f", WrongArgument, is_remove=True, says="'f'"),
    row("register_for_llm", "name", 5),
    row("register_for_llm", "description", 5),
    row("register_for_llm", "api_style", "other", WrongArgument),
    row("register_for_execution", "name", 5),
    row("register_model_client", "model_client_cls", "Client"),
    row("register_model_client", "model_client_cls", None),
    row(
        "register_hook",
        "hookable_method",
        "process_everything",
        WrongArgument,
        hook=len,
        says="'process_everything'",
    ),
    row("register_hook", "hook", 5, hookable_method="update_agent_state"),
    row("update_agent_state_before_reply", "messages", 5),
    row("process_all_messages_before_reply", "messages", "hi"),
    row("process_last_received_message", "messages", ["hi"], says="'hi'"),
    row("set_context", "key", 5, value=1),
    row("update_context", "context_variables", 5),
    row("update_context", "context_variables", ["x"]),
    row("print_usage_summary", "mode", "all", WrongArgument),
]
BOTH_FACES = [
    pytest.param(*each.values, is_async, id=f"{each.id}-{'async' if is_async else 'sync'}")
    for each in METHODS
    for is_async in (False, True)
    if not is_async or hasattr(ConversableAgent, f"a_{each.values[0]}")
]
NOTHING_CAN_BE_WRONG = {
    "name",
    "code_executor",
    "system_message",
    "chat_messages",
    "use_docker",
    "function_map",
    "reset",
    "get_actual_usage",
    "get_total_usage",
    "get_context",
    "pop_context",
}
"""Nothing goes in, or anything may."""
ELSEWHERE = {
    "config",
    "value",
    "default",
    "old_reply_func",
    "is_remove",
    "verbose",
    "ignore_async_in_sync_chat",
    "remove_other_reply_funcs",
}


WORDS = {"func_sig": "function", "tool_sig": "function", "hookable_method": "hookable method"}
"""How messages call arguments whose names say little."""


def ann(**settings: Any) -> ConversableAgent:
    agent = ConversableAgent(
        "ann", **{"human_input_mode": "NEVER", "llm_config": MODEL, **settings}
    )
    agent._oai_messages[ConversableAgent("before")].append({"role": "user", "content": "kept"})
    return agent


def state(agent: ConversableAgent) -> Any:
    """What must not change when a call is refused."""
    messages = {peer.name: list(messages) for peer, messages in agent.chat_messages.items()}
    return (
        messages,
        dict(agent.reply_at_receive),
        list(agent._reply_func_list),
        dict(agent.function_map),
        dict(agent._context_variables),
    )


def call(agent: ConversableAgent, method: str, given: dict[str, Any], is_async: bool) -> None:
    if method == "description":
        agent.description = given["description"]
    elif is_async:
        asyncio.run(getattr(agent, f"a_{method}")(**given))
    else:
        getattr(agent, method)(**given)


@pytest.mark.parametrize(("method", "given", "argument", "named", "error"), SETTINGS)
def test_settings_that_cannot_be(
    method: str, given: dict[str, Any], argument: str, named: str, error: type[AgentkitError]
) -> None:
    with pytest.raises(error) as raised:
        getattr(ConversableAgent, method)(
            ConversableAgent.__new__(ConversableAgent), **{"name": "ann", **given}
        )
    assert named in str(raised.value)
    assert argument in str(raised.value) or named != repr(given[argument])
    assert argument == "name" or "ann" in str(raised.value)


@pytest.mark.parametrize(("method", "given", "argument", "named", "error", "is_async"), BOTH_FACES)
def test_arguments_that_cannot_be(
    method: str,
    given: dict[str, Any],
    argument: str,
    named: str,
    error: type[AgentkitError],
    is_async: bool,
) -> None:
    agent = ann(llm_config=False) if given.get("summary_method") == "reflection_with_llm" else ann()
    before = state(agent)
    with pytest.raises(error) as raised:
        call(agent, method, given, is_async)
    said = str(raised.value)
    assert "ann" in said
    assert named in said
    assert (
        argument in said or named != repr(given[argument]) or WORDS.get(argument, argument) in said
    )
    assert state(agent) == before


def test_every_public_method_and_argument_is_in_the_table() -> None:
    table = {(row.values[0], key) for row in [*SETTINGS, *METHODS] for key in row.values[1]}
    members = {name for name in vars(ConversableAgent) if not name.startswith(("_", "a_"))} | {
        "__init__"
    }
    methods = {
        name for name in members if inspect.isfunction(getattr(ConversableAgent, name))
    } - NOTHING_CAN_BE_WRONG
    missing = []
    for name in methods:
        for parameter in list(
            inspect.signature(getattr(ConversableAgent, name)).parameters.values()
        )[1:]:
            known = (name, parameter.name) in table or parameter.name in ELSEWHERE
            if not known and parameter.kind is not parameter.VAR_KEYWORD:
                missing.append(f"{name}({parameter.name})")
    assert missing == []


@pytest.mark.parametrize("decorated", [5, None, "f"])
def test_what_is_decorated_must_be_a_function(decorated: Any) -> None:
    for decorator in (
        ann().register_for_llm(name="f", description="d"),
        ann().register_for_execution("f"),
    ):
        with pytest.raises(
            WrongType, match=rf"ann: the decorated function must be callable, not {decorated!r}"
        ):
            decorator(decorated)


def test_a_function_for_a_model_needs_a_description_and_a_name() -> None:
    with pytest.raises(WrongArgument, match="'undescribed' needs a description"):

        @ann().register_for_llm()
        def undescribed() -> None: ...

    class Nameless:
        def __call__(self) -> str:
            return ""

    with pytest.raises(WrongArgument, match="has no name of its own"):
        ann().register_for_execution()(Nameless())


def test_register_function_names_who_is_no_agent() -> None:
    for given in ({"caller": "ann", "executor": BOB}, {"caller": ann(), "executor": 5}):
        with pytest.raises(
            WrongType,
            match=r"register_function: (caller|executor) must be a ConversableAgent, not ('ann'|5)",
        ):
            register_function(len, description="d", **given)  # type: ignore[arg-type]
    with pytest.raises(WrongType, match=r"ann: f must be callable, not 5"):
        register_function(5, caller=ann(), executor=BOB, description="d")  # type: ignore[arg-type]
    assert BOB.function_map == {}


def test_an_agent_without_a_model_says_so() -> None:
    without = ann(llm_config=False)
    with pytest.raises(NoModelConfig, match="ann has no llm_config"):
        without.register_model_client(dict)
    with pytest.raises(NoModelConfig, match="ann needs an llm_config"):
        without.update_tool_signature({"function": {"name": "f"}}, False)


@pytest.mark.parametrize(
    ("queue", "error", "says"),
    [
        (5, WrongType, "chat_queue must be a list"),
        ([5], WrongType, "each of chat_queue must be a dict of the arguments of a chat, not 5"),
        ([{"recipient": BOB, "message": "x"}], WrongArgument, "Chat 0 of the queue has no sender"),
        (
            [{"sender": BOB, "message": "x"}],
            WrongArgument,
            "recipient of a chat must be an agent, not None",
        ),
        (
            [{"sender": BOB, **CHAT, "chat_id": 1, "prerequisites": "x"}],
            WrongType,
            "bob: prerequisites must be a list, not 'x'",
        ),
        (
            [
                {
                    "sender": BOB,
                    **CHAT,
                    "chat_id": 1,
                    "finished_chat_indexes_to_exclude_from_carryover": 0,
                }
            ],
            WrongType,
            "bob: finished_chat_indexes_to_exclude_from_carryover must be a list, not 0",
        ),
    ],
)
def test_queues_that_cannot_be(queue: Any, error: type[AgentkitError], says: str) -> None:
    with pytest.raises(error, match=says):
        initiate_chats(queue)
    with pytest.raises(error, match=says):
        asyncio.run(a_initiate_chats(queue))


def test_a_wrong_chat_in_a_queue_stops_it_before_the_first_begins() -> None:
    eve, dan = ann(), ConversableAgent("dan", human_input_mode="NEVER")
    good = {"recipient": dan, "message": "hi", "max_turns": 1, "chat_id": 1, "silent": True}
    with pytest.raises(WrongType, match="summary_args"):
        eve.initiate_chats([good, {**good, "chat_id": 2, "summary_args": 5}])
    assert dan not in eve.chat_messages


def test_a_wrong_reflection_is_refused_before_the_chat() -> None:
    agent = ann()
    with pytest.raises(WrongArgument, match="summary_prompt must be a text, not 5"):
        agent.initiate_chat(
            BOB,
            message="x",
            summary_method="reflection_with_llm",
            summary_args={"summary_prompt": 5},
        )
    assert BOB not in agent.chat_messages


def test_what_only_looks_wrong_is_taken() -> None:
    """AutoGen scripts write these, and they mean something."""
    endless: Any = float("inf")
    agent = ConversableAgent(
        "x",
        None,
        max_consecutive_auto_reply=endless,
        default_auto_reply=None,
        human_input_mode="NEVER",
    )
    assert agent.generate_reply(messages=[{"content": "x"}]) is None
    assert (
        UserProxyAgent("u", human_input_mode="NEVER", default_auto_reply=None).generate_reply(
            messages=[{"content": "x"}]
        )
        is None
    )
    assert agent.generate_reply(messages=({"content": "x"},)) is None
    agent.send("x", BOB, request_reply=0, silent=1)  # type: ignore[arg-type]
    assert agent.initiate_chat(BOB, message="x", max_turns=0, silent=True).chat_history == []
    assert (
        agent.initiate_chat(
            BOB, message="x", max_turns=1, silent=True, carryover={}, summary_args=None
        ).summary
        == ""
    )
    assert (
        agent.initiate_chat(
            BOB, message=lambda *_: "x", carryover=5, max_turns=1, silent=True
        ).chat_history[0]["content"]
        == "x"
    )
    agent.clear_history(nr_messages_to_preserve=0)


def test_no_key_is_shown_of_a_config_in_the_wrong_shape() -> None:
    with pytest.raises(WrongArgument, match="a list") as raised:
        ConversableAgent("ann", llm_config=[{"model": "m", "api_key": "sk-secret"}])  # type: ignore[arg-type]
    assert "sk-secret" not in str(raised.value)
