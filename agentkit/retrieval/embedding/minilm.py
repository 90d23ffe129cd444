"""The packaged model at the precision that suits this CPU: run by OpenVINO once it was converted,
else by sentence-transformers.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np
    from sentence_transformers import SentenceTransformer

Precision = Literal["float32", "bfloat16"]

BATCH = 32
MOST_TOKENS = 256
_BFLOAT16_FLAGS = {"amx_bf16", "avx512_bf16"}
"""Of processors that multiply bfloat16: with them it is 1.7 to 3 times as fast as float32, without
them 0.4 times (measured on a Xeon with AMX and an AMD EPYC).
"""
_FIRST = threading.Lock()
"""Held while a model computes for the first time: OpenVINO 2026.4 sets up its bridge to numpy in
the first call of the process, and a second call at that moment would wait for ever.
"""
_HINTS: dict[Precision, str] = {"float32": "f32", "bfloat16": "bf16"}


class MiniLM(Protocol):
    """A loaded model."""

    dtype: Precision
    """What it computes in; vectors of both can be compared with each other."""

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors (n, 384), float32, each of length 1; safe to use from several threads."""


class Converted:
    """The model as `converting.convert` wrote it, run by OpenVINO: needs neither torch nor
    sentence-transformers.
    """

    def __init__(self, model: Path, tokenizer: Path, dtype: Precision) -> None:
        """`model` is the .xml beside its .bin. Raises RuntimeError when OpenVINO cannot read it."""
        import tokenizers

        from agentkit.retrieval.embedding.converting import openvino

        self.dtype = dtype
        self._tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer))
        self._tokenizer.enable_truncation(MOST_TOKENS)
        self._tokenizer.enable_padding()
        options = {"INFERENCE_PRECISION_HINT": _HINTS[dtype], "PERFORMANCE_HINT": "LATENCY"}
        self._compiled = openvino().Core().compile_model(str(model), "CPU", options)
        self._dimension = int(self._compiled.output(0).partial_shape[1].get_length())
        with _FIRST:
            self.encode(["first"])

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors (n, 384), float32, each of length 1; safe to use from several threads."""
        import numpy as np

        vectors = np.empty((len(texts), self._dimension), dtype=np.float32)
        request = self._compiled.create_infer_request()
        for rows in _by_length(texts):
            encoded = self._tokenizer.encode_batch([texts[row] for row in rows])
            ids = np.array([one.ids for one in encoded], dtype=np.int64)
            mask = np.array([one.attention_mask for one in encoded], dtype=np.int64)
            vectors[rows] = request.infer([ids, mask, np.zeros_like(ids)])[0]
        return vectors


class Original:
    """The model as it is packaged, run by sentence-transformers."""

    def __init__(self, folder: Path, dtype: Precision) -> None:
        self.dtype = dtype
        self._model = _read(folder, dtype)

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors (n, 384), float32, each of length 1; safe to use from several threads."""
        import numpy as np

        if not texts:
            return np.empty((0, self._model.get_embedding_dimension() or 0), dtype=np.float32)
        vectors = self._model.encode(
            list(texts), batch_size=BATCH, show_progress_bar=False, normalize_embeddings=True
        )
        return np.asarray(vectors, dtype=np.float32)


def precision() -> Precision:
    """What this CPU computes this model in; float32 where that cannot be seen."""
    return precision_for(_flags(Path("/proc/cpuinfo")))


def precision_for(flags: set[str]) -> Precision:
    """What a CPU with these flags, as Linux names them, computes this model in."""
    return "bfloat16" if flags & _BFLOAT16_FLAGS else "float32"


def _flags(file: Path) -> set[str]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        return set()
    return next((set(line.split()[2:]) for line in lines if line.startswith("flags")), set())


def _by_length(texts: Sequence[str]) -> Iterator[list[int]]:
    """Rows of texts in batches of similar length, so that little is padded; the longest first."""
    rows = sorted(range(len(texts)), key=lambda row: len(texts[row]), reverse=True)
    for start in range(0, len(rows), BATCH):
        yield rows[start : start + BATCH]


def _read(folder: Path, dtype: Precision) -> SentenceTransformer:
    # Threads that wait in a loop take the CPU from those they wait for: on a busy machine one query
    # took a second instead of 10 ms. OpenMP reads this once, when torch is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    logging.disable_progress_bar()
    model = SentenceTransformer(
        str(folder), device="cpu", local_files_only=True, model_kwargs={"dtype": dtype}
    )
    model[0].register_forward_hook(_widen)
    return model


def _widen(module: Any, given: Any, features: dict[str, Any]) -> dict[str, Any]:
    """Pool and normalise in float32: in bf16 the mean over the tokens would cost half a percent of
    the cosine.
    """
    features["token_embeddings"] = features["token_embeddings"].float()
    return features
