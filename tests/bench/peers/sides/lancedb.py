"""LanceDB in a folder, without an index, as its manual has it for few rows."""

from __future__ import annotations

import importlib
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from tests.bench.peers.worker import ADDED, BATCH, Work, read, row, serve


def make(data: Path, folder: Path) -> dict[str, Work]:
    database = importlib.import_module("lancedb").connect(str(folder))
    arrow, numbers = importlib.import_module("pyarrow"), count()
    base, queries = np.load(data / "vectors.npy"), np.load(data / "queries.npy")
    texts = read(data, "texts")

    def rows(part: slice) -> Any:
        flat = arrow.array(base[part].ravel())
        lists = arrow.FixedSizeListArray.from_arrays(flat, base.shape[1])
        return arrow.table({"text": texts[part], "vector": lists})

    def holding(some: int) -> Any:
        table = database.create_table(str(next(numbers)), rows(slice(min(some, BATCH))))
        for start in range(BATCH, some, BATCH):
            table.add(rows(slice(start, min(some, start + BATCH))))
        return table

    @cache
    def filled() -> Any:
        return holding(len(texts))

    def ask(table: Any, query: np.ndarray) -> list[int]:
        found = table.search(query).distance_type("cosine").limit(10).select(["text", "_distance"])
        return [row(one["text"]) for one in found.to_list()]

    def add() -> None:
        ask(holding(ADDED), queries[0])

    return {"add": add, "dense": lambda: [ask(filled(), query) for query in queries]}


if __name__ == "__main__":
    serve("lancedb", make)
