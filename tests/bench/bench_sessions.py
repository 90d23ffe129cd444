"""Many chats at once: `python -m tests.bench.bench_sessions`.

Each is a session of its own over a WebSocket that asks a question and looks at the answer while it
is written, as a browser does. Told is how long the app takes for each look, and whether all that
the server sent is in each answer and each run's events are whole.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import websockets

from agentkit.api import Workspace
from agentkit.ledger import Chat
from agentkit.llm.offline.passages import parse_passages
from agentkit.messages import text_of
from agentkit.settings import Settings
from tests.bench.bench_streaming import SETTLES_S, Page, cpu_seconds, processor
from tests.browser import papers
from tests.browser.serving import ROOT, App, serving
from tests.servers.openai_server import Answer, OpenAIServer

TOKENS_A_SECOND = 50
TOKENS = 500
PATIENCE_S = 240
OWNER = "local"
WHOLE = " ".join(f"whoever misses it waits {number}" for number in range(TOKENS // 5))


def answer(body: dict[str, Any]) -> Answer:
    """A long answer; at once, what is no answer from passages."""
    if any(parse_passages(text_of(said["content"])) for said in body["messages"]):
        return Answer(WHOLE, delay_s=1 / TOKENS_A_SECOND)
    return Answer(papers.FERRY_QUESTION)


@dataclass
class Watched(Page):
    """A page that notes how long the app took for each look."""

    began: float = 0.0
    took: list[float] = field(default_factory=list)
    is_over: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the end of the answer is on the page."""

    async def run(self, question: str = "", fragment: str = "") -> None:
        self.began = time.perf_counter()
        await super().run(question, fragment)

    def count(self) -> None:
        if self.began:
            self.took.append(time.perf_counter() - self.began)
            self.began = 0.0
        if WHOLE[-20:] in "".join(self.drawing):
            self.is_over.set()
        super().count()


async def watch(app: App, pages: int, spread_s: float) -> list[float]:
    """Let so many people ask within so many seconds; how long each look took until all is there."""
    address = f"ws{app.url.removeprefix('http')}/_stcore/stream"
    opened: list[Watched] = []
    hearing = []
    for _ in range(pages):
        protocols = [websockets.Subprotocol("streamlit")]
        socket = await websockets.connect(address, subprotocols=protocols, max_size=None)
        page = Watched(socket)
        hearing.append(asyncio.create_task(page.hear()))
        opened.append(page)
        async with asyncio.timeout(PATIENCE_S):
            await page.run()
            await page.drawn.wait()
    for page in opened:
        page.took.clear()
        await page.run(papers.FERRY_QUESTION)
        await asyncio.sleep(spread_s / pages)
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(*(page.is_over.wait() for page in opened))
    await asyncio.sleep(SETTLES_S)
    for page, task in zip(opened, hearing, strict=True):
        page.stop(list(page.timers))
        await page.socket.close()
        await task
    return [seconds for page in opened for seconds in page.took]


def find_losses(folder: Path) -> tuple[int, int]:
    """How many answers are whole, and how many events are missing in the runs of chats."""
    workspace = Workspace(Settings(data=folder / "data"))
    try:
        chats: list[Chat] = workspace.ledger.chats(OWNER, limit=1000)
        threads = [workspace.ledger.thread(OWNER, chat.id) for chat in chats]
        whole = sum(WHOLE in thread[-1].content for thread in threads)
        missing = 0
        for run in workspace.figures.runs(OWNER, kind="chat"):
            kinds = [type(one.event).__name__ for one in workspace.figures.events(OWNER, run.id)]
            missing += kinds.count("ModelCalled") != kinds.count("ModelReplied")
            missing += kinds[0] != "RunStarted" or kinds[-1] != "RunFinished"
        return whole, missing
    finally:
        workspace.close()


def main() -> None:
    parser = argparse.ArgumentParser(description="Looks of many sessions at once.")
    parser.add_argument("--sessions", type=int, default=30)
    parser.add_argument("--spread", type=float, default=6.0, help="seconds in which all ask")
    given = parser.parse_args()
    sessions = given.sessions
    with tempfile.TemporaryDirectory() as name, OpenAIServer(answer) as server:
        folder = Path(name)
        model = {"OPENAI_API_KEY": "sk-bench", "OPENAI_MODEL": "test-model"}
        environment = {"OPENAI_BASE_URL": server.base_url, **model}
        (folder / "ferry.docx").write_bytes(papers.ferry_docx())
        command = [sys.executable, "-m", "agentkit", "ingest", str(folder / "ferry.docx")]
        own = {**os.environ, **environment, "AGENTKIT_DATA": str(folder / "data")}
        subprocess.run(command, cwd=ROOT, env=own, check=True, capture_output=True)
        with serving(folder, environment) as app:
            before = cpu_seconds(app.process.pid)
            took = sorted(asyncio.run(watch(app, sessions, given.spread)))
            used = cpu_seconds(app.process.pid) - before
            whole, missing = find_losses(folder)
    p95 = took[int(len(took) * 0.95)]
    print(
        f"{processor()}; {sessions} sessions that ask within {given.spread:g} s,"
        f" {TOKENS_A_SECOND} tokens a second each"
    )
    print(
        f"{len(took)} looks: p50 {statistics.median(took) * 1000:.0f} ms, p95 {p95 * 1000:.0f} ms,"
        f" longest {took[-1] * 1000:.0f} ms; {used:.1f} s of processor time"
    )
    print(f"{whole} of {sessions} answers whole, {missing} runs with events missing")


if __name__ == "__main__":
    main()
