"""How well passages are found with other weights of fusion: `python -m tests.bench.bench_fusion`.

nDCG@10 on the Cranfield collection, which lies beside the project: the weights are chosen on every
second question, the others report what that is worth. Then the questions about the samples: the
mean reciprocal rank of the passage with the answer, of 40, a check that had no part in the choice.
Each line changes one weight of those in use, the first none. It takes some minutes.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean

from agentkit.database import Database
from agentkit.retrieval import Library, MiniLMEmbedder, SearchOptions, sources_from_paths
from agentkit.retrieval.evaluation.beir import Dataset, take_in
from agentkit.retrieval.evaluation.evaluation import trial
from agentkit.retrieval.search import fusion
from agentkit.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
CRANFIELD = ROOT.parent / "shared" / "datasets" / "cranfield"
SAMPLES = ROOT / "data" / "samples"
OWNER, PAPERS, SAMPLE = "bench", "Cranfield", "Samples"
BEFORE = {"DENSE_WEIGHT": 0.5, "NEIGHBOUR_WEIGHT": 0.3, "FEEDBACK_WEIGHT": 0.5}
"""Equal weights of meaning and words, and values usual in the literature."""
OTHERS: tuple[Mapping[str, float], ...] = (
    {},
    BEFORE,
    *({"DENSE_WEIGHT": weight} for weight in (0.3, 0.5)),
    *({"NEIGHBOUR_WEIGHT": weight} for weight in (0.3, 0.7)),
    *({"NEIGHBOURS": count} for count in (3, 8)),
    *({"FEEDBACK_WEIGHT": weight} for weight in (0.5, 1.0)),
    *({"FEEDBACK": count} for count in (2, 5)),
)


@contextmanager
def weights(changed: Mapping[str, float]) -> Iterator[None]:
    """Fusion with these values while the block runs."""
    before = {name: getattr(fusion, name) for name in changed}
    for name, value in changed.items():
        setattr(fusion, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(fusion, name, value)


def papers(library: Library) -> tuple[float, float]:
    """nDCG@10 of the questions that chose the weights, and of the others."""
    questions = Dataset(CRANFIELD).questions()
    _, results = trial(library, OWNER, PAPERS, questions, SearchOptions(mode="hybrid"))
    return fmean(one.ndcg_10 for one in results[::2]), fmean(one.ndcg_10 for one in results[1::2])


def samples(library: Library) -> float:
    """The mean reciprocal rank of the passage that has the answer."""
    asked = json.loads(SAMPLES.with_name("sample-questions.json").read_text(encoding="utf-8"))
    ranks = [_rank(library, one) for one in asked if one.get("answer_contains")]
    return fmean(1 / rank if rank else 0.0 for rank in ranks)


def _rank(library: Library, asked: Mapping[str, list[str]]) -> int | None:
    hits = library.retrieve(OWNER, SAMPLE, str(asked["question"]), top_k=10)
    words = [part.casefold() for part in asked["answer_contains"]]
    right = (hit.rank for hit in hits if all(word in hit.text.casefold() for word in words))
    return next(right, None)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data=Path(folder))
        database = Database(settings.database)
        library = Library(database, settings, MiniLMEmbedder())
        library.create_collection(OWNER, PAPERS)
        take_in(library, OWNER, PAPERS, Dataset(CRANFIELD).corpus())
        library.ingest(OWNER, SAMPLE, sources_from_paths([SAMPLES]))
        print(f"{'weights':64} odd    even   samples")
        for changed in OTHERS:
            with weights(changed):
                odd, even = papers(library)
                name = ", ".join(f"{key} {value}" for key, value in changed.items()) or "in use"
                print(f"{name:64} {odd:.4f} {even:.4f} {samples(library):.4f}", flush=True)
        library.close()
        database.close()


if __name__ == "__main__":
    main()
