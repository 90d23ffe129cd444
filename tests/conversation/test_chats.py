"""Whole chats and queues of them: what they give back, in which order they run, what is carried
over.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agentkit import Agent, ChatResult, ConversableAgent, gather_usage_summary, initiate_chats
from agentkit.conversation.chats import a_initiate_chats
from agentkit.errors import UnknownName, WrongArgument, WrongType
from agentkit.events import ChatEnded, Noted
from agentkit.llm.cache import Cache
from agentkit.llm.calls.scripted import scripted_model
from agentkit.reasons import EndReason
from tests.conversation.cast import agent, call, chat, hearing, modelled, said, speaker

BOTH = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


def one_turn(recipient: Any, message: Any = "go", **more: Any) -> dict[str, Any]:
    return {"recipient": recipient, "message": message, "max_turns": 1, "silent": True, **more}


@BOTH
def test_what_a_chat_gives_back(is_async: bool) -> None:
    ann, bob = agent("ann"), modelled("bob", "fine")[0]
    with hearing() as events:
        result = chat(is_async, ann, bob, max_turns=1, chat_id="c")
    assert result == ChatResult(
        chat_id="c",
        chat_history=[
            {"content": "hi", "role": "assistant", "name": "ann"},
            {"content": "fine", "role": "user", "name": "bob"},
        ],
        summary="fine",
        cost=gather_usage_summary([ann, bob]),
        human_input=[],
        stop_reason="the limit of 1 turns was reached",
        end=EndReason("turns", limit=1),
    )
    assert events[-1] == ChatEnded(
        "ann",
        "bob",
        "the limit of 1 turns was reached",
        2,
        silent=True,
        end=EndReason("turns", limit=1),
    )


@BOTH
def test_histories_are_cleared_or_gone_on_with(is_async: bool) -> None:
    ann, bob = agent("ann"), speaker("bob", "one", "two", "three")
    chat(is_async, ann, bob, "a", max_turns=1)
    chat(is_async, ann, bob, "b", max_turns=1, clear_history=False)
    assert said(ann, bob) == said(bob, ann) == ["a", "one", "b", "two"]
    chat(is_async, ann, bob, "c", max_turns=1)
    assert said(ann, bob) == said(bob, ann) == ["c", "three"]


@BOTH
def test_a_chat_of_some_turns_leaves_nobody_replying(is_async: bool) -> None:
    ann, bob = speaker("ann", "a"), speaker("bob", "one", "two", "three")
    chat(is_async, ann, bob, max_turns=1)
    ann.send("by the way", bob, silent=True)
    assert said(ann, bob) == ["hi", "one", "by the way"]


@BOTH
def test_a_sender_without_a_reply_ends_a_chat_of_turns(is_async: bool) -> None:
    ann = agent("ann")
    ann.register_reply([Agent, None], lambda *_, **__: (True, None))
    result = chat(is_async, ann, speaker("bob", "one", "two"), max_turns=5)
    assert [message["content"] for message in result.chat_history] == ["hi", "one"]
    assert result.stop_reason == "ann gave no reply"


class Stranger:
    """An agent of another make: it has what the protocol asks for and nothing more."""

    name, description = "stranger", "from elsewhere"

    def __init__(self) -> None:
        self.heard: list[Any] = []

    def send(
        self,
        message: Any,
        recipient: Any,
        request_reply: bool | None = None,
        silent: bool | None = False,
    ) -> None:
        recipient.receive(message, self, request_reply, silent)

    async def a_send(
        self,
        message: Any,
        recipient: Any,
        request_reply: bool | None = None,
        silent: bool | None = False,
    ) -> None:
        await recipient.a_receive(message, self, request_reply, silent)

    def receive(
        self,
        message: Any,
        sender: Any,
        request_reply: bool | None = None,
        silent: bool | None = False,
    ) -> None:
        self.heard.append(message)
        if len(self.heard) < 3:
            self.send(self.generate_reply(), sender, None, silent)

    async def a_receive(
        self,
        message: Any,
        sender: Any,
        request_reply: bool | None = None,
        silent: bool | None = False,
    ) -> None:
        self.heard.append(message)
        if len(self.heard) < 3:
            await self.a_send(self.generate_reply(), sender, None, silent)

    def generate_reply(self, messages: Any = None, sender: Any = None, **kwargs: Any) -> str:
        return "salve"

    async def a_generate_reply(
        self, messages: Any = None, sender: Any = None, **kwargs: Any
    ) -> str:
        return "salve"


@BOTH
def test_agents_of_another_make_can_be_talked_with(is_async: bool) -> None:
    ann, stranger = agent("ann", default_auto_reply="on"), Stranger()
    result = chat(is_async, ann, stranger)  # type: ignore[arg-type]
    assert [message["content"] for message in result.chat_history] == [
        "hi",
        "salve",
        "on",
        "salve",
        "on",
    ]
    assert stranger.heard == ["hi", "on", "on"]
    assert (result.summary, result.stop_reason) == ("", "stranger gave no reply")


def test_caches_of_chats_that_overlap_are_given_back() -> None:
    own, lent = Cache.memory(), [Cache.memory(), Cache.memory()]
    seen: list[Any] = []

    def member(name: str, rounds: int) -> ConversableAgent:
        made = agent(name)

        async def reply(*_: Any, **__: Any) -> tuple[bool, str]:
            for _round in range(rounds):
                await asyncio.sleep(0)
            seen.append(made.client_cache)
            return True, name

        made.register_reply([Agent, None], reply)
        return made

    ann = agent("ann")
    ann.client_cache = own
    queue = [
        one_turn(member(str(n), 2 + 9 * n), chat_id=n, cache=cache) for n, cache in enumerate(lent)
    ]
    asyncio.run(ann.a_initiate_chats(queue))
    assert seen == lent
    assert ann.client_cache is own
    assert [chat["recipient"].client_cache for chat in queue] == [None, None]


@BOTH
def test_a_first_message_may_be_an_async_function(is_async: bool) -> None:
    async def opening(sender: Any, recipient: Any, context: Any) -> str:
        await asyncio.sleep(0)
        return f"{context['word']}!"

    result = chat(is_async, agent("ann"), speaker("bob", "one"), opening, max_turns=1, word="hey")
    assert result.chat_history[0]["content"] == "hey!"


@BOTH
def test_an_overridden_first_message_is_honoured(is_async: bool) -> None:
    class Own(ConversableAgent):
        def generate_init_message(self, message: Any, **kwargs: Any) -> Any:
            return f"own {message} {kwargs['topic']}"

        async def a_generate_init_message(self, message: Any, **kwargs: Any) -> Any:
            return self.generate_init_message(message, **kwargs)

    result = chat(
        is_async,
        Own("own", human_input_mode="NEVER"),
        speaker("bob", "one"),
        "x",
        max_turns=1,
        topic="tea",
    )
    assert result.chat_history[0]["content"] == "own x tea"


def test_agents_that_share_a_client_are_counted_once() -> None:
    ann, _ = modelled("ann", "one")
    bob = agent("bob")
    bob.client = ann.client
    ann.generate_oai_reply([{"role": "user", "content": "x"}])
    counted = gather_usage_summary([ann, bob, agent("without")])["usage_including_cached_inference"]
    alone = ann.get_total_usage()
    assert alone is not None
    assert counted["scripted"] == alone["scripted"]
    assert gather_usage_summary([]) == {
        "usage_including_cached_inference": {"total_cost": 0},
        "usage_excluding_cached_inference": {"total_cost": 0},
    }


def test_a_queue_carries_summaries_over() -> None:
    ann, bob, cid, dan = agent("ann"), speaker("bob", "b"), speaker("cid", "c"), speaker("dan", "d")
    exclude = {"finished_chat_indexes_to_exclude_from_carryover": [0]}
    queue = [one_turn(bob), one_turn(cid, carryover="own"), one_turn(dan, **exclude)]
    assert [result.summary for result in ann.initiate_chats(queue)] == ["b", "c", "d"]
    assert said(bob, ann)[0] == "go"
    assert said(cid, ann)[0] == "go\nContext: \nown\nb"
    assert said(dan, ann)[0] == "go\nContext: \nc"
    assert ann.get_chat_results(1).summary == "c"
    assert [result.summary for result in ann.get_chat_results()] == ["b", "c", "d"]
    assert queue[0] == one_turn(bob)


def test_a_queue_of_the_module_has_a_sender_for_each_chat() -> None:
    ann, bob = agent("ann"), agent("bob", default_auto_reply="b")
    results = initiate_chats([one_turn(bob, sender=ann), one_turn(ann, sender=bob)])
    assert [result.chat_history[0]["name"] for result in results] == ["ann", "bob"]


def test_a_failing_chat_ends_a_queue() -> None:
    ann, bob, cid = agent("ann"), speaker("bob", ValueError("broken")), speaker("cid", "c")
    with pytest.raises(ValueError, match="broken"):
        ann.initiate_chats([one_turn(bob), one_turn(cid)])
    assert cid not in ann.chat_messages


def test_async_chats_run_side_by_side_and_wait_for_what_they_need() -> None:
    order: list[str] = []
    both_there = asyncio.Barrier(2)

    def member(name: str, waits: bool) -> ConversableAgent:
        made = agent(name)

        async def reply(*_: Any, **__: Any) -> tuple[bool, str]:
            if waits:
                await both_there.wait()
            order.append(name)
            return True, name.upper()

        made.register_reply([Agent, None], reply)
        return made

    ann = agent("ann")
    queue = [
        one_turn(member("last", False), chat_id=3, prerequisites=[1, 2]),
        one_turn(member("left", True), chat_id=1),
        one_turn(member("right", True), chat_id=2),
    ]
    results = asyncio.run(ann.a_initiate_chats(queue))
    assert order[-1] == "last"
    assert {key: result.summary for key, result in results.items()} == {
        1: "LEFT",
        2: "RIGHT",
        3: "LAST",
    }
    assert results[3].chat_history[0]["content"] == "go\nContext: \nLEFT\nRIGHT"
    assert ann.get_chat_results(2).summary == "RIGHT"
    with pytest.raises(UnknownName, match="ann: chat_index 9 is not a finished chat; there are"):
        ann.get_chat_results(9)


def test_an_error_in_one_async_chat_ends_the_others() -> None:
    ended: list[str] = []
    waiting = asyncio.Event()

    async def forever(*_: Any, **__: Any) -> tuple[bool, str]:
        waiting.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("forever")
        return True, "never"

    async def broken(*_: Any, **__: Any) -> tuple[bool, str]:
        await waiting.wait()
        raise ValueError("broken")

    slow, bad, after, ann = agent("slow"), agent("bad"), speaker("after", "x"), agent("ann")
    slow.register_reply([Agent, None], forever)
    bad.register_reply([Agent, None], broken)
    queue = [
        one_turn(slow, chat_id=1),
        one_turn(bad, chat_id=2),
        one_turn(after, chat_id=3, prerequisites=[1]),
    ]

    async def main() -> None:
        async with asyncio.timeout(20):
            with pytest.raises(ValueError, match="broken"):
                await ann.a_initiate_chats(queue)
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())
    assert ended == ["forever"]
    assert after not in ann.chat_messages
    assert ann.client_cache is slow.client_cache is None


@pytest.mark.parametrize(
    ("needs", "says"),
    [
        ({1: [1]}, "circle: 1 -> 1"),
        ({1: [2], 2: [1]}, "circle: (1 -> 2 -> 1|2 -> 1 -> 2)"),
        ({1: [7]}, r"Chat 1 has prerequisites that are not in the queue: \[7\]"),
        ({None: []}, "Chat 0 of the queue has chat_id None"),
    ],
)
def test_queues_that_cannot_be_ordered(needs: dict[Any, list[Any]], says: str) -> None:
    ann, bob = agent("ann"), agent("bob")
    queue = [one_turn(bob, chat_id=key, prerequisites=value) for key, value in needs.items()]
    with pytest.raises(WrongArgument, match=says):
        asyncio.run(ann.a_initiate_chats(queue))
    assert bob not in ann.chat_messages


def test_ids_that_are_there_twice_are_refused() -> None:
    bob = agent("bob")
    with pytest.raises(
        WrongArgument, match="Chat 1 of the queue has chat_id 1; each chat needs one of its own"
    ):
        asyncio.run(a_initiate_chats([one_turn(bob, sender=bob, chat_id=1)] * 2))


def test_an_empty_queue() -> None:
    assert initiate_chats([]) == []
    assert asyncio.run(a_initiate_chats([])) == {}


@BOTH
def test_one_agent_in_two_chats_at_once_keeps_their_caches_apart(is_async: bool) -> None:
    both = threading.Barrier(2, timeout=30)

    def reply(params: Any) -> str:
        both.wait()
        return f"about {params['messages'][1]['content']}"

    bob = agent(
        "bob", llm_config={"config_list": [{"model": scripted_model(reply)}], "cache_seed": None}
    )
    topics = {topic: Cache.memory() for topic in ("tea", "rain")}

    def begin(topic: str) -> Any:
        one = agent(topic, default_auto_reply="more")
        return call(
            is_async,
            one,
            "initiate_chat",
            bob,
            message=topic,
            max_turns=2,
            cache=topics[topic],
            silent=True,
        )

    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(begin, topics))
    assert [result.summary for result in results] == ["about tea", "about rain"]
    both.abort()  # from here on a question that is in no cache fails
    assert [begin(topic).summary for topic in topics] == ["about tea", "about rain"]
    assert bob.client_cache is None


@BOTH
def test_an_agent_may_talk_to_itself(is_async: bool) -> None:
    ann = agent("ann", default_auto_reply="on", max_consecutive_auto_reply=2)
    result = chat(is_async, ann, ann)
    assert [(message["role"], message["content"]) for message in result.chat_history] == [
        ("assistant", "hi"),
        ("user", "hi"),
        ("assistant", "on"),
        ("user", "on"),
        ("assistant", "on"),
        ("user", "on"),
    ]
    assert result.stop_reason == "ann reached its limit of automatic replies (2)"


def test_prerequisites_set_the_order_of_a_sync_queue_too() -> None:
    ann, bob, cy = agent("ann"), speaker("bob", "from bob"), speaker("cy", "from cy")
    queue = [
        {"chat_id": "late", "prerequisites": ["early"], "sender": ann, **one_turn(cy)},
        {"chat_id": "early", "sender": ann, **one_turn(bob)},
    ]
    late, early = initiate_chats(queue)
    assert (late.chat_id, early.chat_id) == ("late", "early")
    assert late.chat_history[0]["content"] == "go\nContext: \nfrom bob"
    with pytest.raises(WrongArgument, match="circle"):
        initiate_chats(
            [{**queue[0], "prerequisites": ["early"]}, {**queue[1], "prerequisites": ["late"]}]
        )


def test_an_async_queue_asks_an_override_of_initiate_chat() -> None:
    asked = []

    class Own(ConversableAgent):
        async def a_initiate_chat(self, *args: Any, **kwargs: Any) -> ChatResult:
            asked.append(kwargs["chat_id"])
            return await super().a_initiate_chat(*args, **kwargs)

    ann, bob = Own("ann", human_input_mode="NEVER"), speaker("bob", "one")
    asyncio.run(a_initiate_chats([{"chat_id": 1, "sender": ann, **one_turn(bob)}]))
    assert asked == [1]


@BOTH
@pytest.mark.parametrize("verbose", [False, True])
def test_verbose_tells_the_message_and_what_is_carried_over(verbose: bool, is_async: bool) -> None:
    ann, bob = agent("ann"), speaker("bob", "one")
    with hearing() as events:
        settings = {
            "message": "look",
            "max_turns": 1,
            "carryover": ["this", "that"],
            "verbose": verbose,
        }
        call(is_async, ann, "initiate_chat", bob, **settings)
    told = [event.text for event in events if isinstance(event, Noted)]
    assert told == (["to bob:\nlook\ncarried over:\nthis\ncarried over:\nthat"] if verbose else [])


@BOTH
def test_verbose_in_a_queue_and_what_it_cannot_be(is_async: bool) -> None:
    ann, bob = agent("ann"), speaker("bob", "one")
    chats = [{"chat_id": 1, "recipient": bob, "message": "look", "max_turns": 1, "verbose": True}]
    with hearing() as events:
        call(is_async, ann, "initiate_chats", chats)
    assert [event.text for event in events if isinstance(event, Noted)] == [
        "begins a chat with bob",
        "to bob:\nlook",
    ]
    with pytest.raises(WrongType, match="verbose must be True, False or None, not 'yes'"):
        call(is_async, ann, "initiate_chat", bob, message="hi", verbose="yes")


def test_a_sync_reply_of_ones_own_that_an_async_chat_passes_over_is_warned_of() -> None:
    class Parrot(ConversableAgent):
        def generate_reply(self, *args: Any, **kwargs: Any) -> Any:
            return "polly"

    ann, polly = agent("ann"), Parrot("polly", human_input_mode="NEVER")
    assert chat(False, ann, polly, max_turns=1).summary == "polly"
    with pytest.warns(
        UserWarning, match="polly has its own generate_reply, which async chats do not ask"
    ):
        chat(True, ann, polly, max_turns=1)
