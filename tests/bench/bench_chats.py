"""10,000 chats of 10 messages: how long a search over all of them takes, and the page with their
list; and how long one goes from branch to branch in a chat of 1,000 messages:
`python -m tests.bench.bench_chats`.
"""

from __future__ import annotations

import argparse
import itertools
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from agentkit.ledger import Ledger
from agentkit.ledger.message_search import fold
from agentkit.ledger.store import utc_now
from agentkit.ledger.tree import choose_head
from agentkit.settings import Settings
from agentkit.ui.shared import state
from tests.app.conftest import ScriptableWorkspace
from tests.app.driver import OWNER, open_page, texts
from tests.bench.bench_support import processor

MESSAGES = 10
LETTERS = "abcdefghijklmnopqrstuvwxyzäöüéñ"
TIMES = 20


def fill(ledger: Ledger, chats: int, *, folded: bool) -> list[str]:
    """Store so many chats over two years; gives the words that they are of."""
    import pyarrow as pa

    random.seed(7)
    words = ["".join(random.choices(LETTERS, k=random.randint(3, 11))) for _ in range(20_000)]
    now, made, said = utc_now(), [], []
    for number in range(chats):
        at = now - timedelta(minutes=number * 100)
        title = " ".join(random.choices(words, k=6))
        chat = {"id": f"c{number}", "owner": OWNER, "title": title, "head_id": f"c{number}-9"}
        set_to = {"team": "answer", "model": "offline", "collection": "Documents"}
        made.append({**chat, **set_to, "created_at": at, "updated_at": at})
        for nth in range(MESSAGES):
            content = " ".join(random.choices(words, k=random.randint(10, 150)))
            before = f"c{number}-{nth - 1}" if nth else None
            said.append(
                {
                    "id": f"c{number}-{nth}",
                    "chat_id": f"c{number}",
                    "parent_id": before,
                    "run_id": f"r{number}-{nth // 2}",
                    "sender": "person",
                    "recipient": "team",
                    "role": "user",
                    "content": content,
                    "status": "complete",
                    "extra": "{}",
                    "created_at": at + timedelta(seconds=nth),
                    "folded": fold(content) if folded else None,
                }
            )
    with ledger.database.transaction():
        ledger.database.insert_arrow("chats", pa.Table.from_pylist(made))
        ledger.database.insert_arrow("messages", pa.Table.from_pylist(said))
    ledger.database.execute("checkpoint")
    return words


def fork(ledger: Ledger, messages: int = 1_000) -> list[str]:
    """Store a chat of so many messages on two branches that part at its beginning; gives the ids of
    their ends.
    """
    import pyarrow as pa

    now, said, ends = utc_now(), [], []
    for branch in ("one", "other"):
        before = None
        for nth in range(messages // 2):
            role, sender = ("assistant", "Writer") if nth % 2 else ("user", "person")
            message = {"id": f"{branch}-{nth}", "chat_id": "forked", "parent_id": before}
            message |= {"run_id": f"{branch}-run-{nth // 2}", "role": role, "sender": sender}
            content = f"What was said at place {nth} of branch {branch}. " * 8
            message |= {"recipient": "team", "content": content, "status": "complete"}
            at = now + timedelta(seconds=nth)
            said.append(message | {"extra": "{}", "created_at": at, "folded": fold(content)})
            before = message["id"]
        ends.append(str(before))
    chat = {"id": "forked", "owner": OWNER, "title": "Two branches", "head_id": ends[0]}
    chat |= {"team": "answer", "model": "offline", "collection": "Documents"}
    with ledger.database.transaction():
        ledger.database.insert("chats", chat | {"created_at": now, "updated_at": now})
        ledger.database.insert_arrow("messages", pa.Table.from_pylist(said))
    return ends


def measure(what: str, work: Callable[[], object]) -> None:
    """Print the median and the longest of some runs, by the clock and on the processor."""
    took = []
    for _ in range(TIMES):
        began, busy = time.perf_counter(), time.process_time()
        work()
        took.append((time.perf_counter() - began, time.process_time() - busy))
    clock, busy_s = zip(*took, strict=True)
    print(
        f"{what}: {statistics.median(clock) * 1000:.0f} ms, longest {max(clock) * 1000:.0f} ms;"
        f" {statistics.median(busy_s) * 1000:.0f} ms of processor time"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="A search and the list of many chats.")
    parser.add_argument("--chats", type=int, default=10_000)
    parser.add_argument("--old", action="store_true", help="as an older version stored them")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        workspace = ScriptableWorkspace(Settings(data=Path(name) / "data"))
        ledger = workspace.ledger
        words = fill(ledger, given.chats, folded=not given.old)
        rare, other = words[0], words[1]
        print(f"{processor()}; {given.chats:,} chats of {MESSAGES} messages")
        measure("one word", lambda: ledger.find_messages(OWNER, rare))
        measure("two words", lambda: ledger.find_messages(OWNER, f"{rare} {other}"))
        measure("a letter that nearly all have", lambda: ledger.find_messages(OWNER, "e"))
        measure("a word that none has", lambda: ledger.find_messages(OWNER, "kängurus"))
        measure("words in titles", lambda: ledger.chats(OWNER, rare, 5, in_title=True))
        measure("one word in one chat", lambda: ledger.find_messages(OWNER, rare, "c7"))
        measure("a shelf of the list", lambda: ledger.shelf(OWNER, limit=40))
        state.use(workspace)
        app = open_page("chat")
        measure("the page with the list", app.run)
        numbers = itertools.count()

        def change() -> None:
            ledger.update_chat(OWNER, "c7", title=f"Title {next(numbers)}")
            app.run()

        measure("the same after a chat has changed", change)
        ends = fork(ledger)
        app = open_page("chat", chat="forked")

        def switch() -> None:
            choose_head(ledger, OWNER, "forked", ends[next(numbers) % 2])
            app.run()

        measure("to another branch of 1,000 messages", switch)
        assert f"of branch {ends[(next(numbers) - 1) % 2].split('-')[0]}" in texts(app)
        state.close()


if __name__ == "__main__":
    main()
