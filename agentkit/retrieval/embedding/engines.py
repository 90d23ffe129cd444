"""What runs an embedding model in this process: OpenVINO once the model was converted, else
sentence-transformers.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import logging
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np
    from sentence_transformers import SentenceTransformer

_log = logging.getLogger(__name__)
Precision = Literal["float32", "bfloat16"]

MODEL, TOKENIZER, ABOUT = "model.xml", "tokenizer.json", "about.json"
"""Files of a converted model; the last says what it takes and gives."""
BATCH = 16
_MOST_STREAMS = 4
"""Batches that are computed at the same time: an ingest embeds so many at once."""
_FEW = 8
"""So many texts, at most, are not worth being sent to a GPU."""
_BFLOAT16_FLAGS = {"GenuineIntel": "amx_bf16", "AuthenticAMD": "avx512_bf16"}
"""Of processors that multiply bfloat16 fast, by maker: with them it is 1.7 to 3 times as fast as
float32, without them 0.4 times; on an Intel processor that has it in AVX-512 alone 0.7 times
(measured on a Xeon with AMX, also kept to AVX-512, and on an AMD EPYC).
"""
_GPU = Path("/dev/nvidiactl")
"""It is there where the driver of an NVIDIA GPU is; looking takes no time, asking torch seconds."""
_FIRST = threading.Lock()
"""Held while a model computes for the first time: OpenVINO 2026.4 sets up its bridge to numpy in
the first call of the process, and a second call at that moment would wait for ever.
"""
_HINTS: dict[Precision, str] = {"float32": "f32", "bfloat16": "bf16"}


class Engine(Protocol):
    """A loaded model; safe to use from several threads."""

    @property
    def precision(self) -> Precision:
        """What it computes in; vectors of both can be compared with each other."""

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""

    @property
    def max_tokens(self) -> int:
        """Longest text in tokens, special tokens included."""

    @property
    def tokenizer(self) -> str:
        """The model's tokenizer as JSON, as the tokenizers library writes it."""

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors (n, dimension), float32, each of length 1."""


class OpenVinoEngine:
    """A model as `conversion.convert` wrote it: needs neither torch nor sentence-transformers.

    Each batch is computed on one stream, which has its share of the processors: on up to four a
    single text takes one thread.
    """

    def __init__(self, folder: Path, precision: Precision) -> None:
        """Raises RuntimeError when OpenVINO cannot read what is in `folder`."""
        import tokenizers

        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        self.precision: Precision = precision if precision in about["precisions"] else "float32"
        self.dimension, self.max_tokens = about["dimension"], about["max_tokens"]
        self.tokenizer = (folder / TOKENIZER).read_text(encoding="utf-8")
        self._inputs = about["inputs"]
        self._tokenizer = tokenizers.Tokenizer.from_str(self.tokenizer)
        cores = _count_cores()
        self._streams = min(cores, _MOST_STREAMS)
        options = {
            "INFERENCE_PRECISION_HINT": _HINTS[self.precision],
            "NUM_STREAMS": self._streams,
            "INFERENCE_NUM_THREADS": cores,
        }
        core = openvino().Core()
        self._compiled = core.compile_model(str(folder / MODEL), "CPU", options)
        self._idle: list[Any] = []
        with _FIRST:
            self.encode(["first"])

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors (n, dimension), float32, each of length 1."""
        import numpy as np

        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        running: deque[tuple[Any, list[int]]] = deque()

        def finish_oldest() -> None:
            request, rows = running.popleft()
            request.wait()
            vectors[rows] = request.get_output_tensor(0).data
            self._idle.append(request)

        for rows in batch_by_length(texts):
            tokens = self._tokenize([texts[row] for row in rows])
            if len(running) == self._streams:
                finish_oldest()
            request = self._take_request()
            request.start_async(tokens)
            running.append((request, rows))
        while running:
            finish_oldest()
        return vectors

    def _take_request(self) -> Any:
        """One that computes nothing; kept, so that none has to end while others compute."""
        try:
            return self._idle.pop()
        except IndexError:
            return self._compiled.create_infer_request()

    def _tokenize(self, texts: Sequence[str]) -> list[np.ndarray]:
        import numpy as np

        encoded = self._tokenizer.encode_batch([text.strip() for text in texts])
        ids = np.array([one.ids for one in encoded], dtype=np.int64)
        known = {
            "input_ids": ids,
            "attention_mask": np.array([one.attention_mask for one in encoded], dtype=np.int64),
            "token_type_ids": np.zeros_like(ids),
        }
        return [known[name] for name in self._inputs]


class TorchEngine:
    """A model as it lies in its folder, run by sentence-transformers."""

    def __init__(self, folder: Path, precision: Precision, device: str = "cpu") -> None:
        """Raises whatever the libraries raise for files that they cannot read."""
        self.precision = precision
        self._lock = threading.Lock()
        self._model = load_with_torch(folder, precision, device)
        self.dimension = self._model.get_embedding_dimension() or 0
        self.max_tokens = self._model.max_seq_length or 0
        if not self.dimension or not self.max_tokens:
            raise ValueError("it does not say its dimension and its longest text")
        self.tokenizer: str = self._model.tokenizer.backend_tokenizer.to_str()

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors (n, dimension), float32, each of length 1."""
        import numpy as np

        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        with self._lock:  # the tokenizer of a model is not made for two threads at a time
            vectors = self._model.encode(
                list(texts), batch_size=BATCH, show_progress_bar=False, normalize_embeddings=True
            )
        return np.asarray(vectors, dtype=np.float32)


class GpuEngine:
    """Many texts on a GPU, where the model is loaded when the first of them come; few where they
    are computed at once. Once the GPU fails, say as its memory is full, it is left alone.
    """

    def __init__(self, few: Engine, load_many: Callable[[], Engine]) -> None:
        self._few, self._load_many = few, load_many
        self._lock = threading.Lock()
        self._failed = False
        self.precision, self.tokenizer = few.precision, few.tokenizer
        self.dimension, self.max_tokens = few.dimension, few.max_tokens

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors (n, dimension), float32, each of length 1."""
        if len(texts) > _FEW and not self._failed:
            try:
                with self._lock:
                    engine = self._many
                return engine.encode(texts)
            except RuntimeError as error:  # of torch: each failure of CUDA is one
                self._failed = True
                _log.warning("The GPU failed, so the CPU computes vectors from now on: %s", error)
        return self._few.encode(texts)

    @cached_property
    def _many(self) -> Engine:
        return self._load_many()


def load_engine(folder: Path, converted: Path | None) -> Engine:
    """What runs the model in `folder`; `converted` is the folder of the model made of it, if any.

    Raises whatever the libraries raise for files that they cannot read.
    """
    engine: Engine
    if converted:
        engine = OpenVinoEngine(converted, machine_precision())
    else:
        engine = TorchEngine(folder, "float32")
    if not has_gpu():
        return engine
    return GpuEngine(engine, lambda: TorchEngine(folder, "float32", "cuda"))


def machine_precision() -> Precision:
    """What this CPU computes models in; float32 where that cannot be seen."""
    about = _about_processor(Path("/proc/cpuinfo"))
    return precision_for(about.get("vendor_id", ""), set(about.get("flags", "").split()))


def precision_for(maker: str, flags: set[str]) -> Precision:
    """What a CPU of this maker with these flags, as Linux names both, computes models in."""
    return "bfloat16" if _BFLOAT16_FLAGS.get(maker) in flags else "float32"


def has_gpu() -> bool:
    """Whether torch can use an NVIDIA GPU here; loads torch only where there seems to be one."""
    if not _GPU.exists():
        return False
    import torch

    return torch.cuda.is_available()


def load_with_torch(folder: Path, precision: Precision, device: str) -> SentenceTransformer:
    """The model as sentence-transformers reads it, from the folder alone."""
    # Threads that wait in a loop take the CPU from those they wait for: on a busy machine one query
    # took a second instead of 10 ms. OpenMP reads this once, when torch is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    logging.disable_progress_bar()
    return SentenceTransformer(
        str(folder), device=device, local_files_only=True, model_kwargs={"dtype": precision}
    )


def batch_by_length(texts: Sequence[str]) -> Iterator[list[int]]:
    """Rows of texts in batches of similar length, so that little is padded; the longest first."""
    rows = sorted(range(len(texts)), key=lambda row: len(texts[row]), reverse=True)
    for start in range(0, len(rows), BATCH):
        yield rows[start : start + BATCH]


def openvino() -> Any:
    """The module, kept from reporting that it was imported: it sends so to a server otherwise.

    Raises ImportError when it is not installed.
    """
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
    return importlib.import_module("openvino")


def has_openvino() -> bool:
    """Whether OpenVINO is there; it is not on every platform."""
    return importlib.util.find_spec("openvino") is not None


def _count_cores() -> int:
    allowed = getattr(os, "sched_getaffinity", None)  # of Linux
    if allowed:
        return len(allowed(0))
    return os.cpu_count() or 1


def _about_processor(file: Path) -> dict[str, str]:
    """What Linux writes about the processor, the first one's; empty on other systems."""
    try:
        first = file.read_text(encoding="utf-8").split("\n\n", 1)[0]
    except OSError:
        return {}
    pairs = (line.split(":", 1) for line in first.splitlines() if ":" in line)
    return {name.strip(): said.strip() for name, said in pairs}
