"""How often the offline model answers rightly: `python -m tests.bench.bench_offline [--wrong]`.

`offline/questions.json` has the 232 questions to which the weights are fitted, 70 of them without
an answer in any document, and 50 new ones, 16 without, which had no part in that. Each one that
has an answer is written down with the words that have to stand in a reply, the document, and the
passages of it that answer. The documents are the samples, those in `offline/documents`, and the
first 60 abstracts of the Cranfield collection, where it lies beside the project.

Search and embeddings are real. A reply is right that quotes the words and cites a passage, or that
is UPDATE CONTEXT where nothing answers. It takes about a minute.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from agentkit.database import Database
from agentkit.llm.calls.client import call
from agentkit.llm.connections.config import offline_model
from agentkit.llm.model import Model
from agentkit.llm.offline.extractive import UPDATE_CONTEXT
from agentkit.llm.offline.passages import Passage, format_passages
from agentkit.messages import message
from agentkit.retrieval import Library, MiniLMEmbedder, sources_from_paths
from agentkit.retrieval.embedding.embed import InProcess
from agentkit.settings import Settings
from agentkit.teams.citing import to_passages

FOLDER = Path(__file__).with_name("offline")
ROOT = Path(__file__).parents[2]
CRANFIELD = ROOT.parent / "shared" / "datasets" / "cranfield" / "corpus.jsonl"
ABSTRACTS = 60
SETS = ("fitted", "new")
TOP_K = 8
INSTRUCTION = f"Answer from the passages, or reply `{UPDATE_CONTEXT}` where none answers."
BEFORE = {
    ("fitted", "meaning"): "145 of 162 right, 66 of 70 refused",
    ("new", "meaning"): "29 of 34 right, 15 of 16 refused",
    ("fitted", "words"): "131 of 162 right, 59 of 70 refused",
    ("new", "words"): "27 of 34 right, 13 of 16 refused",
}
"""The model before, with 44 weights set by hand, on the same questions."""

Vector = npt.NDArray[np.float32]
Verdict = Literal["right", "refused", "wrong"]


@dataclass(frozen=True)
class Item:
    """A question; without an `answer` no document has one."""

    question: str
    answer: tuple[str, ...]
    """Words that stand in a right reply, all of them."""
    document: str
    passages: tuple[str, ...]
    """What answers, as the document has it."""
    collection: str


@dataclass(frozen=True)
class Outcome:
    """What became of the questions of one set."""

    answered: Counter[Verdict]
    unanswerable: Counter[Verdict]
    """Here to refuse is right."""
    misses: list[str]

    @property
    def right_share(self) -> float:
        """Of the questions that have an answer."""
        return self.answered["right"] / self.answered.total()

    @property
    def refused_share(self) -> float:
        """Of the questions that have none."""
        return self.unanswerable["right"] / self.unanswerable.total()


class Remembering(InProcess):
    """The real embedder, which embeds each text once: the questions share their sentences."""

    def __init__(self) -> None:
        self._embedder = MiniLMEmbedder()
        self._vectors: dict[str, Vector] = {}
        self.name, self.dimension = self._embedder.name, self._embedder.dimension
        self.max_tokens = self._embedder.max_tokens

    def embed(self, texts: Sequence[str]) -> Vector:
        new = list({text for text in texts if text not in self._vectors})
        self._vectors.update(zip(new, self._embedder.embed(new), strict=True))
        return np.stack([self._vectors[text] for text in texts])

    def offsets(self, text: str) -> list[tuple[int, int]]:
        return self._embedder.offsets(text)


def items(name: str) -> list[Item]:
    """The questions of one set; those about abstracts only where these are there."""
    read = json.loads((FOLDER / "questions.json").read_text(encoding="utf-8"))[name]
    made = [
        Item(
            one["question"],
            tuple(one.get("answer", ())),
            one.get("document", ""),
            tuple(one.get("passages", ())),
            one.get("of", "documents"),
        )
        for one in read
    ]
    return [one for one in made if one.collection == "documents" or CRANFIELD.exists()]


@contextmanager
def library(folder: Path) -> Iterator[Library]:
    """The documents in two collections of a new library in `folder`."""
    settings = Settings(data=folder / "data")
    database = Database(settings.data / "agentkit.duckdb")
    opened = Library(database, settings, Remembering())
    abstracts = folder / "abstracts"
    abstracts.mkdir()
    if CRANFIELD.exists():
        _write_abstracts(abstracts)
    sources = {
        "documents": [Settings().samples, FOLDER / "documents"],
        "abstracts": [abstracts],
    }
    for name, paths in sources.items():
        opened.create_collection("me", name)
        opened.ingest("me", name, sources_from_paths(paths))
    yield opened
    opened.close()
    database.close()


def _write_abstracts(folder: Path) -> None:
    """They come in small letters with blanks before the stops; here they get sentences."""
    lines = CRANFIELD.read_text(encoding="utf-8").splitlines()[:ABSTRACTS]
    for one in map(json.loads, lines):
        parts = [part.strip(" .") for part in re.split(r" \.(?=\s|$)", one["text"])]
        text = " ".join(f"{part[:1].upper()}{part[1:]}." for part in parts if part)
        (folder / f"abstract-{one['_id']}.txt").write_text(text, encoding="utf-8")


def found(opened: Library, item: Item) -> list[Passage]:
    """The passages that a chat would give to the model."""
    return to_passages(opened.retrieve("me", item.collection, item.question, top_k=TOP_K))


def judge(item: Item, said: str) -> Verdict:
    """What a reply is worth."""
    if said == UPDATE_CONTEXT:
        return "refused" if item.answer else "right"
    cites = re.search(r"\[\d+\]", said) is not None
    has_all = cites and all(part.lower() in said.lower() for part in item.answer)
    return "right" if item.answer and has_all else "wrong"


def outcome(model: Model, asked: Sequence[tuple[Item, Sequence[Passage]]]) -> Outcome:
    """Ask each question with its passages."""
    made = Outcome(Counter(), Counter(), [])
    for item, given in asked:
        system = message("system", f"{INSTRUCTION}\n{format_passages(given)}")
        said = call(model, [system, message("user", item.question)]).text
        verdict = judge(item, said)
        (made.answered if item.answer else made.unanswerable)[verdict] += 1
        if verdict != "right":
            made.misses.append(f"{verdict}: {item.question} -> {' '.join(said.split())[:120]}")
    return made


def show(name: str, how: str, made: Outcome, spent: float, misses: bool) -> None:
    """One set by one way of comparing."""
    asked = made.answered.total() + made.unanswerable.total()
    answered, without = made.answered, made.unanswerable
    print(f"\n{name} questions, by {how}: {spent * 1e3 / asked:.0f} ms of the processor each")
    print(f"  with an answer ({answered.total()}): {answered['right']} right,", end=" ")
    print(f"{answered['refused']} refused, {answered['wrong']} wrong")
    print(f"  without ({without.total()}): {without['right']} refused, {without['wrong']} wrong")
    print(f"  the model before: {BEFORE[name, how]}")
    for miss in made.misses if misses else ():
        print(f"  {miss}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--wrong", action="store_true", help="show the replies that are not right")
    misses = parser.parse_args().wrong
    if not CRANFIELD.exists():
        print("The Cranfield collection is not there: its questions are left out.")
    with tempfile.TemporaryDirectory() as folder, library(Path(folder)) as opened:
        asked = {name: [(one, found(opened, one)) for one in items(name)] for name in SETS}
        ways: dict[str, Callable[[str, Sequence[str]], Sequence[float]] | None]
        ways = {"meaning": opened.similarity, "words": None}
        for how, similarity in ways.items():
            for name in SETS:
                begun = time.process_time()
                made = outcome(offline_model(similarity), asked[name])
                show(name, how, made, time.process_time() - begun, misses)


if __name__ == "__main__":
    main()
