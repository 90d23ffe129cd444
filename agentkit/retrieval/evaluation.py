"""How well retrieval finds what people judged relevant, on a folder in BEIR's layout that is taken in and searched as usual.

`corpus.jsonl` has `_id`, `title` and `text`, `queries.jsonl` has `_id` and `text`, `qrels.tsv` (or `qrels/test.tsv`) has
query-id, corpus-id and score. A document's score is that of its best chunk.
"""

from __future__ import annotations

import json
import math
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from agentkit.database import Database
from agentkit.documents import DocumentText, Section, split
from agentkit.errors import ConfigError
from agentkit.messages import new_id
from agentkit.retrieval.embed import Embedder
from agentkit.retrieval.ingest import GroupWriter
from agentkit.retrieval.intake import Ready
from agentkit.retrieval.library import Library
from agentkit.retrieval.types import IndexVersion, Mode, StoredDocument
from agentkit.settings import Settings

Judgements = dict[str, dict[str, int]]
_OWNER = _COLLECTION = "evaluation"
_DEPTH = 100
_CHUNKS = 300
"""Chunks asked for, so that they are of 100 documents as a rule."""
_GROUP = 64


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Means over the queries that have judgements; `query_seconds` is the mean time of one."""

    mode: str
    ndcg_10: float
    recall_10: float
    recall_100: float
    mrr_10: float
    query_seconds: float
    queries: int
    documents: int


def evaluate(directory: Path, embedder: Embedder, mode: Mode = "hybrid") -> Evaluation:
    """Measure one mode; raises ConfigError when the folder is not in BEIR's layout."""
    return evaluate_modes(directory, embedder, [mode])[mode]


def evaluate_modes(directory: Path, embedder: Embedder, modes: Sequence[Mode]) -> dict[str, Evaluation]:
    """Measure several modes over one build of the collection, in a temporary folder."""
    directory = Path(directory)
    queries = {line["_id"]: line["text"] for line in _lines(directory / "queries.jsonl")}
    judged = {
        query: relevant for query, relevant in _judgements(directory).items() if query in queries and any(relevant.values())
    }
    if not judged:
        raise ConfigError(f"{directory} has no query with a relevant document; qrels.tsv must name ids of queries.jsonl.")
    with tempfile.TemporaryDirectory(prefix="agentkit-eval-") as folder:
        settings = Settings(data=Path(folder))
        database = Database(settings.data / "agentkit.duckdb")
        library = Library(database, settings, embedder)
        try:
            count = _take_in(library, _lines(directory / "corpus.jsonl"))
            asked = {query: queries[query] for query in judged}
            return {mode: _measure(library, mode, asked, judged, count) for mode in modes}
        finally:
            library.close()
            database.close()


def _take_in(library: Library, corpus: Iterator[dict[str, Any]]) -> int:
    """Split, embed, store and index the documents as an ingest does; those without text are left out."""
    collection = library.create_collection(_OWNER, _COLLECTION)
    version = library.store.version(collection.id)
    writer = GroupWriter(library.store, library.indexes, library.embedder, version, threading.Lock())
    texts = (line for line in corpus if line.get("text", "").strip())
    count = 0
    while group := [_ready(library, version, line) for line in islice(texts, _GROUP)]:
        with library.store.database.transaction():
            library.store.register(version, [ready.document for ready in group], [])
        count += len(writer.write(group))
    writer.settle()
    return count


def _ready(library: Library, version: IndexVersion, line: Mapping[str, Any]) -> Ready:
    text, title = line["text"], line.get("title", "")
    read = DocumentText(text, (Section(text, 0, len(text)),), "text/plain", title, None)
    document = StoredDocument(
        new_id(), version.collection_id, line["_id"], f"memory:{line['_id']}", "", len(text), read.media_type, title=title
    )
    return Ready(document, text, split(read, library.embedder, version.max_tokens), time.perf_counter())


def _measure(library: Library, mode: Mode, queries: Mapping[str, str], judged: Judgements, documents: int) -> Evaluation:
    sums = dict.fromkeys(("ndcg_10", "recall_10", "recall_100", "mrr_10"), 0.0)
    started = time.perf_counter()
    for query, text in queries.items():
        hits = library.retrieve(_OWNER, _COLLECTION, text, top_k=_CHUNKS, mode=mode)
        ranking = list(dict.fromkeys(hit.document for hit in hits))[:_DEPTH]
        for name, value in scores(ranking, judged[query]).items():
            sums[name] += value
    query_seconds = (time.perf_counter() - started) / len(queries)
    means = {name: value / len(queries) for name, value in sums.items()}
    return Evaluation(mode, query_seconds=query_seconds, queries=len(queries), documents=documents, **means)


def scores(ranking: Sequence[str], relevant: Mapping[str, int]) -> dict[str, float]:
    """nDCG@10, recall@10, recall@100 and MRR@10 of one ranking, best first; `relevant` gives each document's grade."""
    gains = [max(0, relevant.get(document, 0)) for document in ranking]
    wanted = sum(grade > 0 for grade in relevant.values())
    best = _discounted(sorted((grade for grade in relevant.values() if grade > 0), reverse=True)[:10])
    first = next((place for place, gain in enumerate(gains[:10], start=1) if gain > 0), None)
    return {
        "ndcg_10": _discounted(gains[:10]) / best,
        "recall_10": sum(gain > 0 for gain in gains[:10]) / wanted,
        "recall_100": sum(gain > 0 for gain in gains[:100]) / wanted,
        "mrr_10": 1 / first if first else 0.0,
    }


def _discounted(gains: Iterable[int]) -> float:
    return sum(gain / math.log2(place + 1) for place, gain in enumerate(gains, start=1))


def _judgements(directory: Path) -> Judgements:
    path = next(
        (path for path in (directory / "qrels.tsv", directory / "qrels" / "test.tsv") if path.is_file()), directory / "qrels.tsv"
    )
    found: Judgements = {}
    for number, line in enumerate(_read(path), start=1):
        fields = line.split("\t")
        if number == 1 and not fields[-1].lstrip("-").isdigit():
            continue
        if len(fields) != 3 or not fields[2].lstrip("-").isdigit():
            raise ConfigError(f"{path} line {number} is {line!r}; it must be query-id, corpus-id and score between tabs.")
        found.setdefault(fields[0], {})[fields[1]] = int(fields[2])
    return found


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(_read(path), start=1):
        try:
            value = json.loads(line)
            value["_id"], value["text"]
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigError(f"{path} line {number} is not a JSON object with _id and text ({error}).") from error
        yield value


def _read(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8") as opened:
            yield from (line.rstrip("\n") for line in opened if line.strip())
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read ({error.strerror}); the folder must have corpus.jsonl, queries.jsonl, qrels.tsv."
        ) from error
