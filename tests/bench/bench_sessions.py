"""Many chats at once: `python -m tests.bench.bench_sessions`.

Each is a session of its own over a WebSocket that asks a question, looks at the answer while it is
written, as a browser does, and has the whole page run again now and then, as a person who clicks.
Told is how long the app takes for each, by the clock and on the processor, and whether all that the
server sent is in each answer and each run's events are whole.
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
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import websockets
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

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
CLICKS_EVERY_S = 4.0
LOOK, WHOLE_PAGE = "looks", "runs of the whole page"
KINDS: Mapping[int, str] = {
    ForwardMsg.FINISHED_SUCCESSFULLY: WHOLE_PAGE,
    ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY: LOOK,
}
WHOLE = " ".join(f"whoever misses it waits {number}" for number in range(TOKENS // 5))


def answer(body: dict[str, Any]) -> Answer:
    """A long answer; at once, what is no answer from passages."""
    if any(parse_passages(text_of(said["content"])) for said in body["messages"]):
        return Answer(WHOLE, delay_s=1 / TOKENS_A_SECOND)
    return Answer(papers.FERRY_QUESTION)


@dataclass
class Watched(Page):
    """A page that notes how long the app took for each look, and for each run of the whole page."""

    began: dict[str, float] = field(default_factory=dict)
    took: dict[str, list[float]] = field(default_factory=lambda: {LOOK: [], WHOLE_PAGE: []})
    is_over: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the end of the answer is on the page."""

    async def run(self, question: str = "", fragment: str = "") -> None:
        # What is asked for while the same goes on is done together with it.
        self.began.setdefault(LOOK if fragment else WHOLE_PAGE, time.perf_counter())
        await super().run(question, fragment)

    def finish(self, how: int) -> None:
        kind = KINDS.get(how, "")
        if kind in self.began:
            self.took[kind].append(time.perf_counter() - self.began.pop(kind))
        if kind == WHOLE_PAGE:  # a look that it broke off is done with it
            self.began.pop(LOOK, None)
        super().finish(how)

    def count(self) -> None:
        if WHOLE[-20:] in "".join(self.drawing):
            self.is_over.set()
        super().count()

    async def click_about(self) -> None:
        """Have the whole page run again and again until the answer is there."""
        while not self.is_over.is_set():
            await asyncio.sleep(CLICKS_EVERY_S)
            await self.run()


async def watch(app: App, pages: int, spread_s: float) -> dict[str, list[float]]:
    """Let so many people ask within so many seconds; how long all took until each answer is
    there.
    """
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
    clicking = []
    for page in opened:
        page.took[WHOLE_PAGE].clear()
        await page.run(papers.FERRY_QUESTION)
        clicking.append(asyncio.create_task(page.click_about()))
        await asyncio.sleep(spread_s / pages)
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(*(page.is_over.wait() for page in opened), *clicking)
    await asyncio.sleep(SETTLES_S)
    for page, task in zip(opened, hearing, strict=True):
        page.stop(list(page.timers))
        await page.socket.close()
        await task
    kinds = LOOK, WHOLE_PAGE
    return {kind: [took for page in opened for took in page.took[kind]] for kind in kinds}


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


def try_out(folder: Path, sessions: int, spread_s: float) -> tuple[dict[str, list[float]], float]:
    """Serve the app over an empty folder to so many; how long each run took, and the app's
    processor time in seconds.
    """
    with OpenAIServer(answer) as server:
        model = {"OPENAI_API_KEY": "sk-bench", "OPENAI_MODEL": "test-model"}
        environment = {"OPENAI_BASE_URL": server.base_url, **model}
        (folder / "ferry.docx").write_bytes(papers.ferry_docx())
        command = [sys.executable, "-m", "agentkit", "ingest", str(folder / "ferry.docx")]
        own = {**os.environ, **environment, "AGENTKIT_DATA": str(folder / "data")}
        subprocess.run(command, cwd=ROOT, env=own, check=True, stdout=subprocess.DEVNULL)
        with serving(folder, environment) as app:
            before = cpu_seconds(app.process.pid)
            took = asyncio.run(watch(app, sessions, spread_s))
            return took, cpu_seconds(app.process.pid) - before


def main() -> None:
    parser = argparse.ArgumentParser(description="Looks of many sessions at once.")
    parser.add_argument("--sessions", type=int, default=30)
    parser.add_argument("--spread", type=float, default=6.0, help="seconds in which all ask")
    given = parser.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        took, used = try_out(Path(name), given.sessions, given.spread)
        whole, missing = find_losses(Path(name))
    print(
        f"{processor()}, at load {load:.1f}; {given.sessions} sessions that ask within"
        f" {given.spread:g} s, {TOKENS_A_SECOND} tokens a second each"
    )
    for kind, seconds in (*took.items(), ("together", list(chain.from_iterable(took.values())))):
        told = sorted(round(1000 * one) for one in seconds)
        print(
            f"{len(told)} {kind}: p50 {statistics.median(told):.0f} ms,"
            f" p95 {told[int(len(told) * 0.95)]} ms, longest {told[-1]} ms"
        )
    print(f"{used:.1f} s of processor time, with the answers' agents")
    print(f"{whole} of {given.sessions} answers whole, {missing} runs with events missing")


if __name__ == "__main__":
    main()
