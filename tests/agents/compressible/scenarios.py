"""What is played on pyautogen's CompressibleAgent and on ours. Runs in the oracle's environment
too: standard library only.
"""

from __future__ import annotations

import importlib
import json
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

ORACLE, OURS = "autogen", "agentkit"
HOMES = {
    ORACLE: ("autogen", "autogen.agentchat.contrib.compressible_agent"),
    OURS: ("agentkit", "agentkit.agents.compressible"),
}
MODEL = "gpt-3.5-turbo-0613"
LONG = (
    "The invoice of March names Berlin and 1,200 euros, and more words follow so that it is long. "
    * 6
)


class Client:
    """Stands for an OpenAIWrapper: gives these replies (the last one again and again) and keeps
    what it was asked.
    """

    def __init__(self, *replies: Any) -> None:
        self.replies = list(replies)
        self.asked: list[list[dict[str, Any]]] = []

    def create(self, **config: Any) -> Any:
        """The next reply."""
        self.asked.append([dict(message) for message in config["messages"]])
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(reply, Exception):
            raise reply
        return SimpleNamespace(message_retrieval_function=lambda _: [reply], cost=0)

    @staticmethod
    def extract_text_or_completion_object(response: Any) -> list[Any]:
        """The reply in a response."""
        return list(response.message_retrieval_function(response))


class Kit:
    """One of the two systems."""

    def __init__(self, package: str) -> None:
        agents = [importlib.import_module(home) for home in HOMES[package]]
        self.conversable, self.compressible = (
            agents[0].ConversableAgent,
            agents[1].CompressibleAgent,
        )

    def agent(self, compress_config: Any, summary: Any = "A summary.", reply: Any = "Yes.") -> Any:
        """A CompressibleAgent with clients that ask nobody."""
        made = self.compressible(
            "bob",
            "Be short.",
            llm_config={"model": MODEL, "api_key": "none", "cache_seed": None},
            compress_config=compress_config,
        )
        made.client, made.compress_client = Client(reply), Client(summary)
        return made

    def other(self) -> Any:
        """Whom it talks with."""
        return self.conversable("ann", human_input_mode="NEVER", llm_config=False)


Play = Callable[[Kit], Any]
SCENARIOS: dict[str, tuple[Play, str, Any]] = {}
"""Name -> what is played, and where ours is better: why, and what ours gives."""


def scenario(better: str = "", expected: Any = None) -> Callable[[Play], Play]:
    """Make a function a scenario."""

    def register(function: Play) -> Play:
        SCENARIOS[function.__name__] = function, better, expected
        return function

    return register


def raised(function: Callable[[], Any]) -> str:
    """Names of the built-in classes of the error that the call raises; empty when it raises
    none.
    """
    try:
        function()
    except Exception as error:  # noqa: BLE001 (which one is the question)
        return "/".join(
            sorted(
                kind.__name__
                for kind in type(error).__mro__
                if kind in (ValueError, TypeError, AttributeError)
            )
        )
    return ""


def play(name: str, package: str) -> Any:
    """The result as JSON gives it back; an error that leaves the scenario is its name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = SCENARIOS[name][0](Kit(package))
        except Exception as error:
            if package == OURS:
                raise
            result = f"raises {type(error).__name__}"
    return json.loads(json.dumps(result))


def talk(count: int = 8) -> list[dict[str, Any]]:
    """A conversation as bob keeps it."""
    return [
        {
            "role": "user" if n % 2 == 0 else "assistant",
            "name": "ann" if n % 2 == 0 else "bob",
            "content": f"{n}: {LONG}",
        }
        for n in range(count)
    ]


def shape(messages: Any) -> Any:
    """Role and first letters of each message."""
    return messages and [
        [message["role"], str(message.get("content"))[:20]] for message in messages
    ]


def with_history(kit: Kit, config: Any, count: int = 8, **clients: Any) -> tuple[Any, Any]:
    """The agent and whom it talks with, in the middle of a chat."""
    bob, ann = kit.agent(config, **clients), kit.other()
    bob._oai_messages[ann] = talk(count)
    ann._oai_messages[bob] = [
        {**each, "role": {"user": "assistant"}.get(each["role"], "user")} for each in talk(count)
    ]
    return bob, ann


@scenario()
def what_the_config_may_be(kit: Kit) -> Any:
    made = {}
    for config in (
        False,
        {},
        True,
        {"mode": "COMPRESS"},
        {"mode": "COMPRESS", "trigger_count": 2000},
        {"trigger_count": 0.25, "leave_last_n": 3},
    ):
        kept = kit.agent(config).compress_config
        made[str(config)] = kept and {
            key: kept[key] for key in ("mode", "trigger_count", "async", "broadcast", "verbose")
        }
    return made


@scenario()
def what_the_config_may_not_be(kit: Kit) -> Any:
    wrong: list[Any] = [
        "COMPRESS",
        {"mode": "OTHER"},
        {"leave_last_n": -1},
        {"leave_last_n": "2"},
        {"trigger_count": 0},
        {"trigger_count": -5},
        {"trigger_count": "70%"},
        {"mode": "CUSTOMIZED"},
    ]
    return [raised(lambda config=config: kit.agent(config)) for config in wrong]  # type: ignore[misc]


@scenario(
    better="a trigger below the system message is said so; the oracle fails on its own setting",
    expected="ValueError",
)
def a_trigger_below_the_system_message(kit: Kit) -> Any:
    return raised(lambda: kit.agent({"mode": "COMPRESS", "trigger_count": 2}))


@scenario(better="a misspelt key is no setting", expected="ValueError")
def an_unknown_key(kit: Kit) -> Any:
    return raised(lambda: kit.agent({"mode": "COMPRESS", "trigger_counts": 2}))


@scenario(better="the document says 0", expected=0)
def how_many_are_left_by_default(kit: Kit) -> Any:
    return kit.agent(True).compress_config["leave_last_n"]


@scenario()
def messages_become_one_but_for_the_first_and_the_last(kit: Kit) -> Any:
    made = []
    for leave in (1, 2, 3):
        bob = kit.agent({"mode": "COMPRESS", "trigger_count": 3000, "leave_last_n": leave})
        success, messages = bob.compress_messages(talk())
        made.append(
            [
                success,
                len(messages),
                shape(messages[:1]),
                shape(messages[2:]),
                "A summary." in messages[1]["content"],
            ]
        )
    return made


@scenario()
def everything_but_the_first_with_none_left(kit: Kit) -> Any:
    success, messages = kit.agent(
        {"mode": "COMPRESS", "trigger_count": 3000, "leave_last_n": 0}
    ).compress_messages(talk())
    return [success, len(messages), shape(messages[:1]), "A summary." in messages[1]["content"]]


@scenario()
def nothing_to_compress(kit: Kit) -> Any:
    bob = kit.agent({"mode": "COMPRESS", "trigger_count": 3000, "leave_last_n": 2})
    return [list(bob.compress_messages(talk(count))) for count in (1, 2, 3)]


@scenario()
def a_summary_that_fails(kit: Kit) -> Any:
    bob = kit.agent(
        {"mode": "COMPRESS", "trigger_count": 3000, "leave_last_n": 1},
        summary=RuntimeError("no server"),
    )
    return list(bob.compress_messages(talk()))


@scenario(
    better="an empty summary is a failure; the oracle takes it for the history",
    expected=[False, None],
)
def an_empty_summary(kit: Kit) -> Any:
    success, messages = kit.agent(
        {"mode": "COMPRESS", "trigger_count": 3000}, summary=""
    ).compress_messages(talk())
    return [success, messages and len(messages)]


@scenario()
def another_client_may_be_given(kit: Kit) -> Any:
    bob = kit.agent({"mode": "COMPRESS", "trigger_count": 3000, "leave_last_n": 1})
    other = Client("Another summary.")
    success, messages = bob.compress_messages(talk(), other)
    return [
        success,
        "Another summary." in messages[1]["content"],
        len(other.asked),
        len(bob.compress_client.asked),
    ]


@scenario()
def the_compressor_is_told_who_said_what(kit: Kit) -> Any:
    bob = kit.agent({"mode": "COMPRESS", "trigger_count": 3000, "leave_last_n": 1})
    call = {
        "role": "assistant",
        "content": None,
        "function_call": {"name": "add", "arguments": '{"a": 1}'},
    }
    result = {"role": "function", "name": "add", "content": "the sum is 3"}
    bob.compress_messages([*talk(3), call, result, *talk(1)])
    prompt = bob.compress_client.asked[0][-1]["content"]
    return [
        word in prompt
        for word in (
            "USER",
            "ASSISTANT",
            "FUNCTION_CALL",
            "FUNCTION_RETURN",
            "add",
            '{"a": 1}',
            "the sum is 3",
        )
    ]


@scenario(better="tool calls and results are told to the compressor, too", expected=[True, True])
def the_compressor_is_told_of_tools(kit: Kit) -> Any:
    bob = kit.agent({"mode": "COMPRESS", "trigger_count": 3000, "leave_last_n": 1})
    function = {"name": "multiply", "arguments": '{"a": 77}'}
    call = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "1", "type": "function", "function": function}],
    }
    response = {"role": "tool", "tool_call_id": "1", "content": "the product is 3"}
    bob.compress_messages(
        [
            *talk(3),
            call,
            {"role": "tool", "content": "the product is 3", "tool_responses": [response]},
            *talk(1),
        ]
    )
    prompt = bob.compress_client.asked[0][-1]["content"]
    return ['{"a": 77}' in prompt, "the product is 3" in prompt]


@scenario()
def the_chat_ends_when_the_window_is_full(kit: Kit) -> Any:
    made = []
    for count in (3, 2000):
        bob, ann = with_history(kit, {"mode": "TERMINATE", "trigger_count": 10}, count)
        made.append(
            [
                list(bob.on_oai_token_limit(sender=ann)),
                bob.generate_reply(sender=ann),
                len(bob._oai_messages[ann]),
            ]
        )
    return made


@scenario()
def off_does_nothing(kit: Kit) -> Any:
    bob, ann = with_history(kit, False, 2000)
    return [list(bob.on_oai_token_limit(sender=ann)), bob.generate_reply(sender=ann)]


@scenario()
def below_the_trigger_nothing_happens(kit: Kit) -> Any:
    bob, ann = with_history(kit, {"mode": "COMPRESS", "trigger_count": 3000, "leave_last_n": 1}, 2)
    return [
        list(bob.on_oai_token_limit(sender=ann)),
        shape(bob._oai_messages[ann]),
        len(bob.compress_client.asked),
    ]


@scenario()
def both_histories_are_shortened(kit: Kit) -> Any:
    made = []
    for broadcast in (True, False):
        bob, ann = with_history(
            kit,
            {"mode": "COMPRESS", "trigger_count": 600, "leave_last_n": 2, "broadcast": broadcast},
        )
        verdict = list(bob.on_oai_token_limit(sender=ann))
        made.append(
            [
                verdict,
                len(bob._oai_messages[ann]),
                shape(bob._oai_messages[ann][2:]),
                len(ann._oai_messages[bob]),
            ]
        )
        if broadcast:
            made.append(shape(ann._oai_messages[bob][2:]))
    return made


@scenario()
def the_model_is_sent_the_short_history(kit: Kit) -> Any:
    bob, ann = with_history(kit, {"mode": "COMPRESS", "trigger_count": 600, "leave_last_n": 2})
    reply = bob.generate_reply(sender=ann)
    (asked,) = bob.client.asked
    return [reply, len(asked), shape(asked[:2]), shape(asked[3:])]


@scenario()
def a_function_of_ones_own(kit: Kit) -> Any:
    seen = []

    def shorten(messages: list[dict[str, Any]]) -> tuple[bool, list[dict[str, Any]]]:
        seen.append(len(messages))
        return True, [messages[0], {"role": "assistant", "content": "in short"}, messages[-1]]

    bob, ann = with_history(
        kit, {"mode": "CUSTOMIZED", "compress_function": shorten, "trigger_count": 600}
    )
    verdict = list(bob.on_oai_token_limit(sender=ann))
    return [verdict, seen, shape(bob._oai_messages[ann]), shape(ann._oai_messages[bob])]


@scenario(better="the flag counts", expected=[[False, None], 8, 8])
def a_function_that_says_it_failed(kit: Kit) -> Any:
    config = {
        "mode": "CUSTOMIZED",
        "compress_function": lambda messages: (False, messages[:1]),
        "trigger_count": 600,
    }
    bob, ann = with_history(kit, config)
    return [
        list(bob.on_oai_token_limit(sender=ann)),
        len(bob._oai_messages[ann]),
        len(ann._oai_messages[bob]),
    ]


@scenario(
    better="calls and results of tools are kept as they are; the oracle drops them",
    expected=[True, True],
)
def a_function_that_keeps_a_tool_call(kit: Kit) -> Any:
    function = {"name": "f", "arguments": "{}"}
    call = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "1", "type": "function", "function": function}],
    }
    response = {"role": "tool", "tool_call_id": "1", "content": "done"}
    result = {"role": "tool", "content": "done", "tool_responses": [response]}

    def shorten(messages: list[dict[str, Any]]) -> tuple[bool, list[dict[str, Any]]]:
        return True, [messages[0], dict(call, content=""), result]

    bob, ann = with_history(
        kit, {"mode": "CUSTOMIZED", "compress_function": shorten, "trigger_count": 600}
    )
    bob._oai_messages[ann] += [call, result]
    bob.on_oai_token_limit(sender=ann)
    kept = bob._oai_messages[ann]
    return [
        any("tool_calls" in message for message in kept),
        any("tool_responses" in message for message in kept),
    ]


@scenario(better="a history without messages is no history", expected=[[False, None], 8])
def a_function_that_leaves_nothing(kit: Kit) -> Any:
    bob, ann = with_history(
        kit, {"mode": "CUSTOMIZED", "compress_function": lambda _: (True, []), "trigger_count": 600}
    )
    return [list(bob.on_oai_token_limit(sender=ann)), len(bob._oai_messages[ann])]


@scenario()
def the_stored_conversation_counts_not_the_given_one(kit: Kit) -> Any:
    bob, ann = with_history(kit, {"mode": "COMPRESS", "trigger_count": 3000}, 3)
    bob.generate_reply(messages=[{"role": "user", "content": "something else"}], sender=ann)
    return shape(bob.client.asked[0])


@scenario()
def neither_messages_nor_a_sender(kit: Kit) -> Any:
    try:
        kit.agent(False).generate_reply()
    except AssertionError:
        return "AssertionError"
    return ""


@scenario()
def names_and_defaults(kit: Kit) -> Any:
    bob = kit.compressible("bob", llm_config=False)
    return [
        bob.human_input_mode,
        bob._code_execution_config,
        bob.compress_config,
        bob.generate_reply([{"role": "user", "content": "x"}]),
    ]
