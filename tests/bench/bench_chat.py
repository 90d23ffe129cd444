"""Processor microseconds that the engine takes for a message: `python -m tests.bench.bench_chat
[--oracle PYTHON]`.

Two agents talk, sync and async; five talk in a group by turns. All is silent, nobody listens,
nothing is cached. With the path of a Python that has pyautogen 0.6.0, the same is measured there in
the same run, as far as its recursion limit allows.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

LIMIT_US = 50.0
ROUNDS, ROUNDS_OF_LONG = 15, 3
PAIR, GROUP = (100, 300, 2_000, 20_000), (100, 300, 2_000)
PAIR_THERE, GROUP_THERE = (100, 300), (100, 300)
Chat = Callable[[], int]
"""Runs a chat and gives the number of its messages."""


def pair(library: Any, messages: int, is_async: bool) -> Chat:
    """Two agents that answer each other automatically until so many messages were said."""
    ann, bob = (
        agent(library, name, lambda _message: len(ann.chat_messages[bob]) >= messages)
        for name in ("ann", "bob")
    )

    def chat() -> int:
        begun = {"message": "hello", "silent": True, "summary_method": None}
        result = (
            asyncio.run(ann.a_initiate_chat(bob, **begun))
            if is_async
            else ann.initiate_chat(bob, **begun)
        )
        return len(result.chat_history)

    return chat


def group(library: Any, messages: int, is_async: bool) -> Chat:
    """Five agents that speak by turns."""
    members = [agent(library, f"agent_{number}") for number in range(5)]

    def chat() -> int:
        shared = library.GroupChat(
            members, [], max_round=messages, speaker_selection_method="round_robin"
        )
        manager = library.GroupChatManager(shared, llm_config=False, silent=True)
        begun = {"message": "hello", "silent": True, "summary_method": None}
        if is_async:
            asyncio.run(members[0].a_initiate_chat(manager, **begun))
        else:
            members[0].initiate_chat(manager, **begun)
        return len(shared.messages)

    return chat


def agent(library: Any, name: str, is_last: Callable[[Any], bool] = lambda _message: False) -> Any:
    return library.ConversableAgent(
        name, None, is_last, sys.maxsize, "NEVER", llm_config=False, default_auto_reply="fine"
    )


def microseconds(chat: Chat, messages: int) -> float:
    """Processor time for a message, in the best of some runs: other programs count for little."""
    took = []
    for _ in range(ROUNDS if messages < 10_000 else ROUNDS_OF_LONG):
        began = time.process_time()
        said = chat()
        took.append((time.process_time() - began) / said * 1e6)
        if said != messages:
            raise SystemExit(f"{said} messages were said instead of {messages}")
    return min(took)


def measured(library: Any, pairs: tuple[int, ...], groups: tuple[int, ...]) -> dict[str, float]:
    """Kind of chat -> microseconds a message."""
    found = {}
    for kind, make, sizes in (("pair", pair, pairs), ("group of 5", group, groups)):
        for face in ("sync", "async"):
            for size in sizes:
                microseconds(make(library, 100, face == "async"), 100)  # fills the caches
                found[f"{kind}, {face}, {size:,}"] = microseconds(
                    make(library, size, face == "async"), size
                )
    return found


def there(oracle: str) -> dict[str, float]:
    """The same figures of AutoGen, measured by the Python at `oracle`."""
    done = subprocess.run(
        [oracle, __file__, "--library", "autogen"],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path.home(),
    )
    if done.returncode != 0:
        raise SystemExit(f"{oracle} could not measure AutoGen:\n{done.stderr[-1000:]}")
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Microseconds that the engine takes for a message."
    )
    parser.add_argument("--oracle", help="a Python that has pyautogen 0.6.0")
    parser.add_argument("--library", help="measure this library in this process and print JSON")
    options = parser.parse_args()
    if options.library:
        print(
            json.dumps(measured(importlib.import_module(options.library), PAIR_THERE, GROUP_THERE))
        )
        return
    theirs = there(options.oracle) if options.oracle else {}
    ours = measured(importlib.import_module("agentkit"), PAIR, GROUP)
    print(
        "chat, face, messages           µs a message   of the 50 µs"
        + ("   AutoGen      ratio" if theirs else "")
    )
    for name, figure in ours.items():
        share = f"{figure / LIMIT_US:14.2f}" if name.startswith("pair") else " " * 14
        beside = f"{theirs[name]:10.0f} µs {figure / theirs[name]:9.2f}" if name in theirs else ""
        print(f"{name:32}{figure:11.1f}{share}{beside}".rstrip())


if __name__ == "__main__":
    main()
