"""The packaged model converted for OpenVINO, once, and kept in a folder under what it was made of.

The conversion loads the model through sentence-transformers in a process of its own, so that the
memory of torch is free again when it is done.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path
from typing import Any

from agentkit import private

RECIPE = 1
"""Goes up when what `convert` writes changes."""
MODEL, WEIGHTS = "model.xml", "model.bin"
_SUMS = "sums.json"
_FRESH = ".converting-"
"""Begins the names of folders that a conversion writes into."""
_TIMEOUT_S = 600
_log = logging.getLogger(__name__)


def openvino() -> Any:
    """The module, kept from reporting that it was imported: it sends so to a server otherwise.

    Raises ImportError when it is not installed.
    """
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
    return importlib.import_module("openvino")


def installed() -> bool:
    """Whether OpenVINO is there; it is not on every platform."""
    return importlib.util.find_spec("openvino") is not None


def default_folder() -> Path:
    """Where models are kept when nobody says so: `AGENTKIT_MODEL_FOLDER`, else the user's cache."""
    import platformdirs

    named = os.environ.get("AGENTKIT_MODEL_FOLDER")
    return Path(named) if named else platformdirs.user_cache_path("agentkit") / "models"


def place_of(name: str, weights: str, kept: Path) -> Path:
    """The folder within `kept` of the converted model of that name; `weights` is their SHA-256."""
    versions = [metadata.version(library) for library in ("openvino", "sentence-transformers")]
    made_of = hashlib.sha256(json.dumps([RECIPE, weights, *versions]).encode()).hexdigest()
    return kept / f"{name}-{made_of[:16]}"


def find(place: Path) -> Path | None:
    """The converted model in that folder; None where there is none, or a damaged one."""
    try:
        expected = json.loads((place / _SUMS).read_text(encoding="utf-8"))
        return place / MODEL if expected == _sums(place) else None
    except (OSError, ValueError):
        return None


def convert_into(place: Path, source: Path) -> Path | None:
    """Convert the model in the folder `source`, in place of what that folder held; gives the model.

    None, with a warning in the log, when it cannot be converted or kept.
    """
    try:
        _convert_apart(place, source)
    except subprocess.CalledProcessError as error:
        _warn(place, error.stderr.decode(errors="replace").strip().splitlines()[-1:])
    except (OSError, subprocess.SubprocessError) as error:
        _warn(place, error)
    return find(place)


def convert(source: Path, target: Path) -> None:
    """Write the model of the folder `source` as OpenVINO's model.xml and model.bin into `target`.

    It takes input_ids, attention_mask and token_type_ids (n, tokens), int64, and gives the mean of
    the tokens, of length 1: (n, dimension), float32.
    """
    import torch
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(
        str(source), device="cpu", local_files_only=True, model_kwargs={"dtype": "float32"}
    )
    transformer: Any = model[0].model

    class Pooled(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.transformer = transformer

        def forward(self, ids: Any, mask: Any, types: Any) -> Any:
            tokens = self.transformer(
                input_ids=ids, attention_mask=mask, token_type_ids=types
            ).last_hidden_state
            weights = mask.unsqueeze(-1).to(tokens.dtype)
            mean = (tokens * weights).sum(1) / weights.sum(1)
            return torch.nn.functional.normalize(mean, dim=1)

    ones = torch.ones((2, 16), dtype=torch.int64)
    library = openvino()
    written = library.convert_model(Pooled().eval(), example_input=(ones, ones, ones))
    library.save_model(written, str(target / MODEL), compress_to_fp16=False)


def _warn(place: Path, reason: object) -> None:
    _log.warning(
        "The embedding model could not be converted for OpenVINO into %s (%s);"
        " sentence-transformers runs it, which takes longer to load.",
        place.parent,
        reason,
    )


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
        for name in (MODEL, WEIGHTS):
            (fresh / name).chmod(private.FILE)
        private.write_text(fresh / _SUMS, json.dumps(_sums(fresh)))
        if not place.exists():  # else another process was faster
            fresh.rename(place)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _remove_remains(kept: Path) -> None:
    """Delete what conversions left that were killed; one that goes on is younger."""
    for folder in kept.glob(f"{_FRESH}*"):
        if time.time() - folder.stat().st_mtime > 2 * _TIMEOUT_S:
            shutil.rmtree(folder, ignore_errors=True)


def _environment() -> dict[str, str]:
    """This process's, with our package in reach from wherever it was started."""
    package = str(Path(__file__).resolve().parents[3])
    before = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": f"{package}{os.pathsep}{before}" if before else package}


def _sums(place: Path) -> dict[str, str]:
    return {name: _sum(place / name) for name in (MODEL, WEIGHTS)}


def _sum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
