"""How well retrieval finds what people judged relevant: the figures, and trials through the same
`retrieve` as the chat.

Each question of a trial is asked twice. Once exactly as a chat would: that gives the hit rate and
the times. Then once more as deep as recall@100 needs, all other options the same: that gives the
figures by document. A document's rank is that of its best passage; a document that was left out as
a near-duplicate of a passage ranks right behind it.
"""

from __future__ import annotations

import contextvars
import math
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, quantiles

from agentkit.core import bus, stopping
from agentkit.database import Database
from agentkit.events import Event, Retrieved
from agentkit.retrieval.embedding.embed import Embedder
from agentkit.retrieval.evaluation.beir import Dataset, take_in
from agentkit.retrieval.library import Library
from agentkit.retrieval.options import SearchOptions
from agentkit.retrieval.store.questions import Question, QuestionResult
from agentkit.retrieval.types import Hit, Mode
from agentkit.settings import Settings

DEPTH = 100
"""Passages, at least, whose documents are ranked."""
METRICS = ("ndcg_10", "recall_1", "recall_5", "recall_10", "recall_100", "mrr_10")
_RECALLS = (1, 5, 10, 100)
_OWNER = _COLLECTION = "evaluation"


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


def evaluate_modes(
    directory: Path, embedder: Embedder, modes: Sequence[Mode]
) -> dict[str, Evaluation]:
    """Measure several modes over one build of the collection, in a temporary folder."""
    dataset = Dataset(directory)
    questions = dataset.questions()
    with tempfile.TemporaryDirectory(prefix="agentkit-eval-") as folder:
        settings = Settings(data=Path(folder))
        database = Database(settings.database)
        library = Library(database, settings, embedder)
        try:
            library.create_collection(_OWNER, _COLLECTION)
            count = take_in(library, _OWNER, _COLLECTION, dataset.corpus())
            return {mode: _evaluate_mode(library, mode, questions, count) for mode in modes}
        finally:
            library.close()
            database.close()


def _evaluate_mode(
    library: Library, mode: Mode, questions: Sequence[Question], documents: int
) -> Evaluation:
    figures, _ = trial(library, _OWNER, _COLLECTION, questions, SearchOptions(mode=mode))
    means = {name: figures[name] for name in ("ndcg_10", "recall_10", "recall_100", "mrr_10")}
    return Evaluation(
        mode, query_seconds=figures["mean_s"], queries=len(questions), documents=documents, **means
    )


def trial(
    library: Library,
    owner: str,
    collection: str,
    questions: Sequence[Question],
    options: SearchOptions,
    version_id: str = "",
) -> tuple[dict[str, float], tuple[QuestionResult, ...]]:
    """The figures of a Measurement and the results by question (there is at least one);
    `version_id` as in `retrieve`.

    Emits a Retrieved without hits for each question, and the calls of the embedder; raises Stopped,
    and what `retrieve` raises.
    """
    sums = dict.fromkeys(METRICS, 0.0)
    results: list[QuestionResult] = []
    run = _Trial(library, owner, collection, version_id, contextvars.copy_context())
    for question in questions:
        stopping.check()
        result, figures = run.ask(question, options)
        results.append(result)
        for name, value in figures.items():
            sums[name] += value
    count = len(questions)
    means = {name: value / count for name, value in sums.items()}
    seconds = [one.seconds for one in results]
    times = {
        "mean_s": fmean(seconds),
        "p50_s": _percentile(seconds, 50),
        "p95_s": _percentile(seconds, 95),
    }
    hit_rate = sum(one.hit for one in results) / count
    return {**means, "hit_rate": hit_rate, **times, "questions": count}, tuple(results)


def scores(ranking: Sequence[str], relevant: Mapping[str, int]) -> dict[str, float]:
    """METRICS of one ranking, best first, each from 0 to 1; `relevant` gives each document's grade,
    one at least above 0.

    A grade is the gain, as in trec_eval, and is discounted by the logarithm of the rank plus one.
    """
    gains = [max(0, relevant.get(document, 0)) for document in ranking]
    grades = [grade for grade in relevant.values() if grade > 0]
    grades.sort(reverse=True)
    best = _discount_gains(grades[:10])
    found = {"ndcg_10": _discount_gains(gains[:10]) / best}
    for depth in _RECALLS:
        hits = sum(gain > 0 for gain in gains[:depth])
        found[f"recall_{depth}"] = hits / len(grades)
    found["mrr_10"] = 0.0
    for place, gain in enumerate(gains[:10], start=1):
        if gain > 0:
            found["mrr_10"] = 1 / place
            break
    return found


def _discount_gains(gains: Iterable[int]) -> float:
    return sum(gain / math.log2(place + 1) for place, gain in enumerate(gains, start=1))


@dataclass(frozen=True, slots=True)
class _Trial:
    """What is asked in a trial; events are emitted in the context that it was made in."""

    library: Library
    owner: str
    collection: str
    version_id: str
    outside: contextvars.Context

    def ask(
        self, question: Question, options: SearchOptions
    ) -> tuple[QuestionResult, dict[str, float]]:
        """The result of a question, and its METRICS."""
        started = time.perf_counter()
        given = self._retrieve(question.text, options)
        seconds = time.perf_counter() - started

        deep = given
        if options.top_k < DEPTH:
            deep = self._retrieve(question.text, replace(options, top_k=DEPTH), is_shown=False)
        ranking = _list_documents(deep)
        figures = scores(ranking, question.expected)
        places = {name: place for place, name in enumerate(ranking, start=1)}
        ranks = {name: places.get(name) for name in question.expected}
        hit = any(name in question.expected for name in _list_documents(given))
        return QuestionResult(question.text, ranks, figures["ndcg_10"], hit, seconds), figures

    def _retrieve(self, text: str, options: SearchOptions, *, is_shown: bool = True) -> list[Hit]:
        """The hits; the Retrieved is passed on if it `is_shown`, and without them: the passages of
        all questions would fill memory and ledger.
        """

        def pass_on(event: Event) -> None:
            if not isinstance(event, Retrieved):
                self.outside.run(bus.emit, event)
            elif is_shown:
                self.outside.run(bus.emit, replace(event, hits=[]))

        def retrieve() -> list[Hit]:
            with bus.listening(pass_on):
                # Figures of another search than the one that is measured would be false.
                return self.library.retrieve(
                    self.owner,
                    self.collection,
                    text,
                    options=options,
                    version_id=self.version_id or None,
                    falls_back=False,
                )

        return contextvars.Context().run(retrieve)


def _list_documents(hits: Sequence[Hit]) -> list[str]:
    """Names of the documents of the hits, each once, the best first."""
    names: list[str] = []
    for hit in hits:
        names += (hit.document, *hit.also_in)
    return list(dict.fromkeys(names))


def _percentile(values: Sequence[float], percent: int) -> float:
    """The value that so many percent of the values do not exceed."""
    if len(values) == 1:
        return values[0]
    return quantiles(values, n=100, method="inclusive")[percent - 1]
