"""A library over a temporary data folder, with the embedder that needs no model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentkit.database import Database
from agentkit.retrieval import FakeEmbedder, Library, MiniLMEmbedder, Source
from agentkit.settings import Settings
from tests.conftest import MODELS

OWNER = "ann"


class Shelf:
    """A data folder whose library can be closed and opened again, and a folder to write sources
    into.
    """

    def __init__(self, folder: Path) -> None:
        self.settings = Settings(data=folder / "data", max_file_mb=1, allow_private_urls=True)
        self.files = folder / "files"
        self.files.mkdir(parents=True, exist_ok=True)
        self.open()

    def open(self) -> Library:
        self.database = Database(self.settings.data / "agentkit.duckdb")
        self.library = Library(self.database, self.settings, FakeEmbedder())
        return self.library

    def close(self) -> None:
        self.library.close()
        self.database.close()

    def reopen(self) -> Library:
        self.close()
        return self.open()

    def source(self, name: str, text: str) -> Source:
        path = self.files / name
        path.write_text(text, encoding="utf-8")
        return Source(name, path, f"upload:{name}")

    def texts(self, query: str, owner: str = OWNER, collection: str = "Docs") -> list[str]:
        return [hit.text for hit in self.library.retrieve(owner, collection, query)]


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    made = Shelf(tmp_path)
    yield made
    made.close()


@pytest.fixture(scope="session")
def minilm() -> MiniLMEmbedder:
    embedder = MiniLMEmbedder(MODELS)
    embedder.warm()
    return embedder


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Shelf]:
    """A library on another machine."""
    made = Shelf(tmp_path / "elsewhere")
    yield made
    made.close()


def cut(file: Path, size: int) -> None:
    """Leave the beginning of a file, as a new one: to read on in a mapped one that ends earlier
    would end the process.
    """
    beginning = file.read_bytes()[:size]
    file.unlink()
    file.write_bytes(beginning)
