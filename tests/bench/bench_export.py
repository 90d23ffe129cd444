"""How long a chat of 1,000 messages takes to be exported in each form, and to be imported.

`python -m tests.bench.bench_export`; the app is not needed.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from agentkit.database import Database
from agentkit.events import (
    Event,
    MessageSent,
    ModelCalled,
    ModelReplied,
    Recorded,
    Retrieved,
    RunFinished,
    RunStarted,
    Usage,
)
from agentkit.ledger import Ledger, RunKey
from agentkit.messages import new_id
from agentkit.ui.exports import as_html, as_markdown
from agentkit.workspace.sharing import reading
from agentkit.workspace.sharing.sharing import Sharing
from tests.bench.bench_streaming import processor

OWNER = "me"
PASSAGE = "Green tea is steeped at 80 degrees, as hotter water makes it bitter. " * 6
ANSWER = "It is steeped at **80 degrees** [1], for two minutes [2].\n\n- less\n- or more\n\n" * 8


def fill(ledger: Ledger, messages: int) -> str:
    """A chat of so many questions and answers, each with a search and a call; gives its id."""
    chat = ledger.create_chat(OWNER, "Tea", "answer", "m", "Kitchen")
    parent: str | None = None
    history: list[dict[str, str]] = []
    for number in range(messages // 2):
        key, asked = RunKey(new_id(), OWNER, chat.id, new_id()), new_id()
        assert key.message_id
        text = f"How hot is tea number {number}?"
        history.append({"role": "user", "content": text})
        call = (new_id(), "Answerer", "server", "m")
        took = Usage(input=2_000, output=200)
        events: list[Event] = [
            RunStarted("chat", text),
            MessageSent(asked, parent, "user", "team", "user", text),
            Retrieved(text, "Kitchen", "hybrid", [cite(n) for n in range(1, 9)], 0.1),
            ModelCalled(*call, messages=history[-20:], request={"model": "m", "messages": None}),
            ModelReplied(*call, text=ANSWER, usage=took, cost=0.01),
            MessageSent(
                key.message_id,
                asked,
                "Answerer",
                "user",
                "assistant",
                ANSWER,
                extra={"citations": [cite(1), cite(2)]},
            ),
            RunFinished(),
        ]
        at = time.time()
        ledger.keep(key, [Recorded(seq, at, one) for seq, one in enumerate(events, start=1)])
        history.append({"role": "assistant", "content": ANSWER})
        parent = key.message_id
    return chat.id


def cite(marker: int) -> dict[str, object]:
    """A citation, or a hit."""
    place = {"document_id": "d", "document": "tea.txt", "chunk_id": marker, "page": 3, "place": ""}
    span = {"heading": "Tea", "start": 0, "end": len(PASSAGE), "text": PASSAGE, "score": 0.9}
    return {"marker": marker, **place, **span}


def measure(rounds: int, work: Callable[[], object]) -> str:
    """The median of some rounds: by the clock, and of the processor alone."""
    took, used = [], []
    for _ in range(rounds):
        began, before = time.perf_counter(), time.process_time()
        work()
        took.append(time.perf_counter() - began)
        used.append(time.process_time() - before)
    return f"{statistics.median(took):.2f} s, {statistics.median(used):.2f} s of processor time"


def main() -> None:
    parser = argparse.ArgumentParser(description="Export and import of a long chat.")
    parser.add_argument("--messages", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        database = Database(folder / "agentkit.duckdb")
        ledger = Ledger(database)
        sharing = Sharing(folder, ledger)
        chat_id = fill(ledger, given.messages)
        path = folder / "chat.json"

        def export() -> bytes:
            return sharing.export(OWNER, chat_id, path).read_bytes()

        print(f"{processor()}; a chat of {given.messages:,} messages")
        print(f"export as JSON: {measure(given.rounds, export)}, {len(export()) / 1e6:.1f} MB")
        for form, write in (("Markdown", as_markdown.write_chat), ("HTML", as_html.write_page)):

            def written(write: Callable[..., str] = write) -> str:
                return write(reading.parse(export(), "chat.json"))

            print(f"export as {form}: {measure(given.rounds, written)}")
        print(f"import: {measure(given.rounds, lambda: sharing.load(OWNER, path))}")
        database.close()


if __name__ == "__main__":
    main()
