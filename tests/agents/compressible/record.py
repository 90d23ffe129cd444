"""Write what pyautogen gives: `<a Python with pyautogen 0.2.34> -m
tests.agents.compressible.record`, from the project's root.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import logging
import lzma
import os
import sys
import tempfile
import warnings
from pathlib import Path

from tests.agents.compressible.scenarios import ORACLE, SCENARIOS, play

FILE = Path(__file__).with_name("recorded.json")
ORIGIN = "pyautogen 0.2.34"
RANKS = Path(__file__).parents[3] / "agentkit" / "llm" / "ranks" / "cl100k_base.tiktoken.xz"
ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken"


def lend_tokenizer(folder: str) -> None:
    """Let the oracle's tiktoken find our copy of the tokenizer, so that it asks no network."""
    name = hashlib.sha1(ADDRESS.encode(), usedforsecurity=False).hexdigest()
    Path(folder, name).write_bytes(lzma.decompress(RANKS.read_bytes()))
    os.environ["TIKTOKEN_CACHE_DIR"] = folder


def main() -> int:
    """Record every scenario; the exit status."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    version = importlib.import_module(ORACLE).__version__
    if version != ORIGIN.split()[1]:
        sys.stderr.write(f"the oracle must be {ORIGIN}, not {version}\n")
        return 1
    with (
        open(os.devnull, "w", encoding="utf-8") as nowhere,
        contextlib.redirect_stdout(nowhere),
        tempfile.TemporaryDirectory() as folder,
    ):
        lend_tokenizer(folder)
        given = {name: play(name, ORACLE) for name in sorted(SCENARIOS)}
    lines = [
        f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
        for name, value in given.items()
    ]
    FILE.write_text(
        f'{{"origin": {json.dumps(ORIGIN)}, "scenarios": {{\n' + ",\n".join(lines) + "\n}}\n",
        encoding="utf-8",
    )
    same = [
        name
        for name, (_, better, expected) in SCENARIOS.items()
        if better and given[name] == expected
    ]
    sys.stderr.write("".join(f"{name}: ours is no better\n" for name in same))
    return 1 if same else 0


if __name__ == "__main__":
    sys.exit(main())
