"""What storing costs a run: `python -m tests.bench.bench_storing`.

A local server writes 50 tokens a second. Of all calls that store events of a run, the processor
time, and how long the run waits for them: what the writer stores beside it costs no waiting.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agentkit.events import Recorded, TokenDelta
from agentkit.ledger import Ledger, LedgerWriter, RunKey
from agentkit.messages import text_of
from agentkit.retrieval import FakeEmbedder, Source
from agentkit.settings import Settings
from agentkit.workspace import Workspace
from tests.bench.bench_support import processor
from tests.servers.openai_server import Answer, OpenAIServer, tool_call

TOKENS_A_SECOND, WORDS = 50, 100
ROUNDS, MOST = 3, 0.02
TEAMS = ("answer", "assistant", "tools", "group:round_robin")
TEA = "Green tea is steeped at 80 degrees.\n\nBlack tea is steeped at 95 degrees."
TOKENS = 20_000


@dataclass
class Spent:
    """Seconds that storing took."""

    busy: float = 0.0
    """Of the processor, in whatever thread."""
    own: float = 0.0
    """Of the processor, while the run waited."""
    waited: float = 0.0
    """By the clock, while the run waited."""
    times: int = 0


class TimedLedger(Ledger):
    """A ledger that tells what it spends on keeping events."""

    spent = Spent()

    def keep(self, run: RunKey, events: Sequence[Recorded], again: bool = False) -> None:
        """The same, and note what it took."""
        began, busy = time.perf_counter(), time.thread_time()
        super().keep(run, events, again)
        took = time.thread_time() - busy
        self.spent.times += 1
        self.spent.busy += took
        if not threading.current_thread().name.startswith("agentkit-writer"):
            self.spent.own += took
            self.spent.waited += time.perf_counter() - began


class Nowhere:
    """Keeps nothing."""

    def keep(self, run: RunKey, events: Sequence[Recorded]) -> None:
        """Let them go."""


def reply(body: dict[str, Any]) -> Answer:
    """Looks something up first where it can, and then writes."""
    offered = bool(body.get("tools"))
    if offered and str(body["messages"][-1]["role"]) != "tool":
        return replace(tool_call("search_documents", query="green tea"))
    ending = "\nTERMINATE" if "TERMINATE" in text_of(body["messages"][0]["content"]) else ""
    sentence = "Green tea is steeped at 80 degrees, says the label [1]. "
    return Answer(sentence * (WORDS // 10) + ending, delay_s=1 / TOKENS_A_SECOND)


def measure(workspace: Workspace, ledger: TimedLedger, team: str) -> tuple[float, Spent]:
    """Seconds of a run, and what of them was storing."""
    ledger.spent = Spent()
    began = time.perf_counter()
    run = workspace.ask("local", "How hot is green tea?", collection="Tea", team_id=team)
    run.result()
    return time.perf_counter() - began, ledger.spent


def measure_tokens() -> float:
    """Microseconds that a streamed token takes beside what is stored."""
    writer = LedgerWriter(Nowhere(), RunKey("1", "local", "2", "3"))
    events = [Recorded(n, 0.0, TokenDelta("word ", "Writer", "call")) for n in range(TOKENS)]
    busy = time.thread_time()
    for event in events:
        writer.write(event)
    busy = time.thread_time() - busy
    writer.flush()
    return busy / TOKENS * 1e6


def _opened(folder: Path, server: OpenAIServer) -> tuple[Workspace, TimedLedger]:
    path = folder / "tea.txt"
    path.write_text(TEA)
    own = Settings(folder / "data", openai_base_url=server.base_url, openai_model="test-model")
    workspace = Workspace(own, FakeEmbedder())
    workspace.library.create_collection("local", "Tea")
    workspace.ingest("local", "Tea", [Source("tea.txt", path, "upload:tea.txt")]).result()
    ledger = TimedLedger(workspace.database)
    workspace.ledger = ledger
    return workspace, ledger


def main() -> None:
    """Print the shares, and fail when one is too large."""
    load = os.getloadavg()[0]
    sys.stdout.write(f"{processor()} at load {load:.0f}, {TOKENS_A_SECOND} tokens a second\n")
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder, OpenAIServer(reply) as server:
        workspace, ledger = _opened(Path(folder), server)
        for team in TEAMS:
            taken = [measure(workspace, ledger, team) for _ in range(ROUNDS)]
            whole = statistics.median(seconds for seconds, _ in taken)
            busy = statistics.median(spent.busy / seconds for seconds, spent in taken)
            own = statistics.median(spent.own / seconds for seconds, spent in taken)
            waited = statistics.median(spent.waited / seconds for seconds, spent in taken)
            worst = max(worst, busy)
            sys.stdout.write(
                f"{team:<18} {whole:5.1f} s, {taken[-1][1].times:3} times: {busy:.2%} of it the"
                f" processor's time ({own:.2%} while it waits), {waited:.2%} waiting by the clock\n"
            )
        workspace.close()
    sys.stdout.write(f"a streamed token beside that: {measure_tokens():.1f} microseconds\n")
    sys.exit(worst > MOST)


if __name__ == "__main__":
    main()
