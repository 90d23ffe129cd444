"""Compression where chats are awkward: long first messages, messages that come in meanwhile,
tokenizers of one's own.
"""

from __future__ import annotations

import asyncio
import dataclasses
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from agentkit import CompressibleAgent, ConversableAgent, GroupChat, GroupChatManager
from agentkit.conversation.compression import (
    Compression,
    Extraction,
    ModelSummary,
    SlidingWindow,
    Strategy,
)
from agentkit.conversation.compression.meter import Meter, model_of
from agentkit.conversation.transforms import TransformMessages
from agentkit.errors import WrongArgument
from agentkit.events import Compressed, LimitTold
from agentkit.llm import Model
from agentkit.llm.calls.limits import Limit, limited
from agentkit.llm.calls.scripted import ScriptedClient, scripted_model
from agentkit.messages import Role, message
from agentkit.teams.memory.long_memory import NOTES
from tests.conversation import cast
from tests.conversation.cast import hearing
from tests.teams.long_chat import LongChat

LONG = "The invoice of March names Berlin and 1,200 euros so far. " * 2
METER = Meter("scripted")
SAY: tuple[Role, Role] = ("user", "assistant")
Params = dict[str, Any]


def is_for_notes(params: Any) -> bool:
    """Whether a summary is asked for."""
    return str(params["messages"][0]["content"]).startswith("You shorten conversations.")


def answer(params: Any) -> str:
    return "They spoke of invoices." if is_for_notes(params) else f"Reply. {LONG}"


class Letters(ScriptedClient):
    """A model whose tokens are letters."""

    def count_tokens(self, text: str) -> int:
        """Letters."""
        return len(text)


def voice(model: Model) -> dict[str, Any]:
    return {"config_list": [{"model": model}], "cache_seed": None}


def assistant(model: Model) -> ConversableAgent:
    return cast.agent(
        "bob", system_message="Answer.", llm_config=voice(model), max_consecutive_auto_reply=100
    )


def compressing(model: Model, strategy: Strategy, **settings: Any) -> ConversableAgent:
    made = assistant(model)
    Compression(strategy, **settings).add_to_agent(made)
    return made


def compressible(model: Model, **config: Any) -> CompressibleAgent:
    return CompressibleAgent(
        "bob",
        "Answer.",
        llm_config=voice(model),
        max_consecutive_auto_reply=100,
        compress_config={"mode": "COMPRESS", **config},
    )


def talk(helper: ConversableAgent, first: str, turns: int = 30) -> list[Compressed]:
    """A chat that begins with this message; gives what is told of compressions."""
    ann = cast.agent("ann", default_auto_reply=LONG, max_consecutive_auto_reply=turns)
    with hearing() as events:
        ann.initiate_chat(helper, message=first, silent=True)
    return [event for event in events if isinstance(event, Compressed)]


def sent(model: Model, meter: Meter = METER) -> list[int]:
    """Tokens of each request for a reply."""
    assert isinstance(model.client, ScriptedClient)
    asked = [request["messages"] for request in model.client.requests if not is_for_notes(request)]
    return [meter.count_fixed([], {}) + meter.count(messages) for messages in asked]


BESIDE_THE_TRIGGER: dict[str, tuple[Callable[[Model], ConversableAgent], int]] = {
    "a first message that nearly fills it": (
        lambda model: compressing(model, ModelSummary(), trigger=700, limit=1000),
        640,
    ),
    "a first message above it": (
        lambda model: compressing(model, SlidingWindow(), trigger=700, limit=1000),
        720,
    ),
    "many last messages": (
        lambda model: compressible(model, trigger_count=500, leave_last_n=12),
        1,
    ),
    "a trigger above the window": (lambda model: compressible(model, trigger_count=3000), 1),
}


@pytest.mark.parametrize("kind", BESIDE_THE_TRIGGER)
def test_what_must_stay_may_fill_what_is_below_the_trigger(kind: str) -> None:
    make, words = BESIDE_THE_TRIGGER[kind]
    model = replace(scripted_model(answer), context_window=1000)
    told = talk(make(model), "x " * words)
    assert sum(event.ok for event in told) > 1
    assert max(sent(model)) <= 1000


@pytest.mark.parametrize(
    "make",
    [
        lambda model: compressing(model, ModelSummary(), trigger=700, limit=2000),
        lambda model: compressible(model, trigger_count=700),
    ],
    ids=["capability", "CompressibleAgent"],
)
def test_a_long_first_message_does_not_cost_a_summary_for_each_reply(
    make: Callable[[Model], ConversableAgent],
) -> None:
    model = replace(scripted_model(answer), context_window=2000)
    told = talk(make(model), "x " * 720)
    assert 3 < len(told) < 12
    assert max(sent(model)) < (700 + 2000) // 2 + METER.count([{"role": "user", "content": LONG}])


def test_in_the_app_a_long_first_question_does_not_cost_a_summary_for_each_answer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    model = replace(scripted_model(lambda params: answer(params)[:24]), context_window=3000)
    turns = [("x " * 1800, "Noted.")] + [
        (f"What is the pier {n}?", f"It is {n} metres long and old.") for n in range(10)
    ]
    chat = LongChat(
        model, [message(role, text) for turn in turns for role, text in zip(SAY, turn, strict=True)]
    )
    asked = sum(
        any(event.agent == NOTES for event in chat.ask(f"And {n}?").of(Compressed))
        for n in range(6)
    )
    assert asked == 1
    assert capsys.readouterr().out == "", "what the note taker writes is for no console"


class Waiting:
    """A summary that waits until somebody has spoken meanwhile."""

    name = "waiting"

    def __init__(self) -> None:
        self.began, self.go_on = threading.Event(), threading.Event()

    def shorten(self, messages: Any, scope: Any) -> Any:
        """An extraction."""
        self.began.set()
        assert self.go_on.wait(60)
        return Extraction().shorten(messages, scope)


async def meanwhile(
    helper: ConversableAgent, strategy: Waiting, what: Callable[[ConversableAgent], Any]
) -> ConversableAgent:
    """Do something while the history is shortened; gives whom it is a conversation with."""
    ann = cast.agent("ann")
    for number in range(30):
        ann.send(f"{number} {LONG}", helper, request_reply=False, silent=True)
    asking = asyncio.create_task(ann.a_send("And now?", helper, request_reply=True, silent=True))
    assert await asyncio.to_thread(strategy.began.wait, 10)
    what(ann)
    strategy.go_on.set()
    await asking
    return ann


def waiting_agent(kind: str, strategy: Waiting) -> ConversableAgent:
    model = scripted_model(lambda _: "So it is.")
    if kind != "CompressibleAgent":
        return compressing(model, strategy, trigger=600, broadcast=kind == "broadcast")

    def shorten(messages: list[Params]) -> tuple[bool, list[Params]]:
        strategy.began.set()
        assert strategy.go_on.wait(60)
        return True, [messages[0], messages[-1]]

    return compressible(
        model, mode="CUSTOMIZED", trigger_count=600, compress_function=shorten, **{"async": True}
    )


KINDS = ["capability", "broadcast", "CompressibleAgent"]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_said_while_a_history_is_shortened_is_not_lost(kind: str) -> None:
    strategy = Waiting()
    bob = waiting_agent(kind, strategy)
    ann = asyncio.run(
        meanwhile(
            bob,
            strategy,
            lambda ann: ann.send("The code is 4711.", bob, request_reply=False, silent=True),
        )
    )
    for stored in (bob.chat_messages[ann], ann.chat_messages[bob]):
        assert [each["content"] for each in stored[-3:]] == [
            "And now?",
            "The code is 4711.",
            "So it is.",
        ]
    assert len(bob.chat_messages[ann]) < 15


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_cleared_while_it_is_shortened_stays_cleared(kind: str) -> None:
    strategy = Waiting()
    bob = waiting_agent(kind, strategy)
    ann = asyncio.run(meanwhile(bob, strategy, lambda ann: bob.clear_history(ann)))
    assert [each["content"] for each in bob.chat_messages[ann]] == ["So it is."]


@pytest.mark.parametrize(
    "strategy", [Extraction(), SlidingWindow(), ModelSummary()], ids=lambda strategy: strategy.name
)
def test_a_tokenizer_of_ones_own_cuts_as_it_counts(strategy: Strategy) -> None:
    client = Letters(lambda params: "word " * 3000 if is_for_notes(params) else LONG)
    model = Model("own/letters", "Letters", client, "letters", "own", context_window=4000)
    helper = compressing(model, strategy, trigger=2500, limit=3000)
    told = talk(helper, "Hello")
    assert told
    assert all(event.ok for event in told)
    meter = Meter("letters", helper.client)
    assert max(sent(model, meter)) <= 3000
    assert all(
        meter.count_fixed([], {}) + meter.count(request["messages"]) <= 4000
        for request in client.requests
    )


def test_a_summarising_model_with_small_tokens_reads_no_more_than_its_window_takes() -> None:
    client = Letters(lambda _: "A summary that is much too long for what was asked. " * 200)
    reader = Model("own/letters", "Letters", client, "letters", "own", context_window=4000)
    told = talk(
        compressing(scripted_model(answer), ModelSummary(voice(reader)), trigger=2000, limit=3000),
        "Hello",
        turns=60,
    )
    assert told
    assert all(event.ok for event in told)
    meter = Meter("letters", assistant(reader).client)
    assert (
        max(
            meter.count_fixed([], {}) + meter.count(request["messages"])
            for request in client.requests
        )
        <= 4000
    )


def test_a_limit_is_no_failure_for_which_another_model_is_asked() -> None:
    dear = replace(scripted_model(lambda _: "So it is."), price_1k=(1.0, 1.0))
    cheap = replace(scripted_model(lambda _: "So it is."), price_1k=(0.0001, 0.0001))
    bob = cast.agent(
        "bob",
        llm_config={"config_list": [{"model": dear}, {"model": cheap}], "cache_seed": None},
        max_consecutive_auto_reply=9,
    )
    ann = cast.agent("ann", default_auto_reply="Go on.", max_consecutive_auto_reply=9)
    with hearing() as events, limited(run=Limit(dollars=0.1)):
        result = ann.initiate_chat(bob, message="Hello", silent=True)
    assert "limit of $0.10 was reached" in result.stop_reason
    assert [event.reached for event in events if isinstance(event, LimitTold)][-1:] == [True]
    assert sum(event.reached for event in events if isinstance(event, LimitTold)) == 1
    assert isinstance(cheap.client, ScriptedClient)
    assert cheap.client.requests == []


def test_who_leads_a_group_is_told_where_the_compression_belongs() -> None:
    manager = GroupChatManager(
        GroupChat([cast.agent("ann"), cast.agent("bob")], []),
        llm_config=voice(scripted_model(answer)),
    )
    with pytest.raises(
        WrongArgument,
        match="add the compression to them, and give the GroupChat select_speaker_transform",
    ):
        Compression(trigger=600).add_to_agent(manager)


def test_the_choice_of_speakers_is_shortened_by_a_transform() -> None:
    def choosing(params: Any) -> str:
        return "bob" if "Read the above" in str(params["messages"][-1]["content"]) else LONG

    model = scripted_model(choosing)
    people = [
        cast.agent(name, llm_config=voice(model), max_consecutive_auto_reply=100)
        for name in ("ann", "bob", "cid")
    ]
    for each in people:
        Compression(SlidingWindow(), trigger=600).add_to_agent(each)
    choice = TransformMessages(transforms=[Compression(SlidingWindow(), trigger=600, limit=800)])
    chat = GroupChat([*people], [], max_round=40, select_speaker_transform_messages=choice)
    people[0].initiate_chat(
        GroupChatManager(chat, llm_config=voice(model)), message="Let us plan.", silent=True
    )
    assert METER.count(chat.messages) > 1200, "there was something to shorten"
    assert max(sent(model)) <= 800


def test_the_smallest_window_of_all_models_that_may_be_asked_counts() -> None:
    models = [
        dataclasses.replace(scripted_model(["hi"]), context_window=window)
        for window in (5_000, 600, None)
    ]
    agent = ConversableAgent(
        "ann",
        llm_config={"config_list": [{"model": model} for model in models], "cache_seed": None},
    )
    assert model_of(agent) == ("scripted", 600)
