"""What live pages cost while answers are written: `python -m tests.bench.bench_streaming`.

Each page is a websocket client that asks a question and then does what the browser does: it looks
again as often as the app tells it to. A local server writes the answers, word by word.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Delta_pb2 import Delta
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from agentkit.llm.offline.passages import parse_passages
from agentkit.messages import text_of
from tests.browser import papers
from tests.browser.serving import ROOT, App, serving
from tests.servers.openai_server import Answer, OpenAIServer

WORDS_A_SECOND = 40
PARAGRAPH = (
    "The last ferry [1] leaves from the northern pier, and whoever misses it waits until morning. "
    "It takes $t = d / v$ hours, with the wind some more; the gulls stay, and so does the cat.\n\n"
)
WRITTEN = "whoever misses it"
CODE = "```python\nfor hour in range(24):\n    print(hour)\n```\n\n"
SETTLES_S, MEASURED_S, PATIENCE_S = 5, 15, 60


def answer(body: dict[str, Any]) -> Answer:
    """A long answer; at once, what is no answer from passages."""
    if any(parse_passages(text_of(said["content"])) for said in body["messages"]):
        return Answer((PARAGRAPH * 5 + CODE) * 100, delay_s=1 / WORDS_A_SECOND)
    return Answer(papers.FERRY_QUESTION)


@dataclass
class Page:
    """A page of the app, as far as the app can tell."""

    socket: Any
    query: str = ""
    script: str = ""
    box: str = ""
    drawing: list[str] = field(default_factory=list)
    shown: str = ""
    updates: int = 0
    drawn: asyncio.Event = field(default_factory=asyncio.Event)
    writes: asyncio.Event = field(default_factory=asyncio.Event)
    timers: dict[str, tuple[float, asyncio.Task[None]]] = field(default_factory=dict)

    async def hear(self) -> None:
        """Do what the app says, until the connection is closed."""
        async for raw in self.socket:
            message = ForwardMsg.FromString(raw)
            match message.WhichOneof("type"):
                case "new_session":
                    self.script = message.new_session.page_script_hash
                    if not message.metadata.run.fragment_ids:
                        self.stop(list(self.timers))
                case "page_info_changed":
                    self.query = message.page_info_changed.query_string
                case "auto_rerun":
                    self.start(message.auto_rerun.fragment_id, message.auto_rerun.interval)
                case "stop_auto_rerun":
                    self.stop(message.stop_auto_rerun.fragment_ids)
                case "delta":
                    self.see(message.delta)
                case "script_finished":
                    self.finish(message.script_finished)

    def finish(self, how: int) -> None:
        """A run of the page, or of a part of it, has ended."""
        self.count()
        self.drawn.set()

    def see(self, delta: Delta) -> None:
        element = delta.new_element
        if element.WhichOneof("type") == "chat_input":
            self.box = element.chat_input.id
        self.drawing.append(element.markdown.body)

    def count(self) -> None:
        """One look has ended: an update when more of the answer is there."""
        text = "".join(self.drawing)
        self.drawing.clear()
        if WRITTEN in text and text != self.shown:
            self.shown = text
            self.updates += 1
            self.writes.set()

    def start(self, fragment: str, every: float) -> None:
        if fragment in self.timers and self.timers[fragment][0] == every:
            return
        self.stop([fragment])
        self.timers[fragment] = every, asyncio.create_task(self._look(fragment, every))

    def stop(self, fragments: Any) -> None:
        for fragment in fragments:
            if fragment in self.timers:
                self.timers.pop(fragment)[1].cancel()

    async def _look(self, fragment: str, every: float) -> None:
        while True:
            await asyncio.sleep(every)
            await self.run(fragment=fragment)

    async def run(self, question: str = "", fragment: str = "") -> None:
        asked = BackMsg()
        state = asked.rerun_script
        state.query_string, state.page_script_hash = self.query, self.script
        if fragment:
            state.fragment_id, state.is_auto_rerun = fragment, True
        if question:
            widget = state.widget_states.widgets.add()
            widget.id, widget.chat_input_value.data = self.box, question
        else:
            state.widget_states.SetInParent()
        await self.socket.send(asked.SerializeToString())


async def looked_at(app: App, pages: int) -> tuple[float, float, float]:
    """Updates a second of a page; % of a core that the app takes with the pages, and without."""
    address = f"ws{app.url.removeprefix('http')}/_stcore/stream"
    opened, hearing = [], []
    for _ in range(pages):
        protocols = [websockets.Subprotocol("streamlit")]
        socket = await websockets.connect(address, subprotocols=protocols, max_size=None)
        page = Page(socket)
        hearing.append(asyncio.create_task(page.hear()))
        opened.append(page)
        async with asyncio.timeout(PATIENCE_S):
            await page.run()
            await page.drawn.wait()
            await page.run(papers.FERRY_QUESTION)
            await page.writes.wait()
    await asyncio.sleep(SETTLES_S)
    before = sum(page.updates for page in opened)
    share, took = await _measured(app)
    updates = (sum(page.updates for page in opened) - before) / took / pages
    for page, task in zip(opened, hearing, strict=True):
        page.stop(list(page.timers))
        await page.socket.close()
        await task
    await asyncio.sleep(SETTLES_S)
    return updates, share, (await _measured(app))[0]


async def _measured(app: App) -> tuple[float, float]:
    used, began = cpu_seconds(app.process.pid), time.perf_counter()
    await asyncio.sleep(MEASURED_S)
    took = time.perf_counter() - began
    return (cpu_seconds(app.process.pid) - used) / took * 100, took


def cpu_seconds(process: int) -> float:
    """Processor time that a process has taken (Linux)."""
    figures = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(figures[11]) + int(figures[12])) / os.sysconf("SC_CLK_TCK")


def processor() -> str:
    """Its name, and how many cores there are."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    name = next((line.split(":")[1].strip() for line in lines if "model name" in line), "")
    return f"{name or platform.machine()}, {os.cpu_count()} cores"


def main() -> None:
    parser = argparse.ArgumentParser(description="Updates and processor time of live pages.")
    parser.add_argument("--pages", type=int, nargs="+", default=[1, 4, 16])
    print(f"{processor()}; {WORDS_A_SECOND} words a second and answer")
    print("pages  updates/s of each  % of a core: app  without pages  a page  all pages")
    for pages in parser.parse_args().pages:
        with tempfile.TemporaryDirectory() as name, OpenAIServer(answer) as server:
            folder = Path(name)
            model = {"OPENAI_API_KEY": "sk-bench", "OPENAI_MODEL": "test-model"}
            environment = {"OPENAI_BASE_URL": server.base_url, **model}
            (folder / "ferry.docx").write_bytes(papers.ferry_docx())
            command = [sys.executable, "-m", "agentkit", "ingest", str(folder / "ferry.docx")]
            own = {**os.environ, **environment, "AGENTKIT_DATA": str(folder / "data")}
            subprocess.run(command, cwd=ROOT, env=own, check=True, capture_output=True)
            with serving(folder, environment) as app:
                updates, share, rest = asyncio.run(looked_at(app, pages))
        drawn = share - rest
        print(f"{pages:5}{updates:19.1f}{share:18.1f}{rest:15.1f}{drawn / pages:8.1f}{drawn:11.1f}")


if __name__ == "__main__":
    main()
