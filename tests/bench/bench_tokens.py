"""Milliseconds to count the prompt of a further turn: `python -m tests.bench.bench_tokens`.

A conversation of 2,000 messages of some 80 tokens is counted, then each further turn; beside it the
same counted anew. Also measured: a conversation of tool calls, and the one whose first message
changes each time, as when
    found passages stand in it.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

from agentkit.llm.tokens.counting import TokenCounter

MODEL = "gpt-4o"
LIMIT_MS = 2.0
MESSAGES, TURNS = 2_000, 40
WORDS = (
    "the tenant may end the lease at the end of any month when the landlord was told in writing"
    " three months before"
)


def text(number: int) -> str:
    """Some 80 tokens that differ from turn to turn."""
    return f"Turn {number}: " + " ".join(
        f"{word}{number % 7}" if at % 9 == 0 else word
        for at, word in enumerate(f"{WORDS} {WORDS} {WORDS}".split())
    )


def chat(number: int) -> list[dict[str, Any]]:
    """A turn of one message."""
    return [{"role": "user" if number % 2 else "assistant", "content": text(number)}]


def tools(number: int) -> list[dict[str, Any]]:
    """A turn of a call and its result."""
    call = {
        "id": f"call_{number}",
        "type": "function",
        "function": {"name": "search", "arguments": f'{{"query": "{number}"}}'},
    }
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"call_{number}", "content": text(number)},
    ]


def history(turn: Any) -> list[dict[str, Any]]:
    """So many messages of such turns behind a system message."""
    size = len(turn(0))
    return [
        {"role": "system", "content": "You are helpful."},
        *(one for number in range(MESSAGES // size) for one in turn(number)),
    ]


def measured(turn: Any, first_changes: bool = False) -> list[float]:
    """Milliseconds of each further turn."""
    counter, messages, took = TokenCounter(MODEL), history(turn), []
    counter.prompt(messages)
    for number in range(MESSAGES, MESSAGES + TURNS):
        messages.extend(turn(number))
        if first_changes:
            messages[0] = {"role": "system", "content": f"Found: {text(number)}"}
        began = time.perf_counter()
        counted = counter.prompt(messages)
        took.append((time.perf_counter() - began) * 1e3)
    if counted != TokenCounter(MODEL).prompt(messages):
        raise SystemExit("the counter that remembers counts other than one that does not")
    return took


def main() -> None:
    TokenCounter(MODEL).text("")  # loads the table of tokens
    messages = history(chat)
    began = time.perf_counter()
    tokens, _ = TokenCounter(MODEL).prompt(messages)
    print(
        f"anew: {len(messages):,} messages, {tokens:,} tokens,"
        f" {(time.perf_counter() - began) * 1e3:.0f} ms"
    )
    for name, turn, changes in (
        ("chat", chat, False),
        ("tool calls", tools, False),
        ("first message changes", chat, True),
    ):
        took = measured(turn, changes)
        print(
            f"a further turn, {name:22} median {statistics.median(took):6.2f} ms  longest"
            f" {max(took):6.2f} ms"
        )
        if name == "chat" and statistics.median(took) > LIMIT_MS:
            raise SystemExit(f"a further turn takes longer than {LIMIT_MS} ms")


if __name__ == "__main__":
    main()
