"""What a compression recalls: failures rest for a while, and agents that are gone are not kept
alive.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit import ConversableAgent
from agentkit.conversation.compression import Compression, SlidingWindow, summary_message
from agentkit.conversation.compression.meter import Meter
from agentkit.conversation.compression.recall import Conversations, Failure
from agentkit.conversation.compression.shape import HEADING
from agentkit.conversation.transforms import TransformMessages
from agentkit.errors import AgentkitError, ModelUnreachable
from agentkit.events import Compressed
from agentkit.llm.calls.scripted import ScriptedClient, scripted_model
from agentkit.messages import Stored, copy_message, message
from tests.conversation import cast
from tests.conversation.cast import hearing

LONG = "The invoice of March names Berlin and 1,200 euros so far. "
METER = Meter("scripted")


class Failing:
    """A strategy that fails until it is mended, and counts what it is asked for."""

    name = "failing"

    def __init__(self, *errors: Exception) -> None:
        self.errors = errors or (ModelUnreachable("no server"),)
        self.mended = False
        self.asked: list[int] = []
        """Tokens of what it was to shorten."""

    def shorten(self, messages: Any, scope: Any) -> Any:
        """Nothing, mostly."""
        self.asked.append(scope.meter.count(messages))
        if not self.mended:
            error = self.errors[len(self.asked) % len(self.errors)]
            raise type(error)(
                str(error)
            )  # one that was raised before would hold all who were there
        return [summary_message("They spoke of invoices.")]


def answering(
    *compressions: Compression, system: str = "Answer."
) -> tuple[ConversableAgent, ScriptedClient]:
    model = scripted_model(lambda _: f"Reply. {LONG}")
    made = cast.agent(
        "bob",
        system_message=system,
        llm_config={"config_list": [{"model": model}], "cache_seed": None},
        max_consecutive_auto_reply=200,
    )
    for each in compressions:
        each.add_to_agent(made)
    assert isinstance(model.client, ScriptedClient)
    return made, model.client


def talk(
    bob: ConversableAgent, turns: int, ann: ConversableAgent | None = None
) -> list[Compressed]:
    """So many turns of a chat; gives what was told of compressions."""
    ann = ann or cast.agent("ann")
    ann.update_max_consecutive_auto_reply(turns - 1, bob)
    ann._default_auto_reply = LONG
    with hearing() as events:
        ann.initiate_chat(bob, message="The task: read the invoices.", silent=True)
    return [event for event in events if isinstance(event, Compressed)]


def sent(client: ScriptedClient) -> list[int]:
    return [
        METER.count_fixed([], {}) + METER.count(request["messages"]) for request in client.requests
    ]


@pytest.mark.parametrize(
    "errors",
    [[AgentkitError("no"), ValueError("odd")], [ModelUnreachable("no server")]],
    ids=["odd", "away"],
)
def test_a_strategy_that_always_fails_is_asked_a_few_times_and_each_failure_is_told_once(
    errors: list[Exception],
) -> None:
    strategy = Failing(*errors)
    bob, client = answering(Compression(strategy, trigger=500, limit=6_000))
    told = talk(bob, 50)
    assert len(client.requests) == 50
    assert max(sent(client)) <= 6_000
    assert 3 <= len(strategy.asked) == len(told) <= 12, "without a rest it would be about 40"
    assert all(
        later.tokens_before >= 1.25 * sooner.tokens_before for sooner, later in pairwise(told)
    )
    assert not any(event.ok for event in told)


def test_a_second_compression_keeps_the_chat_under_its_limit_where_the_first_one_fails() -> None:
    strategy = Failing()
    first, second = (
        Compression(strategy, trigger=700, limit=1_500),
        Compression(SlidingWindow(), trigger=1_300, limit=1_500),
    )
    bob, client = answering(first, second)
    told = talk(bob, 50)
    assert max(sent(client)) <= 1_500
    assert {event.strategy for event in told if event.ok} == {"sliding window, extraction"}
    assert len(strategy.asked) == sum(not event.ok for event in told) <= 10


def test_from_the_limit_on_it_is_tried_for_each_reply_and_goes_on_as_soon_as_it_can() -> None:
    strategy = Failing()
    compression = Compression(strategy, trigger=800, limit=900)
    history: list[Stored] = [{"role": "user", "content": LONG} for _ in range(60)]
    shortest = next(
        n for n in range(60) if METER.count_fixed([], {}) + METER.count(history[:n]) >= 900
    )
    with hearing():
        for count in range(shortest - 3, shortest + 3):
            assert compression.compress(history[:count]) == history[:count]
        assert len(strategy.asked) == 3 + 1, "once below the limit"
        strategy.mended = True
        made = compression.compress(history[: shortest + 3])
    assert made[1]["content"] == f"{HEADING}\nThey spoke of invoices."


def test_another_history_of_the_same_agent_does_not_rest() -> None:
    strategy = Failing()
    bob, _ = answering(Compression(strategy, trigger=500, limit=6_000))
    ann, cid = cast.agent("ann"), cast.agent("cid")
    with hearing():
        for number, peer in enumerate((ann, cid, ann, cid), start=1):
            bob.chat_messages[peer] = [
                {"role": "user", "content": f"{peer.name} {LONG}", "name": peer.name}
                for _ in range(40)
            ]
            bob.generate_reply(sender=peer)
            assert len(strategy.asked) == min(number, 2), "each of the two conversations fails once"
        bob.chat_messages[ann] = [
            {"role": "user", "content": f"Anew {LONG}", "name": "ann"} for _ in range(40)
        ]
        bob.generate_reply(sender=ann)
    assert len(strategy.asked) == 3


def test_what_stays_is_told_as_no_summary_though_it_looks_like_one() -> None:
    strategy = Failing()
    strategy.mended = True
    pasted = summary_message("All of another chat.")
    history = [pasted, *[copy_message(message("user", LONG)) for _ in range(40)], pasted]
    with hearing() as events:
        made = Compression(strategy, trigger=500).compress(history)
    (event,) = (event for event in events if isinstance(event, Compressed))
    assert made[0] == pasted == made[-1]
    assert event.summary == f"{HEADING}\nThey spoke of invoices."


def viewed(compression: Compression, bob: ConversableAgent) -> None:
    """Shorten a view of the history, which is not stored."""
    TransformMessages(transforms=[Doubled()], verbose=False).add_to_agent(bob)
    compression.add_to_agent(bob)


class Doubled:
    """A transform that changes what is said."""

    def apply_transform(self, messages: Any) -> Any:
        """Twice."""
        return [{**each, "content": f"{each['content']} {each['content']}"} for each in messages]

    def get_logs(self, before: Any, after: Any) -> tuple[str, bool]:
        """Nothing."""
        return "", False


PREPARED: dict[str, tuple[bool, Callable[[Compression, ConversableAgent], None]]] = {
    "stored": (True, lambda compression, bob: compression.add_to_agent(bob)),
    "a view": (True, viewed),
    "failed": (False, lambda compression, bob: compression.add_to_agent(bob)),
    "as a transform": (
        True,
        lambda compression, bob: TransformMessages(
            transforms=[compression], verbose=False
        ).add_to_agent(bob),
    ),
}


@pytest.mark.parametrize("kind", PREPARED)
def test_a_compression_keeps_no_agent_alive(kind: str) -> None:
    mended, prepare = PREPARED[kind]
    strategy = Failing()
    strategy.mended = mended
    compression = Compression(strategy, trigger=500, limit=6_000)
    gone: list[weakref.ref[ConversableAgent]] = []

    def chat() -> None:
        bob, _ = answering()
        ann = cast.agent("ann")
        prepare(compression, bob)
        assert talk(bob, 20, ann)
        gone.extend([weakref.ref(bob), weakref.ref(ann)])

    chat()
    gc.collect()
    assert [one() for one in gone] == [None, None]


class Person:
    """Somebody who talks."""


@given(
    st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 3), st.integers()), max_size=12),
    st.sets(st.integers(0, 3)),
)
def test_what_is_known_of_two_is_the_newest_as_long_as_both_live(
    known: list[tuple[int, int, int]], leaving: set[int]
) -> None:
    people: dict[int, Person | None] = {-1: None, **{number: Person() for number in range(4)}}
    conversations: Conversations[int] = Conversations()
    for agent, peer, value in known:
        conversations.put(people[agent], people[peer], value)
    for number in leaving:
        del people[number]
    gc.collect(0)
    newest = {(agent, peer): value for agent, peer, value in known}
    for agent in people:
        for peer in people:
            assert conversations.get(people[agent], people[peer]) == newest.get((agent, peer))


def test_a_failure_rests_until_the_same_history_is_a_quarter_longer_or_at_the_limit() -> None:
    messages: list[Stored] = [{"role": "user", "content": str(number)} for number in range(4)]
    failure = Failure(messages[:2], 100)
    assert failure.rests(messages, 124, None)
    assert failure.rests(messages, 124, 125)
    assert not failure.rests(messages, 124, 124)
    assert not failure.rests(messages, 125, None)
    assert not failure.rests(messages[1:], 101, None)
    assert not failure.rests(messages[:1], 101, None)
