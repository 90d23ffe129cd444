"""`eval`: how good the retrieval is, on questions whose right documents are known."""

from __future__ import annotations

import dataclasses
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from agentkit.cli.output import note, put, put_json
from agentkit.cli.quality import measuring
from agentkit.cli.quality.measuring import tell_difference
from agentkit.cli.store import Opener, choose_collection, open_workspace
from agentkit.settings import load_settings

if TYPE_CHECKING:
    from agentkit.retrieval.evaluation.comparing import Difference
    from agentkit.retrieval.store.questions import Measurement

_AGAINST = ("ndcg@10", "recall@10", "mrr@10", "hit_rate")


def evaluate(
    context: typer.Context,
    directory: Annotated[
        Path | None,
        typer.Argument(
            metavar="DIR",
            help="A data set in BEIR's layout, a folder or .zip: corpus, queries, qrels.",
        ),
    ] = None,
    set_name: Annotated[
        str | None,
        typer.Option("--set", help="Instead of DIR: a question set of the retrieval lab."),
    ] = None,
    collection: Annotated[
        str | None,
        typer.Option(
            help="Where the set is asked; by default the collection that it was made for."
        ),
    ] = None,
    mode: Annotated[
        Literal["hybrid", "dense", "lexical"] | None,
        typer.Option(
            help=(
                "By meaning, by words, or both; by default as the collection is searched, hybrid"
                " for DIR."
            )
        ),
    ] = None,
    again: Annotated[
        bool,
        typer.Option(
            "--again",
            help="Instead of DIR: every question set whose collection, index or settings changed.",
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Measure the retrieval on a data set, which leaves your documents alone, or on a collection
    with a question set.
    """
    if again:
        if directory is not None or set_name is not None:
            raise typer.BadParameter("--again takes neither DIR nor --set", context)
        measuring.measure_again(context, collection or "", as_json=as_json)
        return
    if (directory is None) == (set_name is None):
        raise typer.BadParameter("give either DIR or --set", context)
    if directory is not None and collection is not None:
        raise typer.BadParameter("--collection goes with --set", context)
    if set_name:
        found = _measure_set(context, set_name, collection, mode)
    else:
        found = _measure_folder(context, directory, mode, as_json)
    if as_json:
        put_json(found)
        return
    _put_measured(found)


def _put_measured(found: Mapping[str, Any]) -> None:
    """The figures for people, and how they differ from those before."""
    for name, figure in found.items():
        if isinstance(figure, int):
            put(f"{name:<15}{figure:,}")
        elif isinstance(figure, float):
            put(f"{name:<15}{figure:.4f}")
    if against := found.get("against"):
        put("Against the measurement before, from " + against["measured_at"][:16])
        for name in _AGAINST:
            put(f"{name:<15}{against[name]['in_words']}")


def _measure_folder(
    context: typer.Context, directory: Path | None, mode: Any, quiet: bool
) -> dict[str, Any]:
    from agentkit.retrieval import evaluate as measure

    assert directory is not None  # checked by the caller
    opener: Opener = context.obj
    with tempfile.TemporaryDirectory(prefix="agentkit-eval-") as folder:
        settings = dataclasses.replace(load_settings(), data=Path(folder))
        workspace = opener(settings)
        try:
            if not quiet:
                note(f"Taking in {directory} ...")
            started = time.perf_counter()
            found = measure(directory, workspace.embedder, mode or "hybrid")
            seconds = time.perf_counter() - started
        finally:
            workspace.close()
    return {
        "mode": found.mode,
        "ndcg@10": found.ndcg_10,
        "recall@10": found.recall_10,
        "recall@100": found.recall_100,
        "mrr@10": found.mrr_10,
        "seconds": seconds,
        "query_seconds": found.query_seconds,
        "queries": found.queries,
        "documents": found.documents,
    }


def _measure_set(
    context: typer.Context, set_name: str, collection: str | None, mode: Any
) -> dict[str, Any]:
    from agentkit.retrieval.evaluation.measuring import measure

    with open_workspace(context) as workspace:
        owner, library = workspace.settings.owner, workspace.library
        chosen = library.questions.named(owner, set_name)
        asked = choose_collection(workspace, collection or chosen.collection or None)
        options = library.options(owner, asked)
        if mode:
            options = dataclasses.replace(options, mode=mode)
        if options.mode != "lexical":
            workspace.warm()  # the times are those of questions, not of loading the model
        history = library.questions.history(owner, chosen.id)
        before = [one.id for one in history if one.collection == asked][:1]
        measured = measure(library, owner, chosen.id, asked, options)
        earlier = [library.questions.measurement(owner, one) for one in before]
    figures = measured.figures
    named = {
        name.replace("_", "@"): figures[name]
        for name in ("ndcg_10", "recall_1", "recall_5", "recall_10", "recall_100")
    }
    return {
        "set": set_name,
        "collection": asked,
        "mode": options.mode,
        **named,
        "mrr@10": figures["mrr_10"],
        "hit_rate": figures["hit_rate"],
        "query_seconds": figures["mean_s"],
        "p50_seconds": figures["p50_s"],
        "p95_seconds": figures["p95_s"],
        "queries": int(figures["questions"]),
        "intervals": _list_intervals(measured),
        "against": _compare(earlier[0], measured) if earlier else None,
    }


def _list_intervals(measured: Measurement) -> dict[str, Any]:
    """Where each figure lies with 95 % confidence; nothing for one question alone."""
    from agentkit.retrieval.evaluation.comparing import find_intervals

    found = find_intervals(measured.results)
    return {_name_figure(name): one.ends for name, one in found.items()}


def _compare(before: Measurement, after: Measurement) -> dict[str, Any]:
    """How each figure differs from the set's measurement before, and what that is worth."""
    from agentkit.retrieval.evaluation.comparing import compare

    found = compare(before.results, after.results)
    return {
        "measured_at": before.created_at.isoformat(),
        "collection": before.collection,
        "settings": dataclasses.asdict(before.options),
        **{_name_figure(name): _tell(one) for name, one in found.items()},
    }


def _tell(found: Difference) -> dict[str, Any]:
    return {
        "difference": found.interval.mean,
        "interval": found.interval.ends,
        "questions": found.interval.questions,
        "verdict": found.verdict,
        "in_words": tell_difference(found),
    }


def _name_figure(name: str) -> str:
    """As it is told: `ndcg@10`, `hit_rate`."""
    if name[-1].isdigit():
        return name.replace("_", "@")
    return name
