"""What the peers and ours are measured with: made here, and read by each from files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.bench.bench_index import nearest, questions, recall, texts, vectors
from tests.bench.bench_ingest import sample_texts

ASKED, PASSAGES = 50, 32


def write(folder: Path, chunks: int) -> None:
    np.save(folder / "vectors.npy", vectors(chunks, 1))
    np.save(folder / "queries.npy", vectors(ASKED, 3))
    for name, some in (
        ("texts", texts(chunks, 1)),
        ("asked", questions(ASKED)),
        ("passages", sample_texts(PASSAGES)),
    ):
        (folder / f"{name}.json").write_text(json.dumps(some), encoding="utf-8")


def recall_at_ten(folder: Path, found: list[list[int]], _ours: object) -> str:
    """The share of the ten nearest, exactly computed, that were found."""
    right = nearest(np.load(folder / "vectors.npy"), np.load(folder / "queries.npy"))
    return f"{recall(found, right):.3f}"


def shared_with_ours(_folder: Path, found: list[list[int]], ours: list[list[int]]) -> str:
    """The share of our ten that are among theirs."""
    return f"{recall(found, [set(one) for one in ours]):.2f}"


def least_cosine(_folder: Path, found: Sequence[object], ours: Sequence[object]) -> str:
    """Of the same text's vectors, theirs and ours."""
    alike = (np.asarray(found, dtype=float) * np.asarray(ours, dtype=float)).sum(1)
    return f"{alike.min():.5f}"


def number_said(_folder: Path, found: int, _ours: object) -> str:
    """The messages of the chat."""
    return f"{found:,}"
