"""A folder in BEIR's layout is measured with the same ingest and search as everything else."""

from __future__ import annotations

import json
import math
from itertools import pairwise, permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit.errors import ConfigError
from agentkit.retrieval import FakeEmbedder, MiniLMEmbedder, evaluate, evaluate_modes
from agentkit.retrieval.evaluation.evaluation import METRICS, scores

TOPICS = ["volcano lava", "violin strings", "tax return", "goal keeper"]


def write(folder: Path) -> None:
    corpus = [
        {"_id": f"d{number}", "title": topic, "text": f"All about {topic} " * 3}
        for number, topic in enumerate(TOPICS)
    ]
    corpus.append({"_id": "empty", "title": "", "text": " "})
    queries = [
        {"_id": f"q{number}", "text": f"what is {topic}"} for number, topic in enumerate(TOPICS)
    ]
    for name, rows in (("corpus", corpus), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    lines = [f"q{number}\td{number}\t1\n" for number in range(len(TOPICS))]
    (folder / "qrels.tsv").write_text(
        "query-id\tcorpus-id\tscore\n" + "".join(lines) + "unknown\td0\t1\n"
    )


def test_a_perfect_ranking(tmp_path: Path) -> None:
    write(tmp_path)
    found = evaluate_modes(tmp_path, FakeEmbedder(), ["hybrid", "dense", "lexical"])
    assert [(one.mode, one.ndcg_10, one.mrr_10, one.recall_100) for one in found.values()] == [
        (mode, 1.0, 1.0, 1.0) for mode in ("hybrid", "dense", "lexical")
    ]
    assert (found["dense"].queries, found["dense"].documents) == (4, 4)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("corpus.jsonl", '{"_id": "d0"}\n', "line 1"),
        ("queries.jsonl", "nonsense\n", "line 1"),
        ("qrels.tsv", "query-id\tcorpus-id\tscore\nq0 d0 1\n", "line 2"),
        ("qrels.tsv", "q0\td0\t0\n", "no query"),
        ("qrels.tsv", "q0\tx7\t1\n", r"none of the documents that qrels.tsv names \(x7\)"),
    ],
)
def test_a_bad_folder_is_explained(tmp_path: Path, file: str, content: str, message: str) -> None:
    write(tmp_path)
    (tmp_path / file).write_text(content)
    with pytest.raises(ConfigError, match=message):
        evaluate(tmp_path, FakeEmbedder())
    (tmp_path / file).unlink()
    with pytest.raises(ConfigError, match="cannot be read"):
        evaluate(tmp_path, FakeEmbedder())


def test_the_real_embedder_finds_by_meaning(tmp_path: Path, minilm: MiniLMEmbedder) -> None:
    write(tmp_path)
    questions = [
        "hot molten rock from a mountain",
        "playing a bowed instrument",
        "money owed to the state",
        "who stops the ball",
    ]
    rows = [{"_id": f"q{number}", "text": text} for number, text in enumerate(questions)]
    (tmp_path / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert evaluate(tmp_path, minilm, "dense").mrr_10 == 1.0
    assert evaluate(tmp_path, minilm).mrr_10 == 1.0


names = st.sampled_from([f"d{number}" for number in range(30)])
rankings = st.lists(names, unique=True, max_size=30)
judged = st.dictionaries(names, st.integers(-1, 3), min_size=1).filter(
    lambda grades: any(grade > 0 for grade in grades.values())
)


@given(rankings, judged)
def test_scores_are_within_bounds_and_recall_grows(
    ranking: list[str], relevant: dict[str, int]
) -> None:
    found = scores(ranking, relevant)
    assert tuple(found) == METRICS
    assert all(0 <= value <= 1 + 1e-12 for value in found.values())
    assert found["recall_1"] <= found["recall_5"] <= found["recall_10"] <= found["recall_100"]


@given(judged, rankings)
def test_the_best_order_is_perfect(relevant: dict[str, int], others: list[str]) -> None:
    best = sorted(
        (name for name, grade in relevant.items() if grade > 0), key=lambda name: -relevant[name]
    )
    found = scores(best + [name for name in others if relevant.get(name, 0) <= 0], relevant)
    assert found["ndcg_10"] == pytest.approx(1)
    assert found["mrr_10"] == found["recall_100"] == 1


@given(rankings, judged)
def test_moving_a_better_document_up_never_harms(
    ranking: list[str], relevant: dict[str, int]
) -> None:
    before = scores(ranking, relevant)
    for place, (upper, lower) in enumerate(pairwise(ranking)):
        if max(0, relevant.get(lower, 0)) > max(0, relevant.get(upper, 0)):
            after = scores([*ranking[:place], lower, upper, *ranking[place + 2 :]], relevant)
            assert all(after[name] >= before[name] - 1e-12 for name in METRICS)


def test_the_order_of_irrelevant_documents_does_not_matter() -> None:
    found = {
        tuple(scores(["x", *order, "y"], {"y": 2, "x": 1}).values())
        for order in permutations("abc")
    }
    assert len(found) == 1


def test_grades_count_linearly_as_in_trec_eval() -> None:
    found = scores(["a", "b", "x", "c"], {"a": 1, "b": 3, "c": 2, "d": 0})
    ideal = 3 + 2 / math.log2(3) + 1 / 2
    assert found["ndcg_10"] == pytest.approx((1 + 3 / math.log2(3) + 2 / math.log2(5)) / ideal)
    assert [found["recall_1"], found["recall_5"], found["mrr_10"]] == pytest.approx([1 / 3, 1, 1])
    assert scores(["x"] * 10 + ["a"], {"a": 1})["mrr_10"] == 0
