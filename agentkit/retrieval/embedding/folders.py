"""Any sentence-transformers model that lies in a folder of this machine, as an embedder."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agentkit.errors import ConfigError
from agentkit.retrieval.embedding.embed import InProcess, offsets, without_limits

if TYPE_CHECKING:
    import numpy as np
    import tokenizers
    from sentence_transformers import SentenceTransformer

FOLDER = "folder:"
"""How the names of embedders and rerankers begin that lie in a folder."""
_BATCH = 32


class FolderEmbedder(InProcess):
    """The model in `path`, loaded at first use from there alone; its name is `folder:` and the
    absolute path.

    All but `name` raise ConfigError when the folder holds no such model. Texts are given to it
    without a prompt, questions too.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path).absolute()
        self.name = f"{FOLDER}{self.path}"
        self._lock = threading.Lock()
        self._parts: tuple[SentenceTransformer, tokenizers.Tokenizer] | None = None

    @property
    def dimension(self) -> int:
        """Numbers in a vector; loads the model."""
        return int(self._load_once()[0].get_embedding_dimension() or 0)

    @property
    def max_tokens(self) -> int:
        """Longest text in tokens, special tokens included; loads the model."""
        return int(self._load_once()[0].max_seq_length or 0)

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors (n, dimension), float32, each of length 1."""
        import numpy as np

        model, _ = self._load_once()
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        with self._lock:  # the tokenizer of a model is not made for two threads at a time
            vectors = model.encode(
                list(texts), batch_size=_BATCH, show_progress_bar=False, normalize_embeddings=True
            )
        return np.asarray(vectors, dtype=np.float32)

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Start and end character of each token, without special tokens."""
        return offsets(self._load_once()[1], text)

    def _load_once(self) -> tuple[SentenceTransformer, tokenizers.Tokenizer]:
        with self._lock:
            if self._parts is None:
                self._parts = self._load()
            return self._parts

    def _load(self) -> tuple[SentenceTransformer, tokenizers.Tokenizer]:
        if not (self.path / "modules.json").is_file():
            raise ConfigError(
                f"{self.path} holds no sentence-transformers model (it has no modules.json); "
                "fetch one into it, or correct AGENTKIT_EMBEDDING_FOLDERS."
            )
        import tokenizers
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        logging.disable_progress_bar()
        try:
            model = SentenceTransformer(
                str(self.path),
                device="cpu",
                local_files_only=True,
                model_kwargs={"dtype": "float32"},
            )
            backend = model.tokenizer.backend_tokenizer
            if not model.get_embedding_dimension() or not model.max_seq_length:
                raise ValueError("it does not say its dimension and its longest text")
            # A copy: the model's own one cuts and pads texts.
            return model, without_limits(tokenizers.Tokenizer.from_str(backend.to_str()))
        except Exception as error:  # whatever the libraries raise for files that they cannot read
            reason = (str(error) or type(error).__name__).splitlines()[0]
            raise ConfigError(
                f"{self.path} cannot be loaded as an embedding model ({reason}); fetch the model"
                " anew."
            ) from error
