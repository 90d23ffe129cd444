"""Chroma's client that keeps what it has on the disk."""

from __future__ import annotations

import importlib
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from tests.bench.peers.worker import ADDED, BATCH, Work, read, row, serve


def make(data: Path, folder: Path) -> dict[str, Work]:
    library, numbers = importlib.import_module("chromadb"), count()
    base, queries = np.load(data / "vectors.npy"), np.load(data / "queries.npy")
    texts = read(data, "texts")

    def holding(some: int) -> Any:
        client = library.PersistentClient(str(folder / str(next(numbers))))
        made = client.create_collection(
            "bench", metadata={"hnsw:space": "cosine"}, embedding_function=None
        )
        for start in range(0, some, BATCH):
            part = slice(start, min(some, start + BATCH))
            ids = [str(number) for number in range(some)[part]]
            made.add(ids=ids, embeddings=base[part], documents=texts[part])
        return made

    @cache
    def filled() -> Any:
        return holding(len(texts))

    def ask(collection: Any, query: np.ndarray) -> list[int]:
        found = collection.query(query_embeddings=[query], n_results=10, include=["documents"])
        return [row(text) for text in found["documents"][0]]

    def add() -> None:
        ask(holding(ADDED), queries[0])

    return {"add": add, "dense": lambda: [ask(filled(), query) for query in queries]}


if __name__ == "__main__":
    serve("chromadb", make)
