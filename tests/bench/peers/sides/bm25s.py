"""bm25s with its defaults, and the texts in its memory."""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path
from typing import Any

from tests.bench.peers.worker import Work, read, row, serve


def make(data: Path, _folder: Path) -> dict[str, Work]:
    library = importlib.import_module("bm25s")
    texts, asked = read(data, "texts"), read(data, "asked")

    @cache
    def filled() -> Any:
        index = library.BM25(corpus=texts)
        index.index(library.tokenize(texts, show_progress=False), show_progress=False)
        return index

    def ask(question: str) -> list[int]:
        words = library.tokenize(question, show_progress=False)
        found = filled().retrieve(words, k=10, show_progress=False)
        return [row(str(text)) for text in found.documents[0]]

    return {"lexical": lambda: [ask(question) for question in asked]}


if __name__ == "__main__":
    serve("bm25s", make)
