"""A collection of ours: adding chunks with vectors, and finding them by meaning or by words."""

from __future__ import annotations

from functools import cache
from itertools import count
from pathlib import Path

import numpy as np

from tests.bench.bench_index import NAME, OWNER, Given, Ours
from tests.bench.peers.worker import ADDED, Work, read, serve


def make(data: Path, folder: Path) -> dict[str, Work]:
    contents, asked, numbers = read(data, "texts"), read(data, "asked"), count()
    embedder = Given()
    embedder.known.update(zip(contents, np.load(data / "vectors.npy"), strict=True))
    embedder.known.update(zip(asked, np.load(data / "queries.npy"), strict=True))

    def opened() -> Ours:
        ours = Ours(folder / str(next(numbers)), embedder)
        ours.library.create_collection(OWNER, NAME)
        return ours

    @cache
    def filled() -> Ours:
        ours = opened()
        ours.add(1, contents)
        return ours

    def add() -> None:
        ours = opened()
        ours.add(1, contents[:ADDED])
        ours.query(asked[0], "hybrid")
        ours.close()

    def find(mode: str) -> list[list[int]]:
        return [filled().query(text, mode) for text in asked]

    return {"add": add, "dense": lambda: find("dense"), "lexical": lambda: find("lexical")}


if __name__ == "__main__":
    serve("", make)
