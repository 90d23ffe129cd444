"""The packaged model in sentence-transformers, at the precision that this CPU runs faster."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    from sentence_transformers import SentenceTransformer

Precision = Literal["float32", "bfloat16"]

BATCH = 32
_GAIN = 1.2
"""bf16 must be this many times faster before it is chosen, so that noise does not decide."""
_PROBE = ["a short measurement decides about the precision " * 8] * 8


class MiniLM:
    """A loaded model that computes in `dtype`."""

    def __init__(self, folder: Path, dtype: Precision) -> None:
        self.dtype = dtype
        self._model = _read(folder, dtype)

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors (n, dimension), float32, each of length 1."""
        import numpy as np

        if not texts:
            return np.empty((0, self._model.get_embedding_dimension() or 0), dtype=np.float32)
        vectors = self._model.encode(
            list(texts), batch_size=BATCH, show_progress_bar=False, normalize_embeddings=True
        )
        return np.asarray(vectors, dtype=np.float32)


def load(folder: Path) -> MiniLM:
    """The model in that folder, at the faster precision of this machine."""
    return fastest(MiniLM(folder, "float32"), MiniLM(folder, "bfloat16"))


def fastest(exact: MiniLM, short: MiniLM) -> MiniLM:
    """`short` if a measurement of a fraction of a second shows that this CPU gains from it, else
    `exact`.
    """
    return short if _seconds(exact) > _GAIN * _seconds(short) else exact


def _seconds(model: MiniLM) -> float:
    def once() -> float:
        start = time.perf_counter()
        model.encode(_PROBE)
        return time.perf_counter() - start

    return min(once() for _ in range(4))


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
