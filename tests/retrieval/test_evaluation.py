"""A folder in BEIR's layout is measured with the same ingest and search as everything else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentkit.errors import ConfigError
from agentkit.retrieval import FakeEmbedder, MiniLMEmbedder, evaluate, evaluate_modes

TOPICS = ["volcano lava", "violin strings", "tax return", "goal keeper"]


def write(folder: Path) -> None:
    corpus = [{"_id": f"d{number}", "title": topic, "text": f"All about {topic} " * 3} for number, topic in enumerate(TOPICS)]
    corpus.append({"_id": "empty", "title": "", "text": " "})
    queries = [{"_id": f"q{number}", "text": f"what is {topic}"} for number, topic in enumerate(TOPICS)]
    for name, rows in (("corpus", corpus), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    lines = [f"q{number}\td{number}\t1\n" for number in range(len(TOPICS))]
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(lines) + "unknown\td0\t1\n")


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
    questions = ["hot molten rock from a mountain", "playing a bowed instrument", "money owed to the state", "who stops the ball"]
    rows = [{"_id": f"q{number}", "text": text} for number, text in enumerate(questions)]
    (tmp_path / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert evaluate(tmp_path, minilm, "dense").mrr_10 == 1.0
    assert evaluate(tmp_path, minilm).mrr_10 == 1.0
