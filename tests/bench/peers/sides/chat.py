"""Two agents that answer each other, of the library that is named: AutoGen's or ours."""

from __future__ import annotations

import importlib
import sys
import threading
from pathlib import Path

from tests.bench.bench_chat import Chat, pair
from tests.bench.peers.worker import Work, serve

MESSAGES = 2_000
LIBRARIES = {"agentkit.autogen": "", "autogen": "pyautogen"}


def in_a_deep_thread(chat: Chat) -> Work:
    """AutoGen calls itself for each message, which Python ends near 400 unless it is told
    otherwise.
    """
    sys.setrecursionlimit(1_000_000)
    threading.stack_size(1 << 29)

    def work() -> int:
        said: list[int] = []
        thread = threading.Thread(target=lambda: said.append(chat()))
        thread.start()
        thread.join()
        return said[0]

    return work


def make(_data: Path, _folder: Path) -> dict[str, Work]:
    library = importlib.import_module(sys.argv[2])
    chats = {"sync": pair(library, MESSAGES, False), "async": pair(library, MESSAGES, True)}
    if sys.argv[2] == "autogen":
        return {name: in_a_deep_thread(chat) for name, chat in chats.items()}
    return dict(chats)


if __name__ == "__main__":
    serve(LIBRARIES[sys.argv[2]], make)
