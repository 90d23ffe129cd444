"""Our packaged embedder."""

from __future__ import annotations

from pathlib import Path

from agentkit.retrieval import MiniLMEmbedder
from tests.bench.peers.worker import Work, read, serve


def make(data: Path, _folder: Path) -> dict[str, Work]:
    passages, embedder = read(data, "passages"), MiniLMEmbedder()
    return {"embed": lambda: embedder.embed(passages).tolist()}


if __name__ == "__main__":
    serve("", make)
