"""Qdrant's client without a server. Chunks are added to a folder; for searching they are in memory,
as a folder is read into the same arrays, but takes 10 ms a chunk to fill.
"""

from __future__ import annotations

import importlib
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from tests.bench.peers.worker import ADDED, Work, read, row, serve


def make(data: Path, folder: Path) -> dict[str, Work]:
    library, numbers = importlib.import_module("qdrant_client"), count()
    models = library.models
    base, queries = np.load(data / "vectors.npy"), np.load(data / "queries.npy")
    texts = read(data, "texts")

    def holding(client: Any, some: int) -> Any:
        form = models.VectorParams(size=base.shape[1], distance=models.Distance.COSINE)
        client.create_collection("bench", vectors_config=form)
        told = [{"text": text} for text in texts[:some]]
        client.upload_collection("bench", vectors=base[:some], payload=told, ids=range(some))
        return client

    @cache
    def filled() -> Any:
        return holding(library.QdrantClient(":memory:"), len(texts))

    def ask(client: Any, query: np.ndarray) -> list[int]:
        found = client.query_points("bench", query=query, limit=10, with_payload=True)
        return [row(one.payload["text"]) for one in found.points]

    def add() -> None:
        client = holding(library.QdrantClient(path=str(folder / str(next(numbers)))), ADDED)
        ask(client, queries[0])
        client.close()

    return {"add": add, "dense": lambda: [ask(filled(), query) for query in queries]}


if __name__ == "__main__":
    serve("qdrant-client", make)
