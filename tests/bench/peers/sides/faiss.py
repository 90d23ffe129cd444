"""FAISS with the texts in a list beside it, both written to files when all is added: `graph` or
`flat`, which compares with all.
"""

from __future__ import annotations

import importlib
import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tests.bench.peers.worker import ADDED, Work, read, row, serve

LINKS, EFFORT_BUILD, EFFORT = 16, 100, 64
"""M and efConstruction as ours; efSearch such that it finds about as many of the nearest."""


def make(data: Path, folder: Path) -> dict[str, Work]:
    library = importlib.import_module("faiss")
    base, queries = np.load(data / "vectors.npy"), np.load(data / "queries.npy")
    texts = read(data, "texts")

    def empty() -> Any:
        if sys.argv[2] == "flat":
            return library.IndexFlatIP(base.shape[1])
        index = library.IndexHNSWFlat(base.shape[1], LINKS, library.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction, index.hnsw.efSearch = EFFORT_BUILD, EFFORT
        return index

    @cache
    def filled() -> Any:
        index = empty()
        index.add(base)
        return index

    def ask(index: Any, query: np.ndarray) -> list[int]:
        _, found = index.search(query[None], 10)
        return [row(texts[number]) for number in found[0].tolist()]

    def add() -> None:
        index = empty()
        index.add(base[:ADDED])
        library.write_index(index, str(folder / "index"))
        (folder / "texts.json").write_text(json.dumps(texts[:ADDED]), encoding="utf-8")
        ask(index, queries[0])

    return {"add": add, "dense": lambda: [ask(filled(), query) for query in queries]}


if __name__ == "__main__":
    serve("faiss-cpu", make)
