"""How long a search takes as the app calls it: `python -m tests.bench.bench_lookup [--chunks N]`,
on a busy machine behind `setsid -w`, as root (see `preferred`).

`retrieve()` by meaning and words, the question's embedding by the packaged model included, over
50,000 chunks as `bench_index.py` makes them: how long one takes, wall time and processor time; how
many more four threads do than one; and the longest wait while chunks are added, also without the
time for which the searching thread itself waited for a processor. For each made-up question the
model computes one of the sample questions; the vector that is searched for is one of the chunks'
world.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from agentkit.retrieval import MiniLMEmbedder
from tests.bench.bench_index import (
    NAME,
    OWNER,
    QUERIES,
    ROOT,
    Given,
    Ours,
    questions,
    seconds,
    texts,
    vectors,
)
from tests.bench.preferred import preferred, waited_ms

ROUNDS, THREADS, MORE = 5, 4, 5_000


class Computed(Given):
    """Lets the packaged model compute a sample question for each text, and hands out the vector
    that is known for the text.
    """

    computes = False

    def __init__(self) -> None:
        super().__init__()
        self.model = MiniLMEmbedder()
        self.model.warm()
        samples = json.loads((ROOT / "data" / "sample-questions.json").read_text(encoding="utf-8"))
        self.samples = itertools.cycle([one["question"] for one in samples])

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        if self.computes:
            self.model.embed([next(self.samples) for _ in texts])
        return super().embed(texts)

    def offsets(self, text: str) -> list[tuple[int, int]]:
        return self.model.offsets(text) if self.computes else []


def filled(count: int, folder: Path) -> tuple[Ours, list[str]]:
    """A collection of so many chunks, and the questions."""
    embedder, contents, asked = Computed(), texts(count, 1), questions(QUERIES)
    embedder.known.update(zip(contents, vectors(count, 1), strict=True))
    embedder.known.update(zip(asked, vectors(QUERIES, 3), strict=True))
    ours = Ours(folder, embedder)
    ours.library.create_collection(OWNER, NAME)
    ours.add(1, contents)
    embedder.computes = True
    return ours, asked


def milliseconds(
    clock: Callable[[], float], work: Callable[[str], Any], asked: Sequence[str]
) -> list[float]:
    """What each call of `work` takes by the clock."""
    took = []
    for text in asked:
        began = clock()
        work(text)
        took.append((clock() - began) * 1000)
    return took


def rate(work: Callable[[str], Any], asked: Sequence[str], threads: int) -> float:
    """Searches a second of so many threads that share the questions."""
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, asked[:threads]))
        with preferred():
            return len(asked) / seconds(lambda: list(pool.map(work, asked)))


def wait_meanwhile(
    ours: Ours, work: Callable[[str], Any], asked: Sequence[str]
) -> tuple[list[float], list[float]]:
    """Milliseconds of the searches while more chunks are added, and those that each waited for a
    processor.
    """
    assert isinstance(ours.embedder, Computed)
    ours.embedder.known.update(zip(texts(MORE, 2), vectors(MORE, 2), strict=True))
    ours.embedder.computes = False  # for the chunks; the questions' time is known by then
    adding = threading.Thread(target=ours.add, args=(2, texts(MORE, 2)))
    took: list[float] = []
    waited: list[float] = []
    with preferred():
        adding.start()
        while adding.is_alive():
            before = waited_ms()
            took += milliseconds(time.perf_counter, work, [asked[len(took) % len(asked)]])
            waited.append(waited_ms() - before)
        adding.join()
    return took, waited


def main(count: int) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        ours, asked = filled(count, Path(temporary))

        def work(text: str) -> None:
            assert len(ours.library.retrieve(OWNER, NAME, text, top_k=10, mode="hybrid")) == 10

        for text in asked[:20]:
            work(text)
        for name, clock in (("wall", time.perf_counter), ("processor", time.process_time)):
            rounds = [milliseconds(clock, work, asked) for _ in range(ROUNDS)]
            p50, p95 = (
                statistics.median(np.percentile(one, share) for one in rounds) for share in (50, 95)
            )
            print(f"retrieve(), hybrid, {name:9} time: p50 {p50:6.2f} ms, p95 {p95:6.2f} ms")
        some = asked[:60]
        gains = [rate(work, some, THREADS) / rate(work, some, 1) for _ in range(ROUNDS)]
        print(
            f"{THREADS} threads against one: {statistics.median(gains):.2f} times as many searches"
            f" ({min(gains):.2f} to {max(gains):.2f})"
        )
        took, waited = wait_meanwhile(ours, work, asked)
        itself = np.subtract(took, waited)
        p50, longest = np.percentile(itself, 50), itself.max()
        print(
            f"while {MORE:,} chunks are added, {len(took):,} searches without the embedding:"
            f" p50 {np.percentile(took, 50):.2f} ms, longest {max(took):.1f} ms; without"
            f" waiting for a processor p50 {p50:.2f}, longest {longest:.1f} ms"
        )
        ours.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--chunks", type=int, default=50_000)
    main(parser.parse_args().chunks)
