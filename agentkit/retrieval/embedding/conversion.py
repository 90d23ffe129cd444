"""Models converted for OpenVINO, once, and kept in a folder under what they were made of.

The conversion loads the model through sentence-transformers in a process of its own, so that the
memory of torch is free again when it is done.
"""

from __future__ import annotations

import glob
import hashlib
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentkit import private
from agentkit.retrieval.embedding import engines
from agentkit.retrieval.embedding.engines import ABOUT, MODEL, TOKENIZER, OpenVinoEngine, Precision

if TYPE_CHECKING:
    import numpy as np
    from sentence_transformers import SentenceTransformer

RECIPE = 3
"""Goes up when what `convert` writes changes."""
WEIGHTS = "model.bin"
_KEPT = (MODEL, WEIGHTS, TOKENIZER, ABOUT)
_SUMS = "sums.json"
_REFUSED = "refused.txt"
"""Says, in place of a model, why there is none: it is not tried again with the same libraries."""
_FRESH = ".converting-"
"""Begins the names of folders that a conversion writes into."""
_TIMEOUT_S = 1_200
_UNUSED_S = 30 * 24 * 3600
_DIGITS = 16
"""Of the SHA-256 of what a model was made of, in the name of its folder."""
_CANNOT = 3
"""The exit status of a conversion that would fail again."""
_LEAST_COSINE: dict[Precision, float] = {"float32": 0.9999, "bfloat16": 0.999}
"""What the converted model and the original make of `_PROBES` has to be so near."""
_PROBES = (
    "A short one",
    "",
    "  Größe, naïve CAFÉ; 東京 and Москва: 1,234.5 (see §7)\n\tnext line",
    "A text that is longer than most models read. " * 100,
)
_log = logging.getLogger(__name__)


class CannotConvert(Exception):
    """The model is of a kind that this conversion does not carry over."""


def default_folder() -> Path:
    """Where models are kept when nobody says so: `AGENTKIT_MODEL_FOLDER`, else the user's cache."""
    import platformdirs

    named = os.environ.get("AGENTKIT_MODEL_FOLDER")
    if named:
        return Path(named)
    return platformdirs.user_cache_path("agentkit") / "models"


def place_of(name: str, weights: str, kept: Path, precision: Precision | None = None) -> Path:
    """The folder within `kept` of the converted model of that name; `weights` is their SHA-256.

    `precision`: what is computed in there, by default this machine's. A converted model is tried
    out in it, so that one that was made on another machine proves nothing here.
    """
    versions = [metadata.version(library) for library in ("openvino", "sentence-transformers")]
    made_of = [RECIPE, weights, *versions, precision or engines.machine_precision()]
    digest = hashlib.sha256(json.dumps(made_of).encode()).hexdigest()
    return kept / f"{name}-{digest[:_DIGITS]}"


def find(place: Path) -> Path | None:
    """The folder itself when it holds a whole converted model, else None."""
    try:
        expected = json.loads((place / _SUMS).read_text(encoding="utf-8"))
        if expected != _sums(place):
            return None
        with suppress(OSError):  # where it may only be read
            os.utime(place)  # it is in use
        return place
    except (OSError, ValueError):
        return None


def is_refused(place: Path) -> bool:
    """Whether the model of that folder could not be converted before."""
    return (place / _REFUSED).is_file()


def convert_into(place: Path, source: Path) -> Path | None:
    """Convert the model in the folder `source`, in place of what `place` held; gives `place`.

    None, with a warning in the log, when it cannot be converted or kept.
    """
    try:
        _convert_apart(place, source)
    except subprocess.CalledProcessError as error:
        reason = error.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        if error.returncode == _CANNOT:
            _refuse(place, reason)
        _warn(place, reason)
    except (OSError, subprocess.SubprocessError) as error:
        _warn(place, error)
    return find(place)


def convert(source: Path, target: Path) -> None:
    """Write the model of the folder `source` into `target` for OpenVinoEngine to read.

    Raises CannotConvert when it is of a kind that cannot be, or its vectors would differ.
    """
    model = engines.load_with_torch(source, "float32", "cpu")
    try:
        _write(model, target)
    except (OSError, CannotConvert):  # the disk is not the model's fault
        raise
    except Exception as error:  # whatever the libraries raise for a model that they do not know
        raise CannotConvert(f"{type(error).__name__}: {error}".splitlines()[0]) from error
    expected = model.encode(list(_PROBES), normalize_embeddings=True, show_progress_bar=False)
    precisions = dict.fromkeys(("float32", engines.machine_precision()))
    near = [name for name in precisions if _is_near(OpenVinoEngine(target, name), expected)]
    if "float32" not in near:
        raise CannotConvert("the converted model gives other vectors")
    _write_about(target, {**_read_about(target), "precisions": near})


def _write(model: SentenceTransformer, target: Path) -> None:
    import tokenizers
    import torch

    inputs = [
        name
        for name, value in model.preprocess(["probe"]).items()
        if isinstance(value, torch.Tensor)
    ]

    class Whole(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *given: Any) -> Any:
            features = self.model(dict(zip(inputs, given, strict=True)))
            return torch.nn.functional.normalize(features["sentence_embedding"], dim=1)

    ones = tuple(torch.ones((2, 16), dtype=torch.int64) for _ in inputs)
    library = engines.openvino()
    written = library.convert_model(Whole().eval(), example_input=ones)
    # Weights that 16 bits can hold: what is loaded takes 60 MB less, and the vectors' cosine with
    # the original's is still 0.999999 (all-MiniLM-L6-v2).
    library.save_model(written, str(target / MODEL), compress_to_fp16=True)

    theirs = model.tokenizer
    tokenizer = tokenizers.Tokenizer.from_str(theirs.backend_tokenizer.to_str())
    most = model.max_seq_length
    if not most:
        raise CannotConvert("it does not say how long a text it takes")
    tokenizer.enable_truncation(most)
    tokenizer.enable_padding(
        direction=theirs.padding_side, pad_id=theirs.pad_token_id, pad_token=theirs.pad_token
    )
    tokenizer.save(str(target / TOKENIZER))
    about = {
        "inputs": inputs,
        "dimension": model.get_embedding_dimension(),
        "max_tokens": most,
        "precisions": list(_LEAST_COSINE),
    }
    _write_about(target, about)


def _is_near(engine: OpenVinoEngine, expected: np.ndarray) -> bool:
    cosines = (engine.encode(_PROBES) * expected).sum(1)
    return bool(cosines.min() >= _LEAST_COSINE[engine.precision])


def _read_about(folder: Path) -> dict[str, Any]:
    about: dict[str, Any] = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    return about


def _write_about(folder: Path, about: dict[str, Any]) -> None:
    (folder / ABOUT).write_text(json.dumps(about), encoding="utf-8")


def _warn(place: Path, reason: object) -> None:
    _log.warning(
        "The embedding model could not be converted for OpenVINO into %s (%s);"
        " sentence-transformers runs it, which takes longer to load.",
        place.parent,
        reason,
    )


def _refuse(place: Path, reason: str) -> None:
    shutil.rmtree(place, ignore_errors=True)
    private.make_folder(place)
    private.write_text(place / _REFUSED, reason)


def _convert_apart(place: Path, source: Path) -> None:
    """Convert in another process; the folder appears whole or not at all."""
    private.make_folder(place.parent)
    _remove_remains(place.parent)
    if find(place) is None:
        shutil.rmtree(place, ignore_errors=True)  # a damaged one
    fresh = Path(tempfile.mkdtemp(dir=place.parent, prefix=_FRESH))
    try:
        command = [sys.executable, "-P", "-W", "ignore", "-m", __name__, str(source), str(fresh)]
        subprocess.run(
            command, check=True, timeout=_TIMEOUT_S, capture_output=True, env=_environment()
        )
        for name in _KEPT:
            (fresh / name).chmod(private.FILE)
        private.write_text(fresh / _SUMS, json.dumps(_sums(fresh)))
        if not place.exists():  # else another process was faster
            fresh.rename(place)
        _remove_unused(place)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _remove_remains(kept: Path) -> None:
    """Delete what conversions left that were killed; one that goes on is younger."""
    for folder in kept.glob(f"{_FRESH}*"):
        if time.time() - folder.stat().st_mtime > 2 * _TIMEOUT_S:
            shutil.rmtree(folder, ignore_errors=True)


def _remove_unused(place: Path) -> None:
    """Delete the same model as other weights or libraries left it, when nobody has used it for
    long.
    """
    name = place.name.rpartition("-")[0]
    for folder in place.parent.glob(f"{glob.escape(name)}-{'[0-9a-f]' * _DIGITS}"):
        if time.time() - folder.stat().st_mtime > _UNUSED_S:
            shutil.rmtree(folder, ignore_errors=True)


def _environment() -> dict[str, str]:
    """This process's, with our package in reach from wherever it was started."""
    package = str(Path(__file__).resolve().parents[3])
    before = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": f"{package}{os.pathsep}{before}" if before else package}


def _sums(place: Path) -> dict[str, str]:
    return {name: _sum(place / name) for name in _KEPT}


def _sum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    try:
        convert(Path(sys.argv[1]), Path(sys.argv[2]))
    except CannotConvert as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(_CANNOT)
