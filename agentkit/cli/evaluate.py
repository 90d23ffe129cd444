"""`eval`: how good the retrieval is, on questions whose right documents are known."""

from __future__ import annotations

import dataclasses
import tempfile
import time
from pathlib import Path
from typing import Annotated, Literal

import typer

from agentkit.cli.output import note, put, put_json
from agentkit.cli.store import Opener
from agentkit.settings import load_settings


def evaluate(
    context: typer.Context,
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A data set in BEIR's layout: corpus, queries, qrels.")],
    mode: Annotated[Literal["hybrid", "dense", "lexical"], typer.Option(help="By meaning, by words, or both.")] = "hybrid",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Measure the retrieval on a data set; your own documents are not touched."""
    from agentkit.retrieval import evaluate as measure

    opener: Opener = context.obj
    with tempfile.TemporaryDirectory(prefix="agentkit-eval-") as folder:
        settings = dataclasses.replace(load_settings(), data=Path(folder))
        workspace = opener(settings)
        try:
            if not as_json:
                note(f"Taking in {directory} ...")
            started = time.perf_counter()
            found = measure(directory, workspace.embedder, mode)
            seconds = time.perf_counter() - started
        finally:
            workspace.close()
    figures = {
        "ndcg@10": found.ndcg_10, "recall@10": found.recall_10, "recall@100": found.recall_100, "mrr@10": found.mrr_10,
        "seconds": seconds, "query_seconds": found.query_seconds, "queries": found.queries, "documents": found.documents,
    }  # fmt: skip
    if as_json:
        put_json({"mode": mode, **figures})
        return
    for name, figure in figures.items():
        put(f"{name:<15}{figure:,}" if isinstance(figure, int) else f"{name:<15}{figure:.4f}")
