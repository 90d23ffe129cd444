"""Limits in tokens and dollars: what is told, what is refused, and that nothing slips through side
by side.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from agentkit import OpenAIWrapper
from agentkit.core import bus, stopping
from agentkit.errors import LimitReached, ModelUnreachable, WrongArgument, WrongType
from agentkit.events import Event, LimitTold, ModelReplied, TokenDelta, Usage
from agentkit.llm.cache import Cache
from agentkit.llm.calls.client import call
from agentkit.llm.calls.limits import Limit, Used, end_of, in_words, limited
from agentkit.llm.calls.scripted import ScriptedClient, scripted_model
from agentkit.llm.model import Model
from agentkit.llm.response import Response
from agentkit.llm.tokens.counting import count_messages, count_text
from agentkit.messages import message
from agentkit.reasons import EndReason

ASK = [message("user", "How long is the Danube, from the source to the sea?")]
ANSWER = "It is 2,850 kilometres long."
PROMPT = count_messages(ASK, "scripted")[0]
REPLY = count_text(ANSWER, "scripted")[0]
TOOL = {
    "type": "function",
    "function": {
        "name": "look_up",
        "description": "Looks a river up.",
        "parameters": {
            "type": "object",
            "properties": {"river": {"type": "string", "description": "Its name."}},
        },
    },
}


def always(answer: str = ANSWER, **settings: Any) -> Model:
    return replace(scripted_model(lambda _: answer), **settings)


@contextmanager
def telling() -> Iterator[list[LimitTold]]:
    told: list[LimitTold] = []

    def hear(event: Event) -> None:
        if isinstance(event, LimitTold):
            told.append(event)

    with bus.listening(hear):
        yield told


def calls_until_refused(model: Model, **params: Any) -> tuple[int, LimitReached]:
    for made in range(100):
        try:
            call(model, ASK, agent="Ann", params=params)
        except LimitReached as error:
            return made, error
    raise AssertionError("100 calls were within the limit")


def test_what_is_taken_is_summed_exactly_and_the_call_beyond_is_not_made() -> None:
    model, each = always(), PROMPT + REPLY
    with telling() as told, limited(run=Limit(tokens=3 * each + PROMPT - 1)):
        made, error = calls_until_refused(model)
    assert made == 3
    assert isinstance(model.client, ScriptedClient)
    assert len(model.client.requests) == 3
    assert told[-1] == LimitTold(
        "Ann", "run", "tokens", 3 * each + PROMPT, 3 * each + PROMPT - 1, reached=True
    )
    limit = f"The limit of {3 * each + PROMPT - 1:,} tokens was reached"
    assert str(error).startswith(
        f"{limit}: with the next call of Ann, the run would take at least {3 * each + PROMPT:,}"
        " tokens."
    )
    assert end_of(error) == EndReason("allowance", "Ann", 3 * each + PROMPT - 1, "tokens")
    with limited(run=Limit(tokens=3 * each + PROMPT)):
        assert calls_until_refused(model)[0] == 4  # what the reply takes is unknown before it


def test_nearly_used_up_is_told_once_for_each_limit() -> None:
    each = PROMPT + REPLY
    with (
        telling() as told,
        limited(run=Limit(tokens=10 * each), chat=Limit(tokens=20 * each, warn_at=0.25)),
    ):
        for _ in range(9):
            call(always(), ASK, agent="Ann")
    assert [(event.scope, event.limit, event.reached) for event in told] == [
        ("chat", 20 * each, False),
        ("run", 10 * each, False),
    ]
    for event, share in zip(told, (0.25 * 20, 0.8 * 10), strict=True):
        assert share * each <= event.used < (share + 1) * each
        assert (event.used - PROMPT) % each == 0
    assert (
        in_words(told[1])
        == f"The run has nearly used up the limit of {10 * each:,} tokens: {told[1].used:,} tokens"
        " with the call that is made now."
    )


def test_a_chat_goes_on_from_what_it_used_before_and_a_run_begins_anew() -> None:
    limit = Limit(tokens=1_000)
    with limited(run=limit, chat=limit, used_before=Used(1_000 - PROMPT)):
        made, error = calls_until_refused(always())
    assert made == 1
    assert "the chat would take at least" in str(error)


def test_limits_around_go_on_to_hold_and_inner_ones_end_with_their_block() -> None:
    with limited(run=Limit(tokens=2 * (PROMPT + REPLY))), telling() as told:
        with limited(run=Limit(tokens=PROMPT - 1)):
            assert calls_until_refused(always())[0] == 0
        with limited(run=Limit(tokens=1_000_000)):
            assert calls_until_refused(always())[0] == 2
        assert told[-1].limit == 2 * (PROMPT + REPLY)
    assert call(always(), ASK).text == ANSWER


def test_tools_and_the_allowed_reply_count_before_the_call() -> None:
    with_tool = count_messages(ASK, "scripted", [TOOL])[0]
    assert with_tool > PROMPT + 10
    with limited(run=Limit(tokens=with_tool - 1)):
        assert calls_until_refused(always(), tools=[TOOL])[0] == 0
        assert calls_until_refused(always(), functions=[TOOL["function"]])[0] == 0
    with limited(run=Limit(tokens=PROMPT + 500)):
        assert calls_until_refused(always(), max_tokens=501)[0] == 0
        assert calls_until_refused(always(), max_completion_tokens=501)[0] == 0
        assert call(always(), ASK, params={"max_tokens": 500}).text == ANSWER


def test_counts_of_the_model_and_estimates_include_the_tools() -> None:
    prompt = count_messages(ASK, "scripted", [TOOL])[0]
    assert call(always(), ASK, params={"tools": [TOOL]}).usage.prompt == prompt

    class Silent(ScriptedClient):
        """Counts nothing itself."""

        @staticmethod
        def get_usage(response: Response) -> Mapping[str, Any]:
            return {}

    usage = call(always(client=Silent([ANSWER])), ASK, params={"tools": [TOOL, "nonsense"]}).usage
    assert (usage.prompt, usage.estimated) == (prompt, True)


def test_dollars_are_summed_at_the_models_price() -> None:
    model = always(price_1k=(1.0, 2.0))
    each = (PROMPT + 2 * REPLY) / 1000
    with telling() as told, limited(run=Limit(dollars=10 * each)):
        made, error = calls_until_refused(model)
    assert made == 10
    assert end_of(error) == EndReason("allowance", "Ann", 10 * each, "dollars")
    assert [event.reached for event in told] == [False, True]
    assert told[-1].used == pytest.approx(10 * each + PROMPT / 1000)


def test_the_price_of_the_prompt_is_known_before_the_call() -> None:
    model = always(name="gpt-4o", provider="openai")
    with telling() as told, limited(run=Limit(dollars=0.000001)):
        made, _ = calls_until_refused(model)
    assert made == 0
    assert told[-1].used == model.price(Usage(input=count_messages(ASK, "gpt-4o")[0]))


def test_a_limit_that_is_used_up_to_a_rounding_error_still_allows_what_costs_nothing() -> None:
    with limited(run=Limit(dollars=0.3)):
        for _ in range(3):
            call(always(client=Priced(0.1)), ASK)  # together 0.30000000000000004
        assert call(always(), ASK).text == ANSWER


class Priced(ScriptedClient):
    """Every call has the same price."""

    def __init__(self, dollars: float) -> None:
        super().__init__(lambda _: ANSWER)
        self.dollars = dollars

    def cost(self, response: Response) -> float:
        return self.dollars


@pytest.mark.parametrize(
    ("dollars", "shown"),
    [
        (10, "$10.00"),
        (1234.5, "$1,234.50"),
        (0.5, "$0.50"),
        (0.005, "$0.005"),
        (0.00002, "$0.00002"),
    ],
)
def test_amounts_as_people_read_them(dollars: float, shown: str) -> None:
    assert f"limit of {shown} was" in in_words(
        LimitTold("Ann", "run", "dollars", dollars, dollars, reached=True)
    )


def test_an_unknown_price_is_refused_with_a_limit_in_dollars_only() -> None:
    model = always(provider="a-server.example", name="llama3:8b")
    with limited(run=Limit(tokens=100_000)):
        assert call(model, ASK).text == ANSWER
    with limited(run=Limit(dollars=0.5)):
        made, error = calls_until_refused(model)
        assert call(always(), ASK).text == ANSWER  # another model, which costs nothing here
    assert made == 0
    assert end_of(error) == EndReason("price", limit=0.5, unit="dollars", model="llama3:8b")
    assert "config_list" in str(error)


def test_a_chat_of_which_not_all_has_a_price_cannot_be_held_to_dollars() -> None:
    with limited(chat=Limit(dollars=1), used_before=Used(10, None)):
        made, error = calls_until_refused(always())
    assert made == 0
    assert "begin a new chat" in str(error)


def test_failed_attempts_take_what_came_and_free_what_was_kept_for_them() -> None:
    unreachable = ModelUnreachable("The server is down; start it.")
    with limited(run=Limit(tokens=PROMPT + REPLY)):
        for _ in range(3):
            with pytest.raises(ModelUnreachable):
                call(scripted_model([unreachable]), ASK, attempts=1)
        assert call(always(), ASK).text == ANSWER
        assert calls_until_refused(always())[0] == 0


def test_an_interrupted_call_keeps_nothing() -> None:
    def interrupt(_: Mapping[str, Any]) -> str:
        raise KeyboardInterrupt

    with limited(run=Limit(tokens=PROMPT + REPLY)):
        with pytest.raises(KeyboardInterrupt):
            call(scripted_model(interrupt), ASK)
        assert call(always(), ASK).text == ANSWER


def test_a_stopped_reply_takes_what_had_come() -> None:
    signal = stopping.StopSignal()
    ends: list[ModelReplied] = []

    def hear(event: Event) -> None:
        if isinstance(event, ModelReplied):
            ends.append(event)

    def stop_on_text(event: Event) -> None:
        if isinstance(event, TokenDelta):
            signal.set()

    with limited(run=Limit(tokens=2 * PROMPT)), bus.listening(hear, stop_on_text):
        with stopping.stoppable(signal):
            assert call(always(), ASK).stopped
        (end,) = ends
        with telling() as told:
            calls_until_refused(always())
    assert 0 < end.usage.output < REPLY
    assert told[-1].used == end.usage.total + PROMPT


def test_what_a_cache_answers_takes_nothing() -> None:
    config: dict[str, Any] = {"config_list": [{"model": always()}]}
    with Cache.memory() as cache, limited(run=Limit(tokens=PROMPT + REPLY)):
        for _ in range(5):
            OpenAIWrapper(**config).create(messages=ASK, cache=cache)
        with pytest.raises(LimitReached):
            OpenAIWrapper(**config).create(
                messages=[*ASK, message("user", "And the Volga?")], cache=cache
            )


def side_by_side(count: int, ask: Callable[[], object]) -> list[BaseException | None]:
    """Ask in so many threads of this context at once; what each raised."""
    raised: list[BaseException | None] = [None] * count

    def work(number: int) -> None:
        try:
            ask()
        except LimitReached as error:
            raised[number] = error

    threads = [
        threading.Thread(target=contextvars.copy_context().run, args=(work, number))
        for number in range(count)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    return raised


def test_calls_in_threads_never_pass_the_limit_together_by_more_than_was_unknown() -> None:
    all_in = threading.Event()
    lock, asking = threading.Lock(), [0]

    def answer(_: Mapping[str, Any]) -> str:
        with lock:
            asking[0] += 1
        all_in.wait(120)  # all prompts are under way before the first reply comes
        return ANSWER

    def ask() -> None:
        try:
            call(scripted_model(answer), ASK)
        except LimitReached:
            with lock:
                refused[0] += 1
                if refused[0] == 15:
                    all_in.set()
            raise

    refused = [0]
    with limited(run=Limit(tokens=5 * PROMPT)):
        raised = side_by_side(20, ask)
    assert asking[0] == 5
    assert sum(error is not None for error in raised) == 15


def test_many_threads_lose_no_token() -> None:
    each = PROMPT + REPLY

    def ask() -> None:
        for _ in range(5):
            call(always(), ASK, stream=False)

    with limited(run=Limit(tokens=1_000_000)), telling() as told:
        assert side_by_side(8, ask) == [None] * 8
        with pytest.raises(LimitReached):
            call(always(), ASK, params={"max_tokens": 1_000_000 - 40 * each - PROMPT + 1})
    assert told[-1].used == 1_000_001


def test_a_limit_holds_in_tasks_and_is_not_that_of_others() -> None:
    async def main() -> tuple[int, str, int]:
        async def own() -> int:
            with limited(run=Limit(tokens=PROMPT + REPLY)):
                return await asyncio.to_thread(lambda: calls_until_refused(always())[0])

        async def free() -> str:
            return (await asyncio.to_thread(call, always(), ASK)).text

        first, text, last = await asyncio.gather(own(), free(), own())
        return first, text, last

    assert asyncio.run(main()) == (1, ANSWER, 1)


@pytest.mark.parametrize(
    "settings",
    [
        {"tokens": 0},
        {"tokens": -1},
        {"dollars": float("nan")},
        {"dollars": float("inf")},
        {"warn_at": 1.5},
    ],
)
def test_amounts_that_cannot_be(settings: dict[str, Any]) -> None:
    with pytest.raises(WrongArgument, match=next(iter(settings))):
        Limit(**settings)


@pytest.mark.parametrize("settings", [{"tokens": "500"}, {"dollars": True}, {"warn_at": [1]}])
def test_amounts_that_are_no_numbers(settings: dict[str, Any]) -> None:
    with pytest.raises(
        WrongType, match=f"{next(iter(settings))} of a limit is .* must be a number"
    ):
        Limit(**settings)


def test_a_bare_number_is_no_limit() -> None:
    with pytest.raises(WrongType, match=r"Limit\(tokens=10_000\), not 500"), limited(run=500):  # type: ignore[arg-type]
        pass
