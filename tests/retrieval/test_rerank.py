"""Rerankers: a small real cross-encoder from a folder, and a server over HTTP."""

from __future__ import annotations

import importlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from agentkit.core import bus
from agentkit.errors import (
    BadModelReply,
    ConfigError,
    ModelAuthFailed,
    ModelError,
    ModelNotFound,
    ModelUnreachable,
    RateLimited,
)
from agentkit.events import Event, ModelCalled, ModelReplied
from agentkit.retrieval.embedding.rerank import CrossEncoderReranker, Rerankers, ServerReranker

TEXTS = ["Tea is green.", "Coffee is black.", "Milk is white."]


class Service(ThreadingHTTPServer):
    """Answers `POST /v1/rerank` with what the test has put into `answer`, and keeps what was
    asked.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status = 200
        self.answer: Any = None
        self.asked: list[tuple[str, dict[str, str], Any]] = []

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: Service

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, dict(self.headers), body))
        answer = self.server.answer
        said = (answer if isinstance(answer, str) else json.dumps(answer)).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@pytest.fixture
def service() -> Iterator[Service]:
    with Service() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def results(*scores: float, key: str = "relevance_score") -> list[dict[str, float]]:
    """As servers send them: best first, each with the number of its text."""
    return sorted(
        ({"index": number, key: score} for number, score in enumerate(scores)),
        key=lambda one: -one[key],
    )


def heard_from(
    reranker: ServerReranker | CrossEncoderReranker, query: str, texts: list[str]
) -> tuple[list[float], list[Event]]:
    events: list[Event] = []
    with bus.listening(events.append):
        return reranker.scores(query, texts), events


def test_a_server_scores_in_the_order_of_the_texts(service: Service) -> None:
    service.answer = {
        "model": "r",
        "results": results(0.2, 0.9, 0.1),
        "usage": {"total_tokens": 42},
    }
    reranker = ServerReranker(service.base_url + "/", "secret-key", "jina-reranker")
    scores, events = heard_from(reranker, "what is black", TEXTS)
    assert scores == [0.2, 0.9, 0.1]
    ((path, headers, body),) = service.asked
    assert (path, headers["Authorization"]) == ("/v1/rerank", "Bearer secret-key")
    assert body == {
        "model": "jina-reranker",
        "query": "what is black",
        "documents": TEXTS,
        "top_n": 3,
    }
    assert reranker.name == f"jina-reranker at {service.base_url}"
    called, replied = events
    assert isinstance(called, ModelCalled)
    assert isinstance(replied, ModelReplied)
    assert (called.purpose, replied.purpose, replied.status) == ("rerank", "rerank", "ok")
    assert (replied.usage.input, replied.usage.estimated, replied.cost) == (42, False, 0.0)
    assert reranker.scores("nothing", []) == []
    assert len(service.asked) == 1, "without texts there is nothing to ask"


@pytest.mark.parametrize("key", ["relevance_score", "score"])
def test_logits_are_brought_to_0_to_1(service: Service, key: str) -> None:
    service.answer = results(-2.0, 3.0, 0.5, key=key)  # a bare list, as TEI sends it
    scores = ServerReranker(service.base_url, "", "r").scores("q", TEXTS)
    assert scores == pytest.approx([0.119203, 0.952574, 0.622459], abs=1e-6)
    assert "Authorization" not in service.asked[0][1]


@pytest.mark.parametrize(
    ("status", "answer", "kind", "says"),
    [
        (401, "no: secret-key is wrong", ModelAuthFailed, "401: no: \\*\\*\\* is wrong"),
        (404, "", ModelNotFound, "offers `/rerank`"),
        (429, "slow down", RateLimited, "wait, then try again"),
        (500, "broken", BadModelReply, "500: broken"),
        (200, "<html>", BadModelReply, "not JSON"),
        (200, {"results": [{"text": "x"}]}, BadModelReply, "form that is not known"),
        (200, {"results": results(0.5)}, BadModelReply, "gave 1 scores for 3 passages"),
        (
            200,
            '[{"index": 0, "score": NaN}, {"index": 1, "score": 1}, {"index": 2, "score": 1}]',
            BadModelReply,
            "is not a number",
        ),
        (200, [], BadModelReply, "gave 0 scores"),
    ],
)
def test_what_a_server_does_wrong_is_told(
    service: Service, status: int, answer: Any, kind: type[ModelError], says: str
) -> None:
    service.status, service.answer = status, answer
    events: list[Event] = []
    with bus.listening(events.append), pytest.raises(kind, match=says) as raised:
        ServerReranker(service.base_url, "secret-key", "r").scores("q", TEXTS)
    assert "secret-key" not in str(raised.value)
    replied = events[-1]
    assert isinstance(replied, ModelReplied)
    assert (replied.status, replied.error_type, replied.cost) == ("failed", kind.__name__, 0.0)
    assert replied.usage.estimated == (
        kind is BadModelReply
    )  # who gives no answer has read nothing


def test_a_server_that_is_not_there_is_told_without_the_login() -> None:
    with pytest.raises(
        ModelUnreachable, match=r"r at http://127\.0\.0\.1:9/v1 cannot be reached"
    ) as raised:
        ServerReranker("http://me:pass@127.0.0.1:9/v1", "", "r").scores("q", TEXTS)
    assert "pass" not in str(raised.value)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of one layer whose output is the weight of the words in it: `good` counts up, `bad`
    down.
    """
    return made(tmp_path_factory.mktemp("cross-encoder"), labels=1)


def made(folder: Path, labels: int) -> Path:
    import torch

    transformers: Any = importlib.import_module("transformers")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "bad", "tea", "is"]
    (folder / "vocab.txt").write_text("\n".join(words))
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    config = transformers.BertConfig(
        vocab_size=len(words),
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=8,
        max_position_embeddings=32,
        num_labels=labels,
    )
    torch.manual_seed(1)
    model = transformers.BertForSequenceClassification(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        embeddings, layer = model.bert.embeddings, model.bert.encoder.layer[0]
        embeddings.word_embeddings.weight[words.index("good"), 0] = 4.0
        embeddings.word_embeddings.weight[words.index("bad"), 1] = 4.0
        embeddings.LayerNorm.weight.fill_(1.0)
        # One head that looks at all tokens alike and passes on what they are.
        layer.attention.self.value.weight.copy_(torch.eye(8))
        layer.attention.output.dense.weight.copy_(torch.eye(8))
        layer.attention.output.LayerNorm.weight.fill_(1.0)
        layer.output.LayerNorm.weight.fill_(1.0)
        model.bert.pooler.dense.weight.copy_(torch.eye(8))
        model.classifier.weight[0, 0], model.classifier.weight[0, 1] = 3.0, -3.0
    model.save_pretrained(folder)
    return folder


def test_a_cross_encoder_in_a_folder_scores_by_what_it_reads(folder: Path) -> None:
    reranker = CrossEncoderReranker(folder)
    assert reranker.name == f"folder:{folder}"
    scores, events = heard_from(reranker, "tea", ["tea is bad", "tea is good", "tea is"])
    assert scores[1] > 0.8 > scores[2] > 0.2 > scores[0] > 0
    assert scores[2] == pytest.approx(0.5, abs=0.1)
    replied = events[-1]
    assert isinstance(replied, ModelReplied)
    assert (replied.provider, replied.purpose, replied.cost) == ("local", "rerank", 0.0)
    assert replied.usage.input == 7 + 7 + 6  # each with [CLS], two [SEP] and the question
    assert reranker.scores("tea", []) == []
    assert reranker.scores("tea", ["good " * 100]) == pytest.approx(scores[1:2], abs=0.2), (
        "what is too long is cut"
    )


def test_folders_that_hold_no_reranker_are_told(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no config\.json"):
        CrossEncoderReranker(tmp_path / "nothing").scores("q", TEXTS)
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / "config.json").write_text((folder / "config.json").read_text()[:100])
    with pytest.raises(ConfigError, match="cannot be loaded as a cross-encoder"):
        CrossEncoderReranker(damaged).scores("q", TEXTS)
    several = tmp_path / "several"
    several.mkdir()
    with pytest.raises(ConfigError, match="has 3 outputs"):
        CrossEncoderReranker(made(several, labels=3)).scores("q", TEXTS)


def test_rerankers_are_found_by_their_names_as_they_are_now() -> None:
    connected = {"judge": ServerReranker("http://127.0.0.1:9", "an old key", "judge")}
    rerankers = Rerankers(connected.get, lambda: list(connected))
    assert rerankers.names() == ["judge"]
    assert rerankers.of("judge") is connected["judge"]
    connected["judge"] = ServerReranker("http://127.0.0.1:9", "another key", "judge")
    assert rerankers.of("judge") is connected["judge"], "not the one with the old key"
    with pytest.raises(ConfigError, match="no reranker 'none' here; choose another: judge or none"):
        rerankers.of("none")
    del connected["judge"]
    with pytest.raises(ConfigError, match="no reranker 'judge' here; choose another or none"):
        rerankers.of("judge")
