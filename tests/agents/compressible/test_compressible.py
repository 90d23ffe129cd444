"""CompressibleAgent: both faces, groups, every key of its config, and what is told when it
fails.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentkit import GroupChat, GroupChatManager
from agentkit.agents.compressible import CompressibleAgent
from agentkit.conversation.compression.shape import HEADING
from agentkit.errors import ModelUnreachable, WrongArgument, WrongType
from agentkit.events import Compressed
from agentkit.llm.calls.scripted import scripted_model
from agentkit.messages import Stored
from tests.agents.compressible import face_cases
from tests.agents.compressible.face_cases import LONG, agent
from tests.agents.dialog.cast import thinker, turn
from tests.contracts.faces import CASES, Face, outcome
from tests.conversation import cast
from tests.conversation.cast import Console, hearing

PLAYS = [
    pytest.param(play, id=play.__name__)
    for name in CASES
    for play in CASES[name]
    if play.__module__ == face_cases.__name__
]
HISTORY: list[Stored] = [
    {"role": "user" if n % 2 == 0 else "assistant", "content": f"{n} {LONG}", "name": "ab"[n % 2]}
    for n in range(40)
]


def told(events: list[Any]) -> list[Compressed]:
    return [event for event in events if isinstance(event, Compressed)]


@pytest.mark.parametrize("play", PLAYS)
def test_both_faces_do_the_same(play: Any) -> None:
    sync, asynchronous = outcome(play, is_async=False), outcome(play, is_async=True)
    assert asynchronous == sync
    assert sync["raised"] is None


def test_all_pairs_are_played() -> None:
    assert len(PLAYS) == 6


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_long_chat_stays_below_the_trigger(is_async: bool) -> None:
    bob, ann = (
        agent(Face(is_async), "bob", mode="COMPRESS"),
        cast.agent("ann", default_auto_reply=LONG),
    )
    with hearing() as events:
        result = cast.chat(is_async, ann, bob, "The task.")
    assert len(told(events)) > 1
    assert all(
        event.ok and event.tokens_after < 400 and event.tokens_spent > 0 for event in told(events)
    )
    assert result.chat_history[0]["content"] == "The task."
    assert any(HEADING in str(message["content"]) for message in ann.chat_messages[bob])


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("broadcast", [False, True], ids=["alone", "broadcast"])
def test_in_a_group_everybody_gets_the_shorter_history(is_async: bool, broadcast: bool) -> None:
    bob = agent(Face(is_async), "bob", mode="COMPRESS", broadcast=broadcast)
    cara, dan = (cast.agent(name, default_auto_reply=LONG) for name in ("cara", "dan"))
    group = GroupChat([bob, cara, dan], [], max_round=40, speaker_selection_method="round_robin")
    manager = GroupChatManager(group, llm_config=False)
    with hearing() as events:
        cast.chat(is_async, cast.agent("ann"), manager, "The task.")
    assert told(events)
    assert len(group.messages) == 40
    assert len(bob.chat_messages[manager]) < 30
    for other in (
        cara.chat_messages[manager],
        dan.chat_messages[manager],
        manager.chat_messages[bob],
    ):
        assert (len(other) < 30) is broadcast
    if broadcast:
        assert cara.chat_messages[manager][0]["content"] == "The task."
        for member in (cara, dan):
            own = {
                each["role"]
                for each in member.chat_messages[manager]
                if each.get("name") == member.name
            }
            others = {
                each["role"]
                for each in member.chat_messages[manager]
                if each.get("name") != member.name
            }
            assert own <= {"assistant"}
            assert others == {"user"}


def test_a_member_that_heard_something_else_keeps_it() -> None:
    bob, cara, dan = (
        agent(Face(False), "bob", mode="COMPRESS"),
        cast.agent("cara"),
        cast.agent("dan"),
    )
    manager = GroupChatManager(GroupChat([bob, cara, dan], []), llm_config=False)
    bob.chat_messages[manager] = list(HISTORY)
    cara.chat_messages[manager] = [{**each, "role": "user"} for each in HISTORY]
    dan.chat_messages[manager] = [{"role": "user", "content": "private"}, *HISTORY[1:]]
    with hearing():
        bob.generate_reply(sender=manager)
    assert len(cara.chat_messages[manager]) < 10
    assert len(dan.chat_messages[manager]) == 40


def test_what_is_to_be_answered_is_never_shortened() -> None:
    bob, ann = agent(Face(False), "bob", mode="COMPRESS", leave_last_n=0), cast.agent("ann")
    bob.chat_messages[ann] = list(HISTORY)
    with hearing():
        bob.on_oai_token_limit(sender=ann)
    first, summary, last = bob.chat_messages[ann]
    assert (first, last) == (HISTORY[0], HISTORY[-1])
    assert summary["role"] == "user"
    assert summary["content"] == f"{HEADING}\nThey spoke of invoices."


def test_verbose_prints_what_was_and_what_is() -> None:
    console, quiet = Console(), Console()
    for verbose, shown in ((True, console), (False, quiet)):
        bob, ann = agent(Face(False), "bob", mode="COMPRESS", verbose=verbose), cast.agent("ann")
        bob.chat_messages[ann] = list(HISTORY)
        with hearing(shown):
            bob.on_oai_token_limit(sender=ann)
    assert f"##USER a## 2 {LONG}" in console.text
    assert "They spoke of invoices." in console.text
    assert "##USER" not in quiet.text
    assert ">>>> bob: the history of 40 messages (" in quiet.text


def test_with_async_the_loop_goes_on_meanwhile() -> None:
    def ticks_during(beside: bool) -> int:
        ticks: list[int] = []
        seen: list[int] = []
        loops: list[asyncio.AbstractEventLoop] = []

        def shorten(messages: list[dict[str, Any]]) -> tuple[bool, list[dict[str, Any]]]:
            before = len(ticks)
            for _ in range(20):
                if beside:  # each needs a turn of the loop
                    asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loops[0]).result(120)
            seen.append(len(ticks) - before)
            return True, [messages[0], messages[-1]]

        async def tick() -> None:
            while True:
                ticks.append(1)
                await asyncio.sleep(0)

        async def main() -> None:
            loops.append(asyncio.get_running_loop())
            ticking = asyncio.create_task(tick())
            await bob.a_on_oai_token_limit(list(HISTORY), None)
            ticking.cancel()

        bob = agent(
            Face(True), "bob", mode="CUSTOMIZED", compress_function=shorten, **{"async": beside}
        )
        asyncio.run(main())
        return seen[0]

    with hearing():
        assert ticks_during(True) > 5
        assert ticks_during(False) == 0


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (lambda _: (False, [{"role": "user", "content": "x"}]), "<lambda> reported no success"),
        (lambda _: None, r"<lambda> must return (success, messages), not None"),
        (lambda _: (True, "text"), "<lambda> must give a list of messages, not 'text'"),
        (
            lambda _: (True, [{"content": "x"}]),
            "<lambda> gave no message of a chat, which has a role and content or a call",
        ),
        (lambda _: (True, []), "nothing would be left of the conversation"),
        (lambda messages: (True, messages), "tokens, 400 are allowed"),
        (lambda _: 1 / 0, "ZeroDivisionError: division by zero"),
        (
            lambda messages: (
                True,
                [*messages[:3], {"role": "tool", "tool_call_id": "1", "content": "x"}],
            ),
            "parted from its result",
        ),
    ],
)
def test_a_function_that_fails_leaves_the_history_whole(function: Any, error: str) -> None:
    bob, ann = (
        agent(Face(False), "bob", mode="CUSTOMIZED", compress_function=function),
        cast.agent("ann"),
    )
    history = bob.chat_messages[ann] = list(HISTORY)
    with hearing() as events:
        assert bob.on_oai_token_limit(sender=ann) == (False, None)
    assert bob.chat_messages[ann] is history
    assert history == HISTORY
    (event,) = told(events)
    assert not event.ok
    assert error in event.error


def test_the_reason_of_a_failed_summary_is_told() -> None:
    bob, ann = (
        agent(Face(False), "bob", [ModelUnreachable("no server at that address")], mode="COMPRESS"),
        cast.agent("ann"),
    )
    bob.chat_messages[ann] = list(HISTORY)
    with hearing() as events:
        bob.on_oai_token_limit(sender=ann)
    assert told(events)[0].error == "no server at that address"
    assert bob.chat_messages[ann] == HISTORY


def test_a_model_that_failed_is_asked_again_when_there_is_more_to_shorten() -> None:
    bob, ann = (
        agent(Face(False), "bob", lambda request: ModelUnreachable("gone"), mode="COMPRESS"),
        cast.agent("ann"),
    )
    bob.chat_messages[ann] = history = list(HISTORY)
    with hearing() as events:
        for _ in range(3):
            bob.on_oai_token_limit(sender=ann)
        assert len(told(events)) == 1
        history += HISTORY[:12]
        bob.on_oai_token_limit(sender=ann)
    assert [event.ok for event in told(events)] == [False, False]


def test_who_remembers_more_than_was_said_keeps_that() -> None:
    cara, _ = thinker(
        "cara", lambda request: turn("a secret", "Words."), max_consecutive_auto_reply=20
    )
    bob = agent(Face(False), "bob", mode="COMPRESS", broadcast=True)
    with hearing() as events:
        bob.initiate_chat(cara, message="The task.", max_turns=20)
    assert told(events)[0].ok
    assert sum("a secret" in str(message["content"]) for message in cara.chat_messages[bob]) == 20


def test_an_override_of_compress_messages_is_used() -> None:
    class Own(CompressibleAgent):
        def compress_messages(self, messages: Any = None, config: Any = None) -> Any:
            return True, [messages[0], {"role": "user", "content": "in short"}]

    config = {"config_list": [{"model": scripted_model(["Yes."])}], "cache_seed": None}
    bob, ann = (
        Own(
            "bob",
            "Be short.",
            llm_config=config,
            compress_config={"mode": "COMPRESS", "trigger_count": 400},
        ),
        cast.agent("ann"),
    )
    bob.chat_messages[ann] = list(HISTORY)
    with hearing():
        assert bob.generate_reply(sender=ann) == "Yes."
    assert [each["content"] for each in bob.chat_messages[ann]] == [
        HISTORY[0]["content"],
        "in short",
        HISTORY[-1]["content"],
    ]


def test_the_end_for_want_of_tokens_says_so() -> None:
    llm = {"config_list": [{"model": "gpt-3.5-turbo-0613", "api_key": "x"}], "cache_seed": None}
    bob, ann = CompressibleAgent("bob", llm_config=llm, compress_config=True), cast.agent("ann")
    with hearing():
        result = cast.chat(False, ann, bob, "more " * 5_000)
    assert result.stop_reason.startswith("bob has no tokens left: 5")
    assert result.stop_reason.endswith(" of the 4096 of gpt-3.5-turbo-0613 are used")


@pytest.mark.parametrize(
    ("config", "kind", "error"),
    [
        (
            "COMPRESS",
            WrongArgument,
            "compress_config must be True, False or a dict, not 'COMPRESS'",
        ),
        (
            {"trigger": 1},
            WrongArgument,
            "unknown key 'trigger'; it may have mode, compress_function, trigger_count",
        ),
        ({"mode": "compress"}, WrongArgument, "choose one of TERMINATE, COMPRESS, CUSTOMIZED"),
        ({"async": "yes"}, WrongType, "async of compress_config must be True or False"),
        ({"broadcast": None}, WrongType, "broadcast of compress_config must be True or False"),
        ({"verbose": 2}, WrongType, "verbose of compress_config must be True or False"),
        (
            {"leave_last_n": 1.5},
            WrongArgument,
            "leave_last_n of compress_config must be a whole number",
        ),
        ({"mode": "CUSTOMIZED"}, WrongArgument, "needs a compress_function"),
        (
            {"mode": "CUSTOMIZED", "compress_function": "f"},
            WrongType,
            "compress_function of compress_config must be callable",
        ),
        (
            {"mode": "COMPRESS", "trigger_count": True},
            WrongArgument,
            "must be a share up to 1.0 or a number of tokens, not True",
        ),
        (
            {"mode": "COMPRESS", "trigger_count": 0.5},
            WrongArgument,
            "a share of a window, and the window of the model",
        ),
        ({"mode": "COMPRESS", "trigger_count": 5}, WrongArgument, "trigger_count=5 is below the "),
        (
            True,
            WrongArgument,
            "a window is full, and the window of the model 'scripted' is not known",
        ),
    ],
)
def test_what_cannot_be_is_refused(config: Any, kind: type[Exception], error: str) -> None:
    llm = {"config_list": [{"model": scripted_model([])}], "cache_seed": None}
    with pytest.raises(kind) as raised:
        CompressibleAgent("bob", llm_config=llm, compress_config=config)
    assert error in str(raised.value)
    assert str(raised.value).startswith("bob: ")


def test_a_summary_needs_a_model() -> None:
    with pytest.raises(WrongArgument, match="mode COMPRESS needs an llm_config"):
        CompressibleAgent(
            "bob", llm_config=False, compress_config={"mode": "COMPRESS", "trigger_count": 900}
        )


def test_a_function_that_is_not_used_is_warned_of() -> None:
    with pytest.warns(
        UserWarning, match="compress_function is only used with mode CUSTOMIZED, not with COMPRESS"
    ):
        agent(Face(False), "bob", mode="COMPRESS", compress_function=print)


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_what_was_said_can_be_had_after_it_was_shortened(is_async: bool) -> None:
    bob, ann = (
        agent(Face(is_async), "bob", mode="COMPRESS", broadcast=False),
        cast.agent("ann", default_auto_reply=LONG),
    )
    with hearing() as events:
        cast.chat(is_async, ann, bob, "The task.")
    assert len(told(events)) > 1
    original = bob.original_messages(ann)
    assert [message["content"] for message in original] == [
        message["content"] for message in ann.chat_messages[bob]
    ]
    assert len(original) > len(bob.chat_messages[ann])
    bob.clear_history(ann)
    assert bob.original_messages(ann) == []
