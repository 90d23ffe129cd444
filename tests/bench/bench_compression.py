"""What compression costs and keeps: `python -m tests.bench.bench_compression`.

Simulated are the chats (sentences from templates), the replies, and the model that writes
summaries: it only takes the sentences that say most within the length that it
is allowed, so its figures show the bookkeeping, not a model's skill.
A planted fact counts as answerable when its value stands in what the model would be sent; no model
is asked whether it finds it.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
from typing import Any

from agentkit.conversation import ConversableAgent
from agentkit.conversation.compression import (
    Compression,
    Extraction,
    ModelSummary,
    Scope,
    SlidingWindow,
    Strategy,
    ToolOutput,
)
from agentkit.conversation.compression.extraction import extract
from agentkit.conversation.compression.meter import Meter
from agentkit.conversation.transforms import MessageHistoryLimiter, TransformMessages
from agentkit.core.io import IOConsole, IOStream
from agentkit.llm.calls.scripted import scripted_model
from agentkit.messages import Stored

MODEL = "gpt-4o"
METER = Meter(MODEL)
LIMIT = 8_000
FACTS = {
    "locker code": "K4471",
    "sister's name": "Ottilie",
    "train on Friday": "ICE 1093",
    "allergy": "hazelnuts",
    "budget in euros": "12,350",
    "meeting room": "B-217",
    "dog's name": "Brunello",
    "blood type": "AB negative",
    "hotel": "Pension Mirabell",
    "password hint": "sea urchin",
}
TOPICS = [
    "bridge",
    "harvest",
    "museum",
    "engine",
    "garden",
    "contract",
    "concert",
    "library",
    "ferry",
    "orchard",
]
VERBS = [
    "was mentioned",
    "came up again",
    "took a while",
    "went as planned",
    "looked better",
    "needs more time",
    "was put off",
]


class _Quiet(IOConsole):
    def print(self, *objects: Any, sep: str = " ", end: str = "\n", flush: bool = False) -> None:
        """Nothing."""


def filler(rng: random.Random, dense: bool) -> str:
    """Three sentences of a turn; with `dense` each has a number and a name, as facts have."""

    def one() -> str:
        topic, verb = rng.choice(TOPICS), rng.choice(VERBS)
        if not dense:
            return f"So the {topic} {verb} and then the {rng.choice(TOPICS)} {rng.choice(VERBS)}."
        return (
            f"In {rng.choice(TOPICS).title()}ville the {topic} number {rng.randrange(10_000)}"
            f" {verb}."
        )

    return " ".join(one() for _ in range(3))


def summarising(params: Any) -> str:
    """The simulated model that summarises: the sentences of its prompt that say most, in as many
    words as it is allowed.
    """
    words = int(re.findall(r"at most (\d+) words", params["messages"][0]["content"])[0])
    lines: list[Stored] = [
        {"role": "user", "name": label.split()[-1], "content": text}
        for label, text in re.findall(
            r"##([^#\n]+)## ((?:(?!\n##)[\s\S])*)", params["messages"][1]["content"]
        )
    ]
    return extract(lines, int(words * 1.4), METER)


def by_model() -> ModelSummary:
    """The strategy that asks the simulated model."""
    return ModelSummary(
        {"config_list": [{"model": scripted_model(summarising)}], "cache_seed": None}
    )


def chat(
    turns: int, prepare: Callable[[ConversableAgent], None], dense: bool
) -> tuple[list[int], str]:
    """Tokens of each request of a chat, and all that the last one held; the facts are told in turns
    1 to 10.
    """
    rng = random.Random(7)
    told = [
        f"By the way, my {what} is {value}. {filler(rng, dense)}" for what, value in FACTS.items()
    ]
    sizes: list[int] = []
    last = ""

    def reply(params: Any) -> str:
        nonlocal last
        sizes.append(METER.count_fixed([], {}) + METER.count(params["messages"]))
        last = "\n".join(str(message["content"]) for message in params["messages"])
        return filler(rng, dense)

    model = scripted_model(reply)
    settings: dict[str, Any] = {"human_input_mode": "NEVER", "max_consecutive_auto_reply": turns}
    bob = ConversableAgent(
        "bob", llm_config={"config_list": [{"model": model}], "cache_seed": None}, **settings
    )
    ann = ConversableAgent("ann", **settings)
    ann.register_reply(bob, lambda *_, **__: (True, told.pop(0) if told else filler(rng, dense)))
    prepare(bob)
    with IOStream.set_default(_Quiet()):
        ann.initiate_chat(
            bob,
            message="Please keep me company, and remember what I tell you.",
            max_turns=turns,
            silent=True,
        )
    return sizes, last


def compressed(
    strategy: Strategy | list[Strategy], share: float = 0.7
) -> Callable[[ConversableAgent], None]:
    """Let the agent compress under the limit."""
    return lambda agent: Compression(strategy, share, limit=LIMIT).add_to_agent(agent)


def curve() -> None:
    """Prompt tokens of a chat of 2,000 turns, with and without compression."""
    plain, _ = chat(2_000, lambda _: None, False)
    began = time.perf_counter()
    short, _ = chat(2_000, compressed(Extraction()), False)
    took = time.perf_counter() - began
    print(
        f"Prompt tokens of a simulated chat, limit {LIMIT:,}; the chat with compression took"
        f" {took:.1f} s"
    )
    print(f"{'turns':>6}{'request':>10}{'in all':>14}{'uncompressed':>15}{'in all':>14}")
    for turn in (1, 100, 250, 500, 1_000, 1_500, 2_000):
        print(
            f"{turn:>6,}{short[turn - 1]:>10,}{sum(short[:turn]):>14,}"
            f"{plain[turn - 1]:>15,}{sum(plain[:turn]):>14,}"
        )
    print(f"largest request: {max(short):,} tokens\n")


def speed() -> None:
    """Seconds of the extraction for 50,000 tokens."""
    rng = random.Random(3)
    messages: list[Stored] = []
    while METER.count(messages) < 50_000:
        messages += [
            {
                "role": "user",
                "name": "ann",
                "content": " ".join(filler(rng, True) for _ in range(4)),
            }
            for _ in range(50)
        ]
    began = time.perf_counter()
    Extraction().shorten(messages, Scope(METER, 3_000))
    print(
        f"Extraction of {METER.count(messages):,} tokens to 3,000:"
        f" {time.perf_counter() - began:.2f} s (limit 2 s)\n"
    )


def kept() -> None:
    """Facts of the first 10 turns that are there after 500, by strategy."""
    ways: dict[str, Callable[[ConversableAgent], None]] = {
        "newest 60 messages only": (
            TransformMessages(transforms=[MessageHistoryLimiter(60)], verbose=False).add_to_agent
        ),
        "extraction": compressed(Extraction()),
        "sliding window": compressed(SlidingWindow()),
        "simulated model": compressed(by_model()),
        "window, simulated model": compressed([ToolOutput(), SlidingWindow(by_model())]),
    }
    print(
        "Facts of the first 10 turns that are still in the request after 500 turns (simulated, see"
        " the head of this file)"
    )
    print(f"{'':28}{'small talk':>12}{'dense talk':>12}")
    for name, prepare in ways.items():
        shares = []
        for dense in (False, True):
            _, last = chat(500, prepare, dense)
            shares.append(sum(value in last for value in FACTS.values()) / len(FACTS))
        print(f"{name:28}{shares[0]:>12.0%}{shares[1]:>12.0%}")


if __name__ == "__main__":
    curve()
    speed()
    kept()
