"""How fast the Runs page is: `python -m tests.bench.bench_runs [--folder FOLDER]`.

Over 100,000 runs with 300,000 calls and as many questions: the first page, a changed filter, each
order; then one run of 5,000 events, read, made into spans and drawn. Times are those of the
processors, of the whole script of the page and of the questions to the ledger alone. With a folder,
the data stays there, and the app can be opened over it.
"""

from __future__ import annotations

import argparse
import platform
import random
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, get_args

import pyarrow
from streamlit.testing.v1 import AppTest

from agentkit.events import (
    Event,
    ModelCalled,
    ModelReplied,
    Recorded,
    Retrieved,
    RunFinished,
    RunStarted,
    ToolCalled,
    ToolReturned,
    Usage,
)
from agentkit.ledger import Ledger, RunKey, queries, run_list
from agentkit.ledger.run_list import RunFilter, RunSort
from agentkit.ledger.trace import build_trace
from agentkit.retrieval import FakeEmbedder
from agentkit.settings import Settings
from agentkit.ui.shared import state
from agentkit.ui.steps.stepping import Stepping
from agentkit.workspace import Workspace

RUNS, CALLS, EVENTS, ROUNDS = 100_000, 3, 5_000, 5
FOUND = 8
"""Documents that a run finds."""
OWNER = "local"
ROOT = Path(__file__).resolve().parents[2]
TEAMS = ("answer", "assistant", "group", "planning", "tools")
MODELS = ("small", "big", "extractive")
WORDS = ("ferry", "kettle", "warranty", "harbour", "letter", "invoice", "budget", "river", "tea")
BEGAN = datetime(2026, 1, 1, tzinfo=UTC).replace(tzinfo=None)


def fill_runs(ledger: Ledger, runs: int = RUNS) -> None:
    """So many runs, each with a question and some calls."""
    chance = random.Random(7)
    ids = [f"run-{number:07}" for number in range(runs)]
    starts = [BEGAN + timedelta(minutes=4 * number) for number in range(runs)]
    titles = [" ".join(chance.choices(WORDS, k=7)).capitalize() + "?" for _ in ids]
    states = chance.choices(["finished", "failed", "stopped"], [90, 7, 3], k=runs)
    ends = [start + timedelta(seconds=chance.uniform(0.5, 90)) for start in starts]
    kinds = chance.choices(["chat", "ingest", "measure", "script"], [85, 8, 2, 5], k=runs)
    told = {
        "id": ids,
        "owner": [OWNER] * runs,
        "kind": kinds,
        "title": titles,
        "state": states,
        "reason": ["" if one == "finished" else "the server went away" for one in states],
        "started_at": starts,
        "finished_at": ends,
        "team": [chance.choice(TEAMS) if kind == "chat" else "" for kind in kinds],
    }
    ledger.database.insert_arrow("runs", pyarrow.table(told))
    ledger.database.insert_arrow("messages", _questions(ids, titles, starts))
    ledger.database.insert_arrow("llm_calls", _calls(ids, ends, chance))
    ledger.database.insert_arrow("run_documents", _documents(ids, chance))


def _documents(ids: list[str], chance: random.Random) -> pyarrow.Table:
    """Some that each run found, of a thousand."""
    run_ids = [one for one in ids for _ in range(FOUND)]
    found = [f"document-{chance.randrange(1_000)}" for _ in run_ids]
    told = {"run_id": run_ids, "document_id": found, "how": ["found"] * len(run_ids)}
    return pyarrow.table(told)


def _questions(ids: list[str], titles: list[str], starts: list[datetime]) -> pyarrow.Table:
    size = len(ids)
    same = {"chat_id": "c", "sender": "user", "recipient": "team", "role": "user"}
    told: dict[str, list[Any]] = {name: [value] * size for name, value in same.items()}
    told |= {"status": ["complete"] * size, "extra": ["{}"] * size, "created_at": starts}
    told |= {"id": [f"m-{one}" for one in ids], "run_id": ids}
    told["content"] = [f"{title} Please name the page, too." for title in titles]
    return pyarrow.table(told)


def _calls(ids: list[str], ends: list[datetime], chance: random.Random) -> pyarrow.Table:
    size = len(ids) * CALLS
    same: dict[str, Any] = {"attempt": 1, "owner": OWNER, "agent": "Writer", "provider": "server"}
    same |= {"purpose": "chat", "status": "ok", "error": "", "error_type": "", "estimated": False}
    same |= {"cache_read_tokens": 0, "cache_write_tokens": 0, "reasoning_tokens": 0}
    same |= {"seconds": 1.5, "raw_usage": "{}"}
    told: dict[str, list[Any]] = {name: [value] * size for name, value in same.items()}
    told["id"] = [f"call-{number}" for number in range(size)]
    told["run_id"] = [one for one in ids for _ in range(CALLS)]
    told["finished_at"] = [end for end in ends for _ in range(CALLS)]
    told["model"] = chance.choices(MODELS, [70, 10, 20], k=size)
    told["input_tokens"] = [chance.randrange(200, 20_000) for _ in range(size)]
    told["output_tokens"] = [chance.randrange(10, 2_000) for _ in range(size)]
    told["cost"] = [chance.uniform(0.0001, 0.2) for _ in range(size)]
    return pyarrow.table(told)


def fill_trace(ledger: Ledger, run_id: str = "long", events: int = EVENTS) -> None:
    """A run of so many events: calls of models and tools of four agents, and their look-ups."""
    chance, at = random.Random(7), BEGAN.replace(tzinfo=UTC).timestamp()
    told: list[Event] = [RunStarted("script", "A long discussion about ferries")]
    said: list[dict[str, Any]] = []
    while len(told) < events - 6:
        told += _turn(len(told), said, chance)
    told.append(RunFinished())
    recorded = []
    for seq, event in enumerate(told, start=1):
        at += chance.uniform(0.05, 2.0)
        recorded.append(Recorded(seq, at, event))
    for first in range(0, len(recorded), 500):
        ledger.keep(RunKey(run_id, OWNER), recorded[first : first + 500])


def _turn(number: int, said: list[dict[str, Any]], chance: random.Random) -> list[Event]:
    """What one agent does when it is its turn."""
    agent = chance.choice(("Researcher", "Critic", "Writer", "Planner"))
    text = " ".join(chance.choices(WORDS, k=60))
    said.append({"role": "user", "name": agent, "content": text})
    call, tool, model = f"long-{number}", f"tool-{number}", chance.choice(MODELS)
    usage = Usage(input=len(said) * 70, output=80)
    hit = {"document": "ferry.docx", "document_id": "d", "start": 0, "end": 9, "text": text}
    return [
        ModelCalled(call, agent, "server", model, messages=said[-40:]),
        ModelReplied(call, agent, "server", model, text=text, usage=usage, cost=0.001),
        ToolCalled(tool, agent, "search_documents", f'{{"query": "{text[:40]}"}}'),
        Retrieved(text[:40], "Documents", "hybrid", [hit] * 8, 0.02),
        ToolReturned(tool, agent, "search_documents", True, text, 0.03),
    ]


def measure(work: Callable[[], object]) -> float:
    """Milliseconds of all processors that a round takes, the fewest of some: other programs count
    for little.
    """
    took = []
    for _ in range(ROUNDS):
        began = time.process_time()
        work()
        took.append((time.process_time() - began) * 1_000)
    return min(took)


def measure_page(**address: str) -> float:
    """The same for the page, opened from another one in a new session."""
    took = []
    for _ in range(ROUNDS):
        app = open_app(**address)
        took.append(measure_once(app))
    return min(took)


def measure_once(app: AppTest) -> float:
    app.switch_page(str(ROOT / "pages/runs.py"))
    began = time.process_time()
    app.run()
    return (time.process_time() - began) * 1_000


def open_app(**address: str) -> AppTest:
    """The app at another page."""
    router = str(ROOT / "agentkit/ui/shell/router.py")
    app = AppTest.from_file(router, default_timeout=600).run()
    for key, value in address.items():
        app.query_params[key] = value
    return app


def open_page(**address: str) -> AppTest:
    """The page, drawn once."""
    return open_app(**address).switch_page(str(ROOT / "pages/runs.py")).run()


def tell(what: str, milliseconds: float) -> None:
    print(f"{what:48}{milliseconds:9.0f} ms")


def measure_list(ledger: Ledger) -> None:
    filters = {
        "all": RunFilter(OWNER),
        "failed": RunFilter(OWNER, states=["failed"]),
        "of a team": RunFilter(OWNER, teams=["group"]),
        "that called a model": RunFilter(OWNER, models=["big"]),
        "with a document": RunFilter(OWNER, document_id="document-7"),
        "with two words": RunFilter(OWNER, words="kettle warranty"),
    }
    for name, chosen in filters.items():
        for sort in get_args(RunSort) if name == "all" else ("newest",):
            took = measure(partial(run_list.list_runs, ledger, chosen, sort))
            tell(f"ledger: 50 runs {name}, {sort}", took)
    tell("page: the first one", measure_page())
    app = open_page()
    states = iter(["failed", "stopped", "finished"] * ROUNDS)
    tell("page: another state", measure(lambda: set_state(app, next(states))))
    words = iter(WORDS)
    tell("page: another word", measure(lambda: set_words(app, next(words))))


def set_words(app: AppTest, text: str) -> None:
    app.text_input(key="runs-q").set_value(text).run()


def set_state(app: AppTest, name: str) -> None:
    app.multiselect(key="runs-state").set_value([name]).run()


def measure_trace(ledger: Ledger) -> None:
    read = partial(queries.events, ledger, OWNER, "long", with_requests=False)
    stored = read()
    tell(f"{len(stored):,} events read", measure(read))
    tell("made into spans", measure(partial(build_trace, stored)))
    tell("page: the trace, opened anew", measure_page(run="long"))
    app = open_page(run="long")
    steps = iter(range(2, 4_000, 5))
    tell("page: another step of it", measure(lambda: open_step(app, next(steps))))
    stepping = Stepping.through(stored)
    tell(
        "stepped through: the steps at its end",
        measure(partial(stepping.at, len(stepping.moments))),
    )
    app.toggle(key="stepping-on-long").set_value(True).run()
    moments = iter(range(len(stepping.moments), 0, -1))
    tell("page: one moment on near its end", measure(lambda: go_to(app, next(moments))))
    find = partial(run_list.find_events, ledger, OWNER, "long", "kettle")
    tell("a text found in it", measure(find))


def go_to(app: AppTest, moment: int) -> None:
    app.slider(key="stepping-at-long").set_value(moment).run()


def open_step(app: AppTest, seq: int) -> None:
    app.query_params["step"] = str(seq)
    app.run()


def main() -> None:
    parser = argparse.ArgumentParser(description="Milliseconds that the Runs page takes.")
    parser.add_argument("--folder", type=Path, help="where the data is made, and stays")
    folder = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as temporary:
        data = folder or Path(temporary)
        workspace = Workspace(Settings(data=data, owner=OWNER), FakeEmbedder())
        state.use(workspace)
        ledger = workspace.ledger
        if not run_list.count(ledger, RunFilter(OWNER)):
            fill_runs(ledger)
            fill_trace(ledger)
        print(f"{platform.processor() or platform.machine()}, {platform.python_version()}")
        measure_list(ledger)
        measure_trace(ledger)
        state.close()


if __name__ == "__main__":
    main()
