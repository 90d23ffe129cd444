"""The packaged model as fastembed runs one of one's own, once it was made an ONNX file."""

from __future__ import annotations

import importlib
import os
import subprocess
import sysconfig
from pathlib import Path

import numpy as np

from tests.bench.peers.worker import Work, read, serve


def make(data: Path, folder: Path) -> dict[str, Work]:
    # Only the project's environment has torch, only this one has onnx.
    script = [os.environ["PROJECT_PYTHON"], "-m", "tests.bench.peers.to_onnx"]
    subprocess.run([*script, sysconfig.get_path("purelib"), str(folder)], check=True)
    library = importlib.import_module("fastembed")
    described = importlib.import_module("fastembed.common.model_description")
    library.TextEmbedding.add_custom_model(
        model="packaged",
        pooling=described.PoolingType.MEAN,
        normalization=True,
        sources=described.ModelSource(hf="none/none"),
        dim=384,
        model_file="model.onnx",
    )
    model = library.TextEmbedding("packaged", specific_model_path=str(folder))
    passages = read(data, "passages")
    return {"embed": lambda: np.stack(list(model.embed(passages))).tolist()}


if __name__ == "__main__":
    serve("fastembed", make)
