"""How long after a model's server sent its first word that stands on the screen: `python -m
tests.bench.bench_first_text`.

In Chromium, for the one who answers and for one of a group whose words stand in a bubble; and
then with a transcript of many messages above.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from agentkit.messages import text_of
from tests.bench.bench_support import processor
from tests.browser import driver, papers
from tests.browser.conftest import chromium
from tests.browser.expecting import PATIENCE_MS
from tests.browser.serving import App, serving
from tests.conftest import MODELS
from tests.servers.openai_server import Answer, OpenAIServer

LIMIT_S = 0.3
ROUNDS = 12
SETTLES_S = 1.5
WORD = "Gulls"
WAITED_FOR = Answer(f"{WORD} stay. " * 2_000, halt_after=0, delay_s=0.02)
WATCH = """word => {
    window.seen = null;
    const look = () => {
        const turns = document.querySelectorAll("[class*='st-key-turn-']");
        const turn = turns[turns.length - 1];
        if (turn?.textContent.includes(word)) window.seen = Date.now();
        else requestAnimationFrame(look);
    };
    look();
}"""


class Group:
    """Researcher and critic in turn; the one whose word is waited for halts before it."""

    def __init__(self, said_before: int) -> None:
        self.said_before, self.said = said_before, 0

    def __call__(self, body: dict[str, Any]) -> Answer:
        system = text_of(body["messages"][0]["content"])
        if "You moderate" in system:
            return Answer(("Researcher", "Critic")[self.said % 2])
        self.said += 1
        if self.said > self.said_before:
            return WAITED_FOR
        return Answer("The letter does not say. " * 40)


def answer(body: dict[str, Any]) -> Answer:
    """The one who answers halts before the first word."""
    return WAITED_FOR


def measure(page: Page, app: App, server: OpenAIServer, team: str, calls: int) -> float:
    """Seconds from the server's first word to the frame that shows it; `calls` are made before."""
    server.go_on.clear()
    server.requests.clear()
    page.goto(app.url)
    driver.settled(page)
    driver.choose_team(page, team)
    driver.ask(page, papers.FERRY_QUESTION)
    while len(server.chats) < calls:
        page.wait_for_timeout(50)
    page.wait_for_timeout(SETTLES_S * 1000)
    page.evaluate(WATCH, WORD)
    sent = time.time()
    server.go_on.set()
    page.wait_for_function("() => window.seen !== null")
    seen: float = page.evaluate("() => window.seen")
    page.get_by_role("button", name="Stop", exact=True).click()
    return seen / 1000 - sent


def main() -> None:
    """Print the figures."""
    print(processor())
    os.environ.setdefault("AGENTKIT_MODEL_FOLDER", str(MODELS))
    ways: list[tuple[str, str, Callable[[], Callable[[dict[str, Any]], Answer]], int]] = [
        ("the answer", "Answer with citations", lambda: answer, 1),
        ("a bubble", "Group of three", lambda: Group(0), 2),
        ("a bubble below 11 messages", "Group of three", lambda: Group(11), 24),
    ]
    with (
        tempfile.TemporaryDirectory() as folder,
        OpenAIServer(answer) as server,
        sync_playwright() as playwright,
    ):
        model = {"OPENAI_API_KEY": "sk-bench", "OPENAI_MODEL": "test-model"}
        with serving(Path(folder), {"OPENAI_BASE_URL": server.base_url, **model}) as app:
            browser = playwright.chromium.launch(executable_path=chromium())
            page = browser.new_page()
            page.set_default_timeout(PATIENCE_MS)
            page.goto(f"{app.url}/documents")
            driver.add_files(page, [driver.file("ferry.docx", papers.ferry_docx())])
            for what, team, script, calls in ways:
                took = []
                for _ in range(ROUNDS):
                    server.script = script()
                    took.append(measure(page, app, server, team, calls))
                middle, most = statistics.median(took) * 1000, max(took) * 1000
                late = sum(one > LIMIT_S for one in took)
                print(
                    f"first word of {what}: median {middle:.0f} ms, most {most:.0f} ms; later than"
                    f" {LIMIT_S * 1000:.0f} ms: {late} of {ROUNDS}"
                )
            browser.close()


if __name__ == "__main__":
    main()
