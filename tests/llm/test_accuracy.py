"""How often the offline model quotes the right sentence, and says so when there is none; retrieval and embeddings are real."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from agentkit.database import Database
from agentkit.llm.calls.client import call
from agentkit.llm.connections.config import offline_model
from agentkit.llm.model import Model
from agentkit.llm.offline.passages import format_passages
from agentkit.messages import message
from agentkit.retrieval import Library, MiniLMEmbedder, sources_from_paths
from agentkit.retrieval.embedding.embed import InProcess
from agentkit.settings import Settings
from agentkit.teams.task import passages

Vector = npt.NDArray[np.float32]
SAMPLES = Settings().samples
OWN = Path(__file__).parent / "data" / "questions.json"


@dataclass
class Shares:
    """Answers that are right, of questions with and without one in the documents."""

    answered: float
    refused: float
    wrong: list[str]


class Remembering(InProcess):
    """The real embedder, which embeds each text once: the questions share most of their sentences."""

    def __init__(self) -> None:
        self._embedder = MiniLMEmbedder()
        self._vectors: dict[str, Vector] = {}
        self.name, self.dimension, self.max_tokens = self._embedder.name, self._embedder.dimension, self._embedder.max_tokens

    def embed(self, texts: Sequence[str]) -> Vector:
        new = list({text for text in texts if text not in self._vectors})
        self._vectors.update(zip(new, self._embedder.embed(new), strict=True))
        return np.stack([self._vectors[text] for text in texts])

    def offsets(self, text: str) -> list[tuple[int, int]]:
        return self._embedder.offsets(text)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    folder = tmp_path_factory.mktemp("accuracy")
    texts = json.loads(OWN.read_text(encoding="utf-8"))["documents"]
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    settings = Settings(data=folder / "data")
    database = Database(settings.data / "agentkit.duckdb")
    opened = Library(database, settings, Remembering())
    opened.create_collection("me", "all")
    opened.ingest("me", "all", sources_from_paths([SAMPLES, *(folder / name for name in texts)]))
    yield opened
    opened.close()
    database.close()


def measure(library: Library, model: Model, questions: list[tuple[str, list[str]]]) -> Shares:
    right: dict[bool, list[bool]] = {True: [], False: []}
    wrong: list[str] = []
    for question, wanted in questions:
        found = passages(library.retrieve("me", "all", question, top_k=8))
        said = call(model, [message("system", format_passages(found)), message("user", question)]).text
        cited = re.search(r"\[\d+\]", said) is not None
        good = cited and all(part.lower() in said.lower() for part in wanted) if wanted else not cited
        right[bool(wanted)].append(good)
        if not good:
            wrong.append(f"{question} -> {said[:160]}")
    return Shares(sum(right[True]) / len(right[True]), sum(right[False]) / len(right[False]), wrong)


def sample_questions() -> list[tuple[str, list[str]]]:
    items: list[dict[str, Any]] = json.loads(SAMPLES.with_name("sample-questions.json").read_text(encoding="utf-8"))
    return [(item["question"], item["answer_contains"]) for item in items]


def own_questions() -> list[tuple[str, list[str]]]:
    return [(question, wanted or []) for question, wanted in json.loads(OWN.read_text(encoding="utf-8"))["questions"]]


def test_on_the_samples(library: Library) -> None:
    shares = measure(library, offline_model(library.similarity), sample_questions())
    assert shares.answered >= 0.9, shares
    assert shares.refused >= 0.9, shares


def test_on_letters_manuals_and_minutes(library: Library) -> None:
    shares = measure(library, offline_model(library.similarity), own_questions())
    assert shares.answered >= 0.82, shares
    assert shares.refused >= 0.9, shares


def test_by_words_alone(library: Library) -> None:
    shares = measure(library, offline_model(), own_questions())
    assert shares.answered >= 0.7, shares
    assert shares.refused >= 0.83, shares
