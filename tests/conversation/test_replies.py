"""The table of reply functions: whom they answer, in which order they are asked, what resetting
does.
"""

from __future__ import annotations

import asyncio
import functools
import gc
import weakref
from dataclasses import dataclass
from typing import Any

import pytest

from agentkit import Agent, AssistantAgent, ConversableAgent, SenderRequired
from agentkit.conversation.replies import ReplyTable, check_trigger, matches
from agentkit.core.twin import ASYNC, SYNC, drive
from agentkit.errors import AsyncReplyInSyncChat, WrongArgument, WrongType
from tests.conversation.cast import agent, call, chat

ANN, BOB = agent("ann"), AssistantAgent("bob", llm_config=False)
BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


def says(text: str, final: bool = True) -> Any:
    def reply(
        recipient: Any, messages: Any = None, sender: Any = None, config: Any = None
    ) -> tuple[bool, Any]:
        return final, text

    return reply


def says_later(text: str) -> Any:
    async def reply(
        recipient: Any, messages: Any = None, sender: Any = None, config: Any = None
    ) -> tuple[bool, Any]:
        await asyncio.sleep(0)
        return True, text

    return reply


def table(*functions: Any, ignore_async: bool = False) -> ReplyTable:
    """A table that asks these in their order."""
    made = ReplyTable("ann")
    for function in reversed(functions):
        made.register(
            [Agent, None], function, 0, None, None, ignore_async=ignore_async, remove_others=False
        )
    return made


def answer(made: ReplyTable, is_async: bool = False, sender: Any = None, exclude: Any = ()) -> Any:
    async def asked() -> Any:
        return await drive(made.answer(ASYNC, ANN, [], sender, exclude))

    if is_async:
        return asyncio.run(asked())
    try:
        drive(made.answer(SYNC, ANN, [], sender, exclude)).send(None)
    except StopIteration as returned:
        return returned.value
    raise AssertionError("it waits")


@pytest.mark.parametrize(
    ("trigger", "for_ann", "for_bob", "for_nobody"),
    [
        (None, False, False, True),
        (ConversableAgent, True, True, False),
        (AssistantAgent, False, True, False),
        (Agent, True, True, False),
        (ANN, True, False, False),
        (lambda sender: sender is BOB, False, True, False),
        ([AssistantAgent, None], False, True, True),
        ([ANN, BOB], True, True, False),
        ([[ANN], [None]], True, False, True),
        ([], False, False, False),
    ],
)
def test_triggers(trigger: Any, for_ann: bool, for_bob: bool, for_nobody: bool) -> None:
    check_trigger("ann", trigger)
    assert [matches(trigger, sender) for sender in (ANN, BOB, None)] == [
        for_ann,
        for_bob,
        for_nobody,
    ]


def test_names_as_triggers_need_a_sender() -> None:
    assert matches("bob", BOB)
    assert not matches(["bob"], ANN)
    with pytest.raises(SenderRequired, match="'bob'"):
        matches("bob", None)


def test_a_trigger_must_say_yes_or_no() -> None:
    with pytest.raises(WrongType, match="must return True or False, not 'yes'"):
        matches(lambda sender: "yes", ANN)
    for wrong in (5, [5], {"a": 1}):
        with pytest.raises(
            WrongArgument,
            match="ann: a trigger is an agent class, a name, an agent, a callable, None or a list",
        ):
            check_trigger("ann", wrong)


@BOTH
def test_the_first_final_reply_counts(is_async: bool) -> None:
    assert answer(table(says("not yet", final=False), says("first"), says("second")), is_async) == (
        True,
        "first",
    )
    assert answer(table(says("not yet", final=False)), is_async) == (False, None)
    assert answer(table(), is_async) == (False, None)
    assert answer(table(says(None)), is_async) == (True, None)  # type: ignore[arg-type]


@BOTH
def test_async_functions_answer_in_async_chats_only(is_async: bool) -> None:
    assert answer(table(says_later("later"), says("now"), ignore_async=True), is_async) == (
        True,
        "later" if is_async else "now",
    )


@BOTH
def test_excluded_functions_are_not_asked(is_async: bool) -> None:
    first, second = says("first"), says("second")
    assert answer(table(first, second), is_async, exclude=[first]) == (True, "second")


@BOTH
@pytest.mark.parametrize(
    "face", ["check_termination_and_human_reply", "a_check_termination_and_human_reply"]
)
def test_excluding_one_face_excludes_both(face: str, is_async: bool) -> None:
    ann = agent("ann", default_auto_reply="on")
    stop = [{"role": "user", "content": "TERMINATE"}]
    assert call(is_async, ann, "generate_reply", messages=stop, sender=BOB) is None
    assert (
        call(
            is_async,
            ann,
            "generate_reply",
            messages=stop,
            sender=BOB,
            exclude=[getattr(ConversableAgent, face)],
        )
        == "on"
    )


@BOTH
def test_a_face_that_a_subclass_overrides_is_asked_when_registered(is_async: bool) -> None:
    class Own(ConversableAgent):
        def generate_oai_reply(
            self, messages: Any = None, sender: Any = None, config: Any = None
        ) -> Any:
            return True, "own"

    own = Own("own", human_input_mode="NEVER")
    own.register_reply([Agent, None], Own.generate_oai_reply)
    assert (
        call(is_async, own, "generate_reply", messages=[{"role": "user", "content": "x"}]) == "own"
    )


@BOTH
def test_a_function_that_wraps_a_face_is_asked_itself(is_async: bool) -> None:
    @functools.wraps(ConversableAgent.generate_oai_reply)
    def noted(recipient: Any, messages: Any, sender: Any, config: Any) -> Any:
        assert ConversableAgent.generate_oai_reply(recipient, messages, sender) == (False, None)
        return True, "noted"

    one = agent("one")
    one.register_reply([Agent, None], noted)
    assert (
        call(is_async, one, "generate_reply", messages=[{"role": "user", "content": "x"}])
        == "noted"
    )


def test_a_reply_function_that_is_changed_on_the_way_does_not_disturb() -> None:
    made = table(says("last"))

    def removes_itself(recipient: Any, **_: Any) -> Any:
        del made.entries[0]
        return False, None

    made.register(
        [Agent, None], removes_itself, 0, None, None, ignore_async=False, remove_others=False
    )
    assert answer(made) == answer(made) == (True, "last")


def test_sync_chats_refuse_async_functions_unless_told_to_ignore_them() -> None:
    table(says_later("x"), says("y"), ignore_async=True).check_sync()
    with pytest.raises(
        AsyncReplyInSyncChat, match=r"ann has async reply functions \(reply\).*a_initiate_chat"
    ):
        table(says_later("x")).check_sync()


def test_positions_and_removing_the_others() -> None:
    ann = agent("ann")
    before = len(ann._reply_func_list)
    functions = {position: says(str(position)) for position in (0, 2, -1, 99)}
    for position, function in functions.items():
        ann.register_reply(Agent, function, position=position)
    placed = [entry["reply_func"] for entry in ann._reply_func_list]
    assert [placed.index(functions[position]) for position in (0, 2, 99)] == [0, 2, before + 3]
    assert placed.index(functions[-1]) == before + 1
    ann.register_reply(Agent, print, remove_other_reply_funcs=True)
    assert [entry["reply_func"] for entry in ann._reply_func_list] == [print]


def test_configs_are_copied_and_reset() -> None:
    ann = agent("ann")
    given, kept = {"count": 0}, {"count": 0}
    ann.register_reply(Agent, print, config=given)
    ann.register_reply(Agent, repr, config=kept, reset_config=dict.clear)
    for entry in ann._reply_func_list[:2]:
        entry["config"]["count"] += 1
    assert given == kept == {"count": 0}
    ann.reset()
    assert [entry["config"] for entry in ann._reply_func_list[:2]] == [{}, {"count": 0}]


def test_replacing() -> None:
    ann = agent("ann", default_auto_reply="default")
    ann.replace_reply_func(ConversableAgent.check_termination_and_human_reply, says("replaced"))
    assert ann.generate_reply(messages=[{"role": "user", "content": "x"}]) == "replaced"
    ann.replace_reply_func(print, says("never"))
    assert ann.generate_reply(messages=[{"role": "user", "content": "x"}]) == "replaced"


@BOTH
def test_agents_are_not_kept_alive_by_their_reply_functions(is_async: bool) -> None:
    class Replying(ConversableAgent):
        def say(
            self, recipient: Any, messages: Any = None, sender: Any = None, config: Any = None
        ) -> Any:
            return True, "said"

    made = Replying("made", human_input_mode="NEVER")
    made.register_reply([Agent, None], made.say, ignore_async_in_sync_chat=True)
    assert chat(is_async, made, agent("other"), max_turns=1).summary == ""
    gone = weakref.ref(made)
    del made
    gc.collect()
    assert gone() is None


@BOTH
def test_a_callable_that_cannot_be_hashed_may_reply(is_async: bool) -> None:
    @dataclass
    class Says:
        text: str

        def __call__(
            self, recipient: Any, messages: Any = None, sender: Any = None, config: Any = None
        ) -> Any:
            return True, self.text

    ann = agent("ann")
    ann.register_reply([Agent, None], Says("one"), ignore_async_in_sync_chat=True)
    assert chat(is_async, agent("other"), ann, max_turns=1).summary == "one"


@BOTH
def test_what_a_reply_function_gets(is_async: bool) -> None:
    seen: dict[str, Any] = {}

    def look(recipient: Any, messages: Any = None, sender: Any = None, config: Any = None) -> Any:
        seen.update(recipient=recipient, messages=messages, sender=sender, config=config)
        return True, "seen"

    ann = agent("ann")
    ann.register_reply(BOB, look, config="c")
    ann.receive("x", BOB, request_reply=False, silent=True)
    assert call(is_async, ann, "generate_reply", sender=BOB) == "seen"
    assert seen == {
        "recipient": ann,
        "messages": ann.chat_messages[BOB],
        "sender": BOB,
        "config": "c",
    }
