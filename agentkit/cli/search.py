"""`search`: the passages that match, with their scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from agentkit.cli.output import note, put, put_json
from agentkit.cli.store import chosen_collection, opened

if TYPE_CHECKING:
    from agentkit.retrieval import Hit


def search(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="What to look for.")],
    collection: Annotated[str | None, typer.Option(help='Where to look; by default "Documents", or the only one.')] = None,
    top_k: Annotated[int, typer.Option("-k", "--top-k", min=1, max=1000, help="How many passages.")] = 10,
    mode: Annotated[Literal["hybrid", "dense", "lexical"], typer.Option(help="By meaning, by words, or both.")] = "hybrid",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Search a collection, best passages first."""
    with opened(context) as workspace:
        searched = chosen_collection(workspace, collection)
        hits = workspace.library.retrieve(workspace.settings.owner, searched, query, top_k=top_k, mode=mode)
    if as_json:
        put_json({"query": query, "collection": searched, "mode": mode, "hits": [_hit(hit) for hit in hits]})
    elif hits:
        for hit in hits:
            put(f"{hit.rank}. {_where(hit)}  (score {hit.score:.3f})\n   {' '.join(hit.text.split())}\n")
    else:
        note(f"Nothing in {searched} matches.")


def _hit(hit: Hit) -> dict[str, Any]:
    names = ("rank", "score", "document", "chunk_id", "page", "place", "heading", "text", "scores")
    fields = {("chunk" if name == "chunk_id" else name): getattr(hit, name) for name in names}
    return {**fields, "span": [hit.start, hit.end]}


def _where(hit: Hit) -> str:
    place = f"p. {hit.page}" if hit.page else hit.place
    return ", ".join(part for part in (hit.document, place, hit.heading) if part)
