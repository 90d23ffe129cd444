"""The command line over the stand-in embedder, as a program of its own: `python -m
tests.cli.program ingest ...`.

`EMBEDDING_DELAY_S` makes every embedding take so long, for tests that interrupt an ingest.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence

import numpy as np

from agentkit.api import Workspace
from agentkit.cli import main
from agentkit.retrieval import FakeEmbedder
from agentkit.settings import Settings


class SlowEmbedder(FakeEmbedder):
    """Takes its time for every call."""

    def __init__(self, delay_s: float) -> None:
        super().__init__()
        self.delay_s = delay_s

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        time.sleep(self.delay_s)
        return super().embed(texts)


def open_with_fake(settings: Settings) -> Workspace:
    """A workspace that needs no model."""
    return Workspace(settings, SlowEmbedder(float(os.environ.get("EMBEDDING_DELAY_S", "0"))))


if __name__ == "__main__":
    sys.exit(main(opener=open_with_fake))
