"""Compression in chats: what the model sees, what stays stored, with tools, hooks, groups, nested
chats, other models.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentkit import ConversableAgent, GroupChat, GroupChatManager
from agentkit.conversation.compression import Compression, Extraction, ModelSummary, ToolOutput
from agentkit.conversation.compression.meter import Meter, model_of
from agentkit.conversation.compression.shape import HEADING
from agentkit.conversation.replies import Continued
from agentkit.conversation.transforms import (
    MessageHistoryLimiter,
    TextMessageContentName,
    TransformMessages,
)
from agentkit.core import stopping
from agentkit.errors import ModelUnreachable, Stopped, WrongArgument, WrongType
from agentkit.events import Compressed
from agentkit.llm.calls.scripted import ScriptedClient, scripted_model
from agentkit.llm.model import Model
from agentkit.messages import Stored, sendable_form
from tests.conversation import cast
from tests.conversation.cast import Console, hearing

LONG = "The invoice of March names Berlin and 1,200 euros. "


class Unpriced(ScriptedClient):
    """A model whose price nobody knows."""

    def cost(self, response: Any) -> Any:
        """None."""


def told(events: list[Any]) -> list[Compressed]:
    return [event for event in events if isinstance(event, Compressed)]


def talker(name: str = "ann", turns: int = 40) -> ConversableAgent:
    return cast.agent(name, default_auto_reply=LONG + "And then?", max_consecutive_auto_reply=turns)


def replies(params: Any) -> str:
    return f"Reply to {len(params['messages'])} messages: {LONG}"


def answering(name: str = "bob", **settings: Any) -> tuple[ConversableAgent, ScriptedClient]:
    model = scripted_model(replies)
    made = cast.agent(
        name,
        llm_config={
            "config_list": [{"model": model}],
            "cache_seed": None,
            **settings.pop("llm", {}),
        },
        **{"max_consecutive_auto_reply": 100, "system_message": "Answer.", **settings},
    )
    assert isinstance(model.client, ScriptedClient)
    return made, model.client


def sent(client: ScriptedClient, meter: Meter) -> list[int]:
    return [
        meter.count_fixed([], {"tools": request["tools"]} if request.get("tools") else {})
        + meter.count(request["messages"])
        for request in client.requests
    ]


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_no_request_exceeds_the_limit_and_the_history_is_shorter(is_async: bool) -> None:
    (bob, client), ann = answering(), talker()
    Compression(Extraction(), trigger=500).add_to_agent(bob)
    with hearing() as events:
        cast.chat(is_async, ann, bob, "The task: read the invoices.")
    assert len(told(events)) > 2
    assert all(
        event.ok and event.agent == "bob" and event.strategy == "extraction"
        for event in told(events)
    )
    assert max(sent(client, Meter("scripted"))) <= 500
    assert len(bob.chat_messages[ann]) < 40 < len(ann.chat_messages[bob]) == 82
    first = [request["messages"][1]["content"] for request in client.requests]
    assert set(first) == {"The task: read the invoices."}
    event = told(events)[0]
    assert event.summary.startswith(HEADING)
    assert event.tokens_before >= 500 > event.tokens_after
    assert event.messages_before > event.messages_after
    assert (event.tokens_spent, event.cost, event.estimated) == (0, 0.0, True)


def test_the_request_of_the_same_call_is_the_shortened_one() -> None:
    (bob, client), ann = answering(), talker()
    bob.chat_messages[ann] = [
        {"role": "user", "content": LONG * 3, "name": "ann"} for _ in range(30)
    ]
    given = bob.chat_messages[ann]
    Compression(Extraction(), trigger=500).add_to_agent(bob)
    with hearing():
        bob.generate_reply(sender=ann)
    assert len(given) == 30, "the list itself is not changed"
    assert client.requests[0]["messages"][1:] == sendable_form(bob.chat_messages[ann])
    assert all("metadata" not in sent for sent in client.requests[0]["messages"]), (
        "no model is sent the mark"
    )
    assert len(bob.chat_messages[ann]) < 10


def test_without_a_sender_the_given_messages_are_shortened_for_the_model() -> None:
    bob, client = answering()
    Compression(Extraction(), trigger=500).add_to_agent(bob)
    with hearing():
        bob.generate_reply(
            messages=[{"role": "user", "content": LONG * 3, "name": "ann"} for _ in range(30)]
        )
    assert max(sent(client, Meter("scripted"))) <= 500


def test_the_system_message_and_the_tools_count() -> None:
    tool = {
        "type": "function",
        "function": {"name": "f", "description": LONG * 20, "parameters": {"type": "object"}},
    }
    (bob, client), ann = answering(system_message=LONG * 20, llm={"tools": [tool]}), talker()
    Compression(Extraction(), trigger=1_000).add_to_agent(bob)
    with hearing() as events:
        cast.chat(False, ann, bob)
    assert told(events)
    assert all(event.ok for event in told(events))
    assert max(sent(client, Meter("scripted"))) <= 1_000
    assert len(bob.chat_messages[ann]) < 20


def test_a_share_is_of_the_models_window() -> None:
    model = Model("m", "M", ScriptedClient(replies), "m", "scripted", context_window=1_000)
    bob = cast.agent(
        "bob",
        llm_config={"config_list": [{"model": model}], "cache_seed": None},
        max_consecutive_auto_reply=50,
    )
    ann = talker()
    assert model_of(bob) == ("m", 1_000)
    Compression(Extraction(), trigger=0.5).add_to_agent(bob)
    with hearing() as events:
        cast.chat(False, ann, bob)
    assert all(
        500 <= event.tokens_before < 600 and event.tokens_after < 500 for event in told(events)
    )
    assert told(events)


def test_what_must_stay_may_exceed_the_trigger_but_not_the_limit() -> None:
    (bob, client), ann = answering(), talker(turns=4)
    Compression(Extraction(), trigger=300, limit=700).add_to_agent(bob)
    with hearing() as events:
        cast.chat(False, ann, bob, LONG * 25)
    assert [event.ok for event in told(events)][-1]
    assert max(sent(client, Meter("scripted"))) <= 700
    with hearing() as events:
        bob.generate_reply(messages=[{"role": "user", "content": LONG * 80}] * 3)
    assert told(events)[0].error.startswith("what has to stay takes ")
    assert len(client.requests[-1]["messages"]) == 4, "the history is whole"


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ("", "the model gave an empty summary"),
        (ModelUnreachable("no server"), "no server"),
        (ValueError("odd"), "ValueError: odd"),
    ],
    ids=["empty", "unreachable", "odd"],
)
def test_a_failure_is_told_and_leaves_the_history_whole(answer: Any, error: str) -> None:
    (bob, client), ann = answering(), talker()
    other = ModelSummary(
        {
            "config_list": [{"model": scripted_model(lambda _: answer)}],
            "cache_seed": None,
            "max_retries": 0,
        }
    )
    history: list[Stored] = [{"role": "user", "content": LONG, "name": "ann"} for _ in range(30)]
    bob.chat_messages[ann] = history
    Compression(other, trigger=300, limit=3_500).add_to_agent(bob)
    console = Console()
    with hearing(console) as events:
        bob.generate_reply(sender=ann)
    assert bob.chat_messages[ann] is history
    assert len(history) == 30
    assert len(client.requests[0]["messages"]) == 31
    (event,) = told(events)
    assert not event.ok
    assert error in event.error
    assert (event.messages_before, event.tokens_before) == (
        event.messages_after,
        event.tokens_after,
    )
    assert "was not shortened" in console.text


def test_what_is_not_shorter_is_a_failure() -> None:
    class Talkative(Extraction):
        def shorten(self, messages: Any, scope: Any) -> Any:
            return [*messages, *messages]

    history: list[Stored] = [{"role": "user", "content": f"{LONG} {n}"} for n in range(30)]
    with hearing() as events:
        made = Compression(Talkative(), trigger=300, limit=9_000).compress(history)
    assert made is history
    assert "no less than the" in told(events)[0].error


def test_a_summary_that_is_much_too_long_is_cut() -> None:
    model = scripted_model(lambda _: "word " * 3_000)
    strategy = ModelSummary({"config_list": [{"model": model}], "cache_seed": None})
    with hearing() as events:
        Compression(strategy, trigger=300).compress(
            [{"role": "user", "content": f"{LONG} {n}"} for n in range(30)]
        )
    assert told(events)[0].ok
    assert told(events)[0].tokens_after <= 300


def test_a_stop_ends_it() -> None:
    bob, _ = answering()
    Compression(ModelSummary(), trigger=100).add_to_agent(bob)
    signal = stopping.StopSignal()
    with stopping.stoppable(signal):
        signal.set()
        with pytest.raises(Stopped):
            bob.generate_reply(messages=[{"role": "user", "content": LONG}] * 30)


def test_the_summary_is_by_the_agents_own_model_and_counted() -> None:
    model = scripted_model(
        lambda params: (
            "short" if "You shorten" in params["messages"][0]["content"] else replies(params)
        )
    )
    bob = cast.agent(
        "bob",
        llm_config={"config_list": [{"model": model}], "cache_seed": None},
        max_consecutive_auto_reply=50,
    )
    Compression(trigger=500).add_to_agent(bob)
    with hearing() as events:
        cast.chat(False, talker(), bob)
    event = told(events)[0]
    assert event.ok
    assert event.summary == f"{HEADING}\nshort"
    assert event.tokens_spent > 400
    assert event.cost == 0.0


def test_another_model_reads_no_more_than_its_window_takes() -> None:
    client = Unpriced(
        lambda params: f"Part with {params['messages'][-1]['content'].count('invoice')} invoices."
    )
    small = Model("small", "Small", client, "small", "openai", context_window=900)
    (bob, _), ann = answering(), talker()
    bob.chat_messages[ann] = [
        {"role": "user", "content": LONG * 5 + f"Number {n}.", "name": "ann"} for n in range(60)
    ]
    strategy = ModelSummary({"config_list": [{"model": small}], "cache_seed": None})
    Compression(strategy, trigger=2_000).add_to_agent(bob)
    with hearing() as events:
        bob.generate_reply(sender=ann)
    meter = Meter("small")
    assert len(client.requests) > 5
    assert all(meter.count(request["messages"]) + 200 < 900 for request in client.requests)
    assert "##SUMMARY## Part with" in client.requests[1]["messages"][-1]["content"]
    (event,) = told(events)
    assert event.ok
    assert event.cost is None, "nobody knows the price of this model"
    assert event.tokens_spent > 3_000


def test_a_window_that_is_too_small_for_a_summary_is_a_failure() -> None:
    tiny = Model("tiny", "Tiny", ScriptedClient(["no"]), "tiny", "scripted", context_window=200)
    compression = Compression(
        ModelSummary({"config_list": [{"model": tiny}], "cache_seed": None}), trigger=300
    )
    with hearing() as events:
        compression.compress([{"role": "user", "content": LONG}] * 40)
    assert (
        told(events)[0].error
        == "the window of the summarising model 'tiny' (200 tokens) is too small to summarise with"
    )


def test_a_model_that_is_none_is_spared() -> None:
    offline = Model(
        "offline", "Offline", ScriptedClient([]), "extractive", "offline", is_language_model=False
    )
    with hearing() as events:
        made = Compression(
            ModelSummary({"config_list": [{"model": offline}], "cache_seed": None}), trigger=300
        ).compress([{"role": "user", "content": f"{LONG} {n}"} for n in range(40)])
    assert told(events)[0].ok
    assert "- USER: The invoice of March names Berlin" in made[1]["content"]


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("everybody", [False, True], ids=["one", "everybody"])
def test_in_a_group_the_members_history_is_shorter_and_the_transcript_whole(
    is_async: bool, everybody: bool
) -> None:
    (bob, client), (cara, other) = answering("bob"), answering("cara")
    group = GroupChat([bob, cara], [], max_round=40, speaker_selection_method="round_robin")
    manager = GroupChatManager(group, llm_config=False)
    Compression(Extraction(), trigger=500, broadcast=everybody).add_to_agent(bob)
    with hearing() as events:
        cast.chat(is_async, talker("ann"), manager, "The task: read the invoices.")
    assert told(events)
    assert all(event.ok and event.agent == "bob" for event in told(events))
    assert max(sent(client, Meter("scripted"))) <= 500
    assert len(group.messages) == 40
    assert len(bob.chat_messages[manager]) < 25
    assert bob.chat_messages[manager][0]["content"] == "The task: read the invoices."
    short = [len(cara.chat_messages[manager]) < 25, len(manager.chat_messages[bob]) < 25]
    assert short == [everybody, everybody]
    if everybody:
        assert {
            each["role"] for each in cara.chat_messages[manager] if each.get("name") == "cara"
        } == {"assistant"}
        assert {
            each["role"] for each in cara.chat_messages[manager] if each.get("name") != "cara"
        } == {"user"}
        assert max(sent(other, Meter("scripted"))) < 650


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_in_a_nested_chat(is_async: bool) -> None:
    (bob, client), outer, ann = answering(), cast.agent("outer"), talker("ann")
    Compression(Extraction(), trigger=500).add_to_agent(bob)
    inner = talker("inner")
    queue = [
        {
            "recipient": bob,
            "sender": inner,
            "message": "Go through the invoices.",
            "max_turns": 30,
            "chat_id": 1,
        }
    ]
    outer.register_nested_chats(queue, trigger=ann, use_async=is_async)
    with hearing() as events:
        cast.chat(is_async, ann, outer, max_turns=1)
    assert told(events)
    assert len(client.requests) == 30
    assert max(sent(client, Meter("scripted"))) <= 500


def test_calls_stay_with_their_results_in_a_chat_with_tools() -> None:
    def work(params: Any) -> Any:
        sent_so_far.append(params)
        if params["messages"][-1]["role"] == "tool":
            return "Noted."
        number = str(len(sent_so_far))
        return {"content": None, "tool_calls": [{**cast.CALL_ADD, "id": number}]}

    sent_so_far: list[Any] = []
    model = scripted_model(work)
    bob = cast.agent(
        "bob",
        llm_config={"config_list": [{"model": model}], "cache_seed": None},
        max_consecutive_auto_reply=99,
    )
    ann = talker(turns=60)
    ann.register_function({"add": lambda a, b: LONG * 3})
    Compression([ToolOutput(8), Extraction()], trigger=500).add_to_agent(bob)
    with hearing() as events:
        cast.chat(False, ann, bob)
    assert len(told(events)) > 2
    assert all(event.ok for event in told(events))
    assert told(events)[0].strategy == "tool output, then extraction"
    for request in sent_so_far:
        messages = request["messages"]
        for place, message in enumerate(messages):
            if message.get("tool_calls"):
                assert messages[place + 1]["tool_call_id"] == message["tool_calls"][0]["id"]
            if message["role"] == "tool":
                assert messages[place - 1].get("tool_calls")


def test_with_a_limit_on_the_history_only_what_is_left_counts() -> None:
    (bob, client), ann = answering(), talker()
    TransformMessages(transforms=[MessageHistoryLimiter(6)], verbose=False).add_to_agent(bob)
    Compression(Extraction(), trigger=500).add_to_agent(bob)
    with hearing() as events:
        cast.chat(False, ann, bob)
    assert not told(events)
    assert len(client.requests[-1]["messages"]) == 7
    assert len(bob.chat_messages[ann]) == 82


def test_a_hook_on_the_last_message_is_seen_by_the_model_and_not_stored() -> None:
    (bob, client), ann = answering(), talker()
    bob.register_hook("process_last_received_message", lambda content: f"{content} (Be short.)")
    Compression(Extraction(), trigger=500).add_to_agent(bob)
    with hearing() as events:
        cast.chat(False, ann, bob)
    assert told(events)
    assert all(
        request["messages"][-1]["content"].endswith("(Be short.)") for request in client.requests
    )
    assert "(Be short.)" not in str(bob.chat_messages[ann])
    assert len(bob.chat_messages[ann]) < 40


def test_as_a_transform() -> None:
    (bob, client), ann = answering(), talker()
    compression = Compression(Extraction(), trigger=500)
    TransformMessages(transforms=[compression]).add_to_agent(bob)
    console = Console()
    with hearing(console):
        cast.chat(False, ann, bob)
    assert max(sent(client, Meter("scripted"))) < 520, "a transform does not see the system message"
    assert len(bob.chat_messages[ann]) == 82, "a transform leaves the history as it is"
    assert "Compressed " in console.text
    assert compression.get_logs([], []) == ("No messages were compressed.", False)


@pytest.mark.parametrize("as_transform", [False, True], ids=["reply function", "transform"])
def test_a_view_that_is_not_stored_is_not_summarised_anew_each_time(as_transform: bool) -> None:
    (bob, client), ann = answering(), talker()
    summaries: list[int] = []

    def summarising(params: Any) -> str:
        summaries.append(len(params["messages"][-1]["content"]))
        return "They spoke of invoices."

    names = TextMessageContentName()
    compression = Compression(
        ModelSummary({"config_list": [{"model": scripted_model(summarising)}], "cache_seed": None}),
        500,
    )
    TransformMessages(
        transforms=[names, compression] if as_transform else [names], verbose=False
    ).add_to_agent(bob)
    if not as_transform:
        compression.add_to_agent(bob)
    with hearing():
        cast.chat(False, ann, bob)
    assert len(bob.chat_messages[ann]) == 82
    assert max(sent(client, Meter("scripted"))) < 520
    assert 1 < len(summaries) < 8, "40 replies"
    assert max(summaries) < 4_000


def test_two_compressions_work_one_after_the_other() -> None:
    (bob, _), ann = answering(), talker()
    Compression(ToolOutput(), trigger=400).add_to_agent(bob)
    Compression(Extraction(), trigger=500).add_to_agent(bob)
    with hearing() as events:
        cast.chat(False, ann, bob)
    kinds = {(event.strategy, event.ok) for event in told(events)}
    assert kinds == {("tool output", False), ("extraction", True)}


def test_an_async_chat_goes_on_in_its_loop_meanwhile() -> None:
    ticks: list[int] = []
    seen: list[int] = []

    class Slow(Extraction):
        def shorten(self, messages: Any, scope: Any) -> Any:
            deadline = 200
            before = len(ticks)
            while len(ticks) < before + 3 and deadline:
                stopping.current().wait(0.01)
                deadline -= 1
            seen.append(len(ticks) - before)
            return super().shorten(messages, scope)

    bob, _ = answering()
    Compression(Slow(), trigger=500).add_to_agent(bob)

    async def main() -> None:
        async def tick() -> None:
            while True:
                ticks.append(1)
                await asyncio.sleep(0.001)

        ticking = asyncio.create_task(tick())
        await bob.a_generate_reply(
            messages=[{"role": "user", "content": f"{LONG} {n}"} for n in range(30)]
        )
        ticking.cancel()

    with hearing():
        asyncio.run(main())
    assert seen[0] >= 3


def test_what_cannot_be_is_refused() -> None:
    bob, _ = answering()
    with pytest.raises(
        WrongArgument, match="share of the window of 'scripted', which is not known; give limit="
    ):
        Compression(Extraction()).add_to_agent(bob)
    compression = Compression(Extraction(), limit=4_000)
    compression.add_to_agent(bob)
    with pytest.raises(WrongArgument, match="bob: this compression is added already"):
        compression.add_to_agent(bob)
    for trigger in (0, -1, -0.5, float("inf"), float("nan")):
        with pytest.raises(WrongArgument, match="trigger="):
            Compression(trigger=trigger)
    for wrong in ("0.7", None, True):
        with pytest.raises(WrongType, match="trigger must be a share"):
            Compression(trigger=wrong)  # type: ignore[arg-type]
    for strategy in ("extraction", [], [Extraction(), 1]):
        with pytest.raises(WrongType, match="strategy must be"):
            Compression(strategy)  # type: ignore[arg-type]
    with pytest.raises(WrongArgument, match="limit=0 leaves room for nothing"):
        Compression(limit=0)
    with pytest.raises(WrongArgument, match="keep_last must be 0 or more"):
        Compression(keep_last=-1)


def test_an_agent_whose_model_is_asked_elsewhere_is_served_first() -> None:
    bob = cast.speaker("bob", "Noted.")
    bob._reply_func_list[:] = bob._reply_func_list[-1:]
    Compression(Extraction(), trigger=300).add_to_agent(bob)
    with hearing() as events:
        bob.generate_reply(messages=[{"role": "user", "content": f"{LONG} {n}"} for n in range(30)])
    assert told(events)[0].ok


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_reply_function_may_go_on_with_other_messages(is_async: bool) -> None:
    seen: list[Any] = []

    def look(
        recipient: Any, messages: Any = None, sender: Any = None, config: Any = None
    ) -> tuple[bool, None]:
        seen.append(messages)
        return False, None

    bob = cast.speaker("bob", "Noted.")
    bob.register_reply(None, look, position=len(bob._reply_func_list) - 1)
    bob.register_reply(None, lambda *_, messages, **__: Continued([messages[-1]]), position=0)
    given: list[Stored] = [{"role": "user", "content": "one"}, {"role": "user", "content": "two"}]
    assert cast.call(is_async, bob, "generate_reply", messages=given) == "Noted."
    assert seen == [given[-1:]]
    assert Continued(given) == (False, None)


def test_a_clients_own_tokenizer_counts() -> None:
    class Counting(ScriptedClient):
        def count_tokens(self, text: str) -> int:
            return 10 * len(text.split())

    model = Model("m", "M", Counting(replies), "m", "scripted")
    bob = cast.agent("bob", llm_config={"config_list": [{"model": model}], "cache_seed": None})
    Compression(Extraction(), trigger=1_000).add_to_agent(bob)
    with hearing() as events:
        bob.generate_reply(messages=[{"role": "user", "content": f"{LONG} {n}"} for n in range(12)])
    assert told(events)[0].tokens_before > 1_100
