"""When a person is asked, what an answer does, how replies are counted, and who is asked inside and
outside of a run.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentkit import ConversableAgent, runs
from agentkit.core import bus
from agentkit.core.io import IOStream
from agentkit.errors import Stopped
from agentkit.events import (
    Event,
    HumanAnswered,
    HumanInputRequested,
    MessageSent,
    RunFinished,
    RunStopped,
)
from tests.conversation.cast import Console, agent, call, chat, hearing, said, speaker

BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
PLAIN, LAST = {"content": "x", "role": "user"}, {"content": "TERMINATE", "role": "user"}


@BOTH
@pytest.mark.parametrize(
    ("mode", "message", "replies_so_far", "answer", "verdict", "asked"),
    [
        ("ALWAYS", PLAIN, 0, "no", (True, "no"), True),
        ("ALWAYS", PLAIN, 0, "", (False, None), True),
        ("ALWAYS", PLAIN, 9, "", (False, None), True),
        ("ALWAYS", PLAIN, 0, "exit", (True, None), True),
        ("ALWAYS", LAST, 0, "", (True, None), True),
        ("ALWAYS", LAST, 0, "go on", (True, "go on"), True),
        ("TERMINATE", PLAIN, 0, "", (False, None), False),
        ("TERMINATE", LAST, 0, "go on", (True, "go on"), True),
        ("TERMINATE", LAST, 0, "", (True, None), True),
        ("TERMINATE", PLAIN, 1, "", (False, None), True),
        ("TERMINATE", PLAIN, 1, "exit", (True, None), True),
        ("TERMINATE", PLAIN, 1, "more", (True, "more"), True),
        ("NEVER", PLAIN, 0, "", (False, None), False),
        ("NEVER", LAST, 0, "", (True, None), False),
        ("NEVER", PLAIN, 1, "", (True, None), False),
    ],
)
def test_who_is_asked_and_what_follows(
    mode: Any,
    message: Any,
    replies_so_far: int,
    answer: str,
    verdict: tuple[bool, Any],
    asked: bool,
    is_async: bool,
) -> None:
    ann, bob, console = (
        ConversableAgent("ann", human_input_mode=mode, max_consecutive_auto_reply=1),
        agent("bob"),
        Console(answer),
    )
    ann._consecutive_auto_reply_counter[bob] = replies_so_far
    with hearing(console):
        final, reply = call(is_async, ann, "check_termination_and_human_reply", [message], bob)
    assert (final, reply and reply["content"]) == verdict
    assert len(console.asked) == asked
    assert ann._consecutive_auto_reply_counter[bob] == (0 if verdict[0] else replies_so_far + 1)
    assert ann._human_input == [answer] * asked


@BOTH
def test_calls_that_a_person_interrupts_are_answered(is_async: bool) -> None:
    ann = ConversableAgent("ann", human_input_mode="ALWAYS")
    message = {
        "content": None,
        "tool_calls": [{"id": "1"}, {"id": "2"}],
        "function_call": {"name": "f"},
    }
    with hearing(Console("rather not")):
        _, reply = call(is_async, ann, "check_termination_and_human_reply", [message], agent("bob"))
    assert reply == {
        "role": "user",
        "content": "rather not",
        "tool_responses": [
            {"role": "function", "name": "f", "content": "USER INTERRUPTED"},
            {"role": "tool", "tool_call_id": "1", "content": "USER INTERRUPTED"},
            {"role": "tool", "tool_call_id": "2", "content": "USER INTERRUPTED"},
        ],
    }


def test_limits_by_sender_and_for_all() -> None:
    ann, bob, cid = agent("ann"), agent("bob"), agent("cid")
    assert (ann.max_consecutive_auto_reply(), ann.max_consecutive_auto_reply(bob)) == (100, 100)
    ann.update_max_consecutive_auto_reply(2, bob)
    assert [ann.max_consecutive_auto_reply(each) for each in (None, bob, cid)] == [100, 2, 100]
    ann.update_max_consecutive_auto_reply(5)
    assert [ann.max_consecutive_auto_reply(each) for each in (None, bob, cid)] == [5, 5, 5]
    ann._consecutive_auto_reply_counter.update({bob: 3, cid: 4})
    ann.reset_consecutive_auto_reply_counter(bob)
    assert ann._consecutive_auto_reply_counter == {bob: 0, cid: 4}
    ann.reset_consecutive_auto_reply_counter()
    assert ann._consecutive_auto_reply_counter[cid] == 0


@BOTH
def test_a_limit_of_0_replies_with_an_empty_text_when_the_person_skips(is_async: bool) -> None:
    ann = ConversableAgent("ann", human_input_mode="TERMINATE", max_consecutive_auto_reply=0)
    with hearing(Console("")):
        assert call(is_async, ann, "check_termination_and_human_reply", [PLAIN], agent("bob"))[0]


@BOTH
def test_an_overridden_question_is_asked_instead(is_async: bool) -> None:
    class Own(ConversableAgent):
        def get_human_input(self, prompt: str) -> str:
            return "own"

    own = Own("own", human_input_mode="ALWAYS")
    assert (
        call(is_async, own, "check_termination_and_human_reply", [PLAIN], agent("bob"))[1][
            "content"
        ]
        == "own"
    )
    own.get_human_input = lambda prompt: "patched"  # type: ignore[method-assign]
    assert (
        call(is_async, own, "check_termination_and_human_reply", [PLAIN], agent("bob"))[1][
            "content"
        ]
        == "patched"
    )


@BOTH
def test_the_terminal_is_asked_outside_of_runs_and_that_is_heard(is_async: bool) -> None:
    with hearing(Console("typed")) as events:
        assert call(is_async, agent("ann"), "get_human_input", "Well? ") == "typed"
    request, answer = events
    assert isinstance(request, HumanInputRequested)
    assert (request.agent, request.prompt) == ("ann", "Well? ")
    assert answer == HumanAnswered(request.request_id, "typed")


def answering(run: runs.Run[Any], *answers: str) -> list[Event]:
    """The events of the run, whose questions get these answers."""
    left, events = list(answers), []
    for recorded in run:
        events.append(recorded.event)
        if isinstance(recorded.event, HumanInputRequested):
            run.answer(left.pop(0))
    return events


@BOTH
def test_who_watches_a_run_is_asked_in_it(is_async: bool) -> None:
    ann, bob = ConversableAgent("ann", human_input_mode="ALWAYS"), speaker("bob", "one", "two")
    run = runs.start(lambda: chat(is_async, ann, bob), kind="chat")
    events = answering(run, "go on", "exit")
    assert run.result().human_input == ["go on", "exit"]
    requests = [event for event in events if isinstance(event, HumanInputRequested)]
    assert [event.request_id for event in events if isinstance(event, HumanAnswered)] == [
        each.request_id for each in requests
    ]
    assert {each.agent for each in requests} == {"ann"}
    assert isinstance(events[-1], RunFinished)
    assert said(ann, bob) == ["hi", "one", "go on", "two"]


def test_a_console_of_its_own_is_asked_inside_a_run_too() -> None:
    console = Console("typed")

    def work() -> str:
        with IOStream.set_default(console):
            return agent("ann").get_human_input("Well? ")

    assert runs.start(work, kind="test").result() == "typed"


@BOTH
def test_stopping_a_run_ends_the_question(is_async: bool) -> None:
    ann, bob = ConversableAgent("ann", human_input_mode="ALWAYS"), speaker("bob", "one", "two")
    run = runs.start(lambda: chat(is_async, ann, bob), kind="chat")
    for recorded in run:
        if isinstance(recorded.event, HumanInputRequested):
            run.stop()
    with pytest.raises(Stopped):
        run.result()
    assert isinstance(run.events()[-1].event, RunStopped)
    assert said(ann, bob) == said(bob, ann) == ["hi", "one"]


@BOTH
def test_a_stop_ends_a_chat_between_two_messages(is_async: bool) -> None:
    talk = {"default_auto_reply": "on", "max_consecutive_auto_reply": 1000}
    ann, bob = agent("ann", **talk), agent("bob", **talk)
    began: list[runs.Run[Any]] = []

    def stop_at_the_third(event: Event) -> None:
        if isinstance(event, MessageSent) and len(ann.chat_messages[bob]) == 3:
            began[0].stop()

    def work() -> Any:
        current = runs.current()
        assert current is not None
        began.append(current)
        with bus.listening(stop_at_the_third):
            return chat(is_async, ann, bob)

    run = runs.start(work, kind="chat")
    with pytest.raises(Stopped):
        run.result()
    assert said(ann, bob) == said(bob, ann) == ["hi", "on", "on"]
    assert ann.client_cache is bob.client_cache is None
    result = chat(is_async, ann, bob, "again", max_turns=1)
    assert [message["content"] for message in result.chat_history] == ["again", "on"]


def test_an_async_chat_can_be_cancelled_at_a_question() -> None:
    asked = asyncio.Event()

    class Waiting(ConversableAgent):
        async def a_get_human_input(self, prompt: str) -> str:
            asked.set()
            await asyncio.Event().wait()
            return ""

    ann, bob = Waiting("ann", human_input_mode="ALWAYS"), speaker("bob", "one")

    async def main() -> None:
        task = asyncio.ensure_future(ann.a_initiate_chat(bob, message="hi", silent=True))
        await asked.wait()
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())
    assert said(ann, bob) == said(bob, ann) == ["hi", "one"]
