"""The forward pass of all-MiniLM-L6-v2 in plain torch: BERT encoder, mean over the tokens, length 1.

Written out here because loading `transformers` for it takes longer than the model itself; a test compares the vectors
with those of sentence-transformers.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

LAYERS = 6
HEADS = 12
WIDTH = 384
NORM_EPSILON = 1e-12
_GAIN = 1.2
"""bf16 must be this many times faster before it is chosen, so that noise does not decide."""

Weights = dict[str, "torch.Tensor"]


class MiniLM:
    """The network at one precision; `dtype` is `float32` or `bfloat16`."""

    def __init__(self, weights: Weights, dtype: str) -> None:
        import torch

        self.dtype = dtype
        self._weights = {name: value.to(getattr(torch, dtype)) for name, value in weights.items()}

    def __call__(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Vectors (n, 384), float32 and of length 1, of token ids (n, t); `mask` (n, t) is True where there is a token."""
        import torch

        with torch.inference_mode():
            state = self._embed(ids)
            attend = None if bool(mask.all()) else mask[:, None, None, :]
            for number in range(LAYERS):
                state = self._layer(number, state, attend)
            kept = mask[:, :, None].float()
            mean = (state.float() * kept).sum(1) / kept.sum(1)
            return torch.nn.functional.normalize(mean, dim=1)

    def layer_seconds(self, tokens: torch.Tensor) -> float:
        """Time of one encoder layer over hidden states (n, t, 384)."""
        import torch

        with torch.inference_mode():
            state = tokens.to(self._weights["embeddings.LayerNorm.weight"].dtype)
            start = time.perf_counter()
            self._layer(0, state, None)
            return time.perf_counter() - start

    def _embed(self, ids: torch.Tensor) -> torch.Tensor:
        tables = {name: self._weights[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")}
        state = tables["word"][ids] + tables["position"][: ids.shape[1]] + tables["token_type"][0]
        return self._norm("embeddings.LayerNorm", state)

    def _layer(self, number: int, state: torch.Tensor, attend: torch.Tensor | None) -> torch.Tensor:
        import torch

        name = f"encoder.layer.{number}."
        count, length, _ = state.shape
        query, key, value = (
            part.view(count, length, HEADS, -1).transpose(1, 2)
            for part in self._linear(name + "attention.self.qkv", state).chunk(3, dim=-1)
        )
        mixed = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=attend)
        mixed = mixed.transpose(1, 2).reshape(count, length, WIDTH)
        state = self._norm(name + "attention.output.LayerNorm", self._linear(name + "attention.output.dense", mixed) + state)
        inner = torch.nn.functional.gelu(self._linear(name + "intermediate.dense", state))
        return self._norm(name + "output.LayerNorm", self._linear(name + "output.dense", inner) + state)

    def _linear(self, name: str, state: torch.Tensor) -> torch.Tensor:
        import torch

        return torch.nn.functional.linear(state, self._weights[name + ".weight"], self._weights[name + ".bias"])

    def _norm(self, name: str, state: torch.Tensor) -> torch.Tensor:
        import torch

        return torch.nn.functional.layer_norm(
            state, (WIDTH,), self._weights[name + ".weight"], self._weights[name + ".bias"], NORM_EPSILON
        )


def read_weights(data: bytes) -> Weights:
    """The tensors of a safetensors file, with query, key and value of a layer joined into one matrix."""
    import torch
    from safetensors.torch import load

    weights: Weights = load(data)
    for number in range(LAYERS):
        base = f"encoder.layer.{number}.attention.self."
        for kind in ("weight", "bias"):
            weights[f"{base}qkv.{kind}"] = torch.cat([weights.pop(f"{base}{part}.{kind}") for part in ("query", "key", "value")])
    weights.pop("embeddings.position_ids", None)
    return weights


def load(path: Path, data: bytes | None = None) -> MiniLM:
    """The network of the safetensors file at the faster precision of this machine."""
    weights = read_weights(path.read_bytes() if data is None else data)
    return fastest(MiniLM(weights, "float32"), MiniLM(weights, "bfloat16"))


def fastest(exact: MiniLM, short: MiniLM) -> MiniLM:
    """`short` if a measurement of some milliseconds shows that this CPU gains from it, else `exact`."""
    import torch

    tokens = torch.zeros(8, 64, WIDTH)
    seconds = {model: min(model.layer_seconds(tokens) for _ in range(4)) for model in (exact, short)}
    return short if seconds[exact] > _GAIN * seconds[short] else exact
