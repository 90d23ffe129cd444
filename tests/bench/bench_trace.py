"""How long a trace of 5,000 events takes to be seen in Chromium, and how smoothly it scrolls:
`python -m tests.bench.bench_trace [--folder FOLDER]`.

By the clock of the browser, as a person would measure it: from the click on the run in the list of
runs, or from the call of its address, to the first frame that has its steps; beside it the time of
the processors that the page and the server took for it, which counts where the machine is busy.
Then frames while its steps are scrolled, each turn a few rows or most of the height.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from agentkit.database import Database
from agentkit.ledger import Ledger, run_list
from agentkit.ledger.run_list import RunFilter
from tests.bench.bench_runs import EVENTS, OWNER, fill_trace
from tests.bench.bench_support import processor
from tests.browser.conftest import chromium
from tests.browser.expecting import PATIENCE_MS
from tests.browser.serving import App, serving

ROUNDS = 9
SPEEDS = {"scrolled slowly, 60 px a frame": 60, "scrolled fast, 2,000 px a frame": 2_000}
FRAMES = 90
RUN = "A long discussion about ferries"
TICK_MS = 1_000 / os.sysconf("SC_CLK_TCK")

# The steps are drawn inside a shadow. The clock starts with the click itself, or with the
# navigation; it ends behind the frame that has them.
WATCH = """(clicked) => {
    const all = () => [...document.querySelectorAll(".st-key-trace *")];
    const inside = () => all().map((one) => one.shadowRoot);
    window.took = new Promise((tell) => {
        let began = clicked ? Infinity : 0;
        const start = () => { began = performance.now(); };
        if (clicked) document.addEventListener("click", start, { once: true, capture: true });
        const look = () => {
            const seen = began < Infinity && inside().some((one) => one?.querySelector(".row"));
            if (!seen) return requestAnimationFrame(look);
            const channel = new MessageChannel();
            channel.port1.onmessage = () => tell(performance.now() - began);
            requestAnimationFrame(() => channel.port2.postMessage(null));
        };
        look();
    });
}"""
SCROLL = """([frames, far]) => new Promise((tell) => {
    const inside = [...document.querySelectorAll(".st-key-trace *")].map((one) => one.shadowRoot);
    const steps = inside.map((one) => one?.querySelector(".steps")).find(Boolean), took = [];
    let before = null, down = 1;
    const turn = (now) => {
        if (before !== null) took.push(now - before);
        before = now;
        if (took.length === frames) return tell(took);
        if (steps.scrollTop + steps.clientHeight >= steps.scrollHeight - 1) down = -1;
        if (steps.scrollTop === 0) down = 1;
        steps.scrollTop += down * far;
        requestAnimationFrame(turn);
    };
    steps.scrollTop = 0;
    requestAnimationFrame(turn);
})"""


@dataclass(frozen=True, slots=True)
class Took:
    """Milliseconds of the clock, and of the processors in the browser and in the server."""

    clock: float
    browser: float
    server: float


def fill(folder: Path) -> None:
    """The run of 5,000 events, if it is not there yet."""
    (folder / "data").mkdir(parents=True, exist_ok=True)
    database = Database(folder / "data/agentkit.duckdb")
    ledger = Ledger(database)
    if not run_list.count(ledger, RunFilter(OWNER)):
        fill_trace(ledger)
    database.close()


class Bench:
    """An app and a browser that are measured."""

    def __init__(self, app: App, browser: Browser) -> None:
        self.app, self.browser = app, browser
        self._session = browser.new_browser_cdp_session()

    def make_context(self) -> BrowserContext:
        """A browser in which nothing was opened yet."""
        context = self.browser.new_context(viewport={"width": 1400, "height": 950})
        context.set_default_timeout(PATIENCE_MS)
        return context

    def open_from_list(self, page: Page) -> Took:
        """From all runs to the trace of the long one."""
        page.goto(f"{self.app.url}/runs")
        link = page.get_by_role("link", name=RUN)
        link.wait_for()
        settle(page)
        page.evaluate(WATCH, True)
        before = self._read_processors()
        link.click()
        return self._wait(page, before)

    def open_address(self, page: Page) -> Took:
        """Its address, in a tab that has nothing."""
        before = self._read_processors()
        page.goto(f"{self.app.url}/runs?run=long", wait_until="commit")
        page.evaluate(WATCH, False)
        return self._wait(page, before)

    def _wait(self, page: Page, before: tuple[float, float]) -> Took:
        clock: float = page.evaluate("() => window.took")
        now = self._read_processors()
        settle(page)
        return Took(clock, now[0] - before[0], now[1] - before[1])

    def _read_processors(self) -> tuple[float, float]:
        """Milliseconds that the browser's pages and the server have taken so far."""
        told = self._session.send("SystemInfo.getProcessInfo")["processInfo"]
        pages = [one["cpuTime"] for one in told if one["type"] == "renderer"]
        stat = Path(f"/proc/{self.app.process.pid}/stat").read_text(encoding="utf-8")
        own, system = stat.rpartition(")")[2].split()[11:13]
        return sum(pages) * 1_000, (int(own) + int(system)) * TICK_MS


def settle(page: Page) -> None:
    """Until the page's script does not run."""
    page.locator("[data-test-script-state='running']").wait_for(state="detached")


def measure_opening(bench: Bench) -> None:
    context = bench.make_context()
    tell("from the list, the first on this server", [bench.open_from_list(context.new_page())])
    listed = [in_new_tab(context, bench.open_from_list) for _ in range(ROUNDS)]
    tell("from the list, in a new tab", listed)
    addressed = [in_new_tab(context, bench.open_address) for _ in range(ROUNDS)]
    tell("its address in a new tab", addressed)
    context.close()
    fresh = [in_new_tab(bench.make_context(), bench.open_address) for _ in range(3)]
    tell("its address, with nothing in the cache", fresh)


def in_new_tab(context: BrowserContext, opening: Callable[[Page], Took]) -> Took:
    """What an opening takes; the tab is closed."""
    page = context.new_page()
    took = opening(page)
    page.close()
    return took


def measure_scrolling(bench: Bench) -> None:
    page = bench.make_context().new_page()
    bench.open_address(page)
    for name, far in SPEEDS.items():
        frames = page.evaluate(SCROLL, [FRAMES, far])
        low, high = statistics.median(frames), statistics.quantiles(frames, n=20)[-1]
        told = f"{low:7.1f} ms a frame in the middle, {high:.1f} p95, {max(frames):.1f} most"
        print(f"{name:42}{told}")


def tell(what: str, took: list[Took]) -> None:
    clock = [one.clock for one in took]
    browser, server = ([getattr(one, name) for one in took] for name in ("browser", "server"))
    print(
        f"{what:42}{statistics.median(clock):7.0f} ms in the middle, {min(clock):.0f} to"
        f" {max(clock):.0f}; processors: page {statistics.median(browser):.0f},"
        f" server {statistics.median(server):.0f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Milliseconds until a trace is seen.")
    parser.add_argument("--folder", type=Path, help="where the data is made, and stays")
    given = parser.parse_args().folder
    print(f"{EVENTS:,} events; {processor()}, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = given or Path(temporary)
        fill(folder)
        with serving(folder, {}) as app, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium())
            bench = Bench(app, browser)
            measure_opening(bench)
            measure_scrolling(bench)
            browser.close()


if __name__ == "__main__":
    main()
