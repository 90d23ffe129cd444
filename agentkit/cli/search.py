"""`search`: the passages that match, with their scores, or the places where a text stands
exactly.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from agentkit.cli.fallback import fallback_fields, note_fallback
from agentkit.cli.output import describe_place, note, put, put_json
from agentkit.cli.store import choose_collection, open_workspace
from agentkit.core import bus
from agentkit.core.given import pick_given, pick_kind
from agentkit.errors import ConfigError, NotFound
from agentkit.events import Event, Retrieved

if TYPE_CHECKING:
    from agentkit.retrieval import Hit, Library
    from agentkit.retrieval.store.exact_search import Match

_PAGES = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")
_TIMES = ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"]
_NONE: list[str] = []


def search(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="What to look for.")],
    collection: Annotated[
        str | None, typer.Option(help='Where to look; by default "Documents", or the only one.')
    ] = None,
    top_k: Annotated[
        int, typer.Option("-k", "--top-k", min=1, max=1000, help="How many passages.")
    ] = 10,
    mode: Annotated[
        Literal["hybrid", "dense", "lexical"] | None,
        typer.Option(
            help=(
                "By meaning (dense), by words, or both; by default as the collection is searched in"
                " chats."
            )
        ),
    ] = None,
    types: Annotated[
        list[str],
        typer.Option("--type", help="Only files of this kind, such as pdf; repeatable."),
    ] = _NONE,
    tags: Annotated[
        list[str], typer.Option("--tag", help="Only documents with this tag; repeatable.")
    ] = _NONE,
    documents: Annotated[
        list[str],
        typer.Option("--document", help="Only the document of this name; repeatable."),
    ] = _NONE,
    page: Annotated[
        str | None, typer.Option(help="Only on this page, such as 3, or these, such as 3-9.")
    ] = None,
    since: Annotated[
        datetime | None, typer.Option(formats=_TIMES, help="Only documents added then or later.")
    ] = None,
    until: Annotated[
        datetime | None,
        typer.Option(formats=_TIMES, help="Only documents added by then; the day counts."),
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Where exactly this text stands, in capitals or not.")
    ] = False,
    regex: Annotated[
        bool, typer.Option("--regex", help="Where the text fits this regular expression.")
    ] = False,
    min_score: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Leave passages with a lower final score out."),
    ] = None,
    reranker: Annotated[
        str | None, typer.Option(help="Which reranker reads the best passages once more.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Search a collection, best passages first."""
    from agentkit.retrieval.types import Scope

    chosen = {"mode": mode, "top_k": top_k, "min_score": min_score, "reranker": reranker}
    given: dict[str, Any] = pick_given(chosen)
    pages = _parse_pages(page)
    with open_workspace(context) as workspace:
        library, owner = workspace.library, workspace.settings.owner
        searched = choose_collection(workspace, collection)
        scope = Scope(
            _find_documents(library, owner, searched, documents),
            _find_media_types(library, owner, searched, types),
            tags,
            _to_utc(since),
            _to_utc(_find_end(until)),
            *pages,
        )
        if exact or regex:
            matches = library.find(owner, searched, query, regex=regex, scope=scope, limit=top_k)
            _show_matches(query, searched, matches, as_json)
            return
        options = dataclasses.replace(library.options(owner, searched), **given)
        heard: list[Event] = []
        with bus.listening(heard.append), workspace.counted(owner, "Command search"):
            hits = library.retrieve(owner, searched, query, options=options, scope=scope)
    told = pick_kind(heard, Retrieved)[-1]
    if told.fallback:
        note_fallback(told.fallback)
    if as_json:
        put_json(
            {
                "query": query,
                "collection": searched,
                "mode": told.mode,
                "fallback": fallback_fields(told.fallback),
                "hits": list(map(_hit_to_json, hits)),
            }
        )
    else:
        _show_hits(searched, hits)


def _find_documents(
    library: Library, owner: str, collection: str, names: Sequence[str]
) -> list[str] | None:
    """The ids of the documents with these names; None where no names are given."""
    if not names:
        return None
    ids: list[str] = []
    for name in names:
        known = library.documents(owner, collection, name)
        named = [one.id for one in known if one.name == name]
        if not named:
            raise NotFound(
                f"There is no document {name!r} in {collection}; give its whole name, as `search`"
                " shows it."
            )
        ids += named
    return ids


def _find_media_types(
    library: Library, owner: str, collection: str, names: Sequence[str]
) -> list[str]:
    """The media types that these names stand for."""
    return [_find_media_type(library, owner, collection, name) for name in names]


def _find_media_type(library: Library, owner: str, collection: str, name: str) -> str:
    """The media type that a name such as `pdf`, `.md` or `text/markdown` stands for."""
    from agentkit.documents.readers import FORMATS

    format_ = FORMATS.get("." + name.lower().lstrip("."))
    if format_ is not None:
        return format_.media_type
    if "/" in name:
        return name.lower()
    known = library.media_types(owner, collection)
    there = "the collection is empty"
    if known:
        there = f"the collection has {', '.join(known)}"
    raise ConfigError(
        f"There is no kind of file {name!r}; give an ending such as pdf, or a media type ({there})."
    )


def _parse_pages(text: str | None) -> tuple[int | None, int | None]:
    """The first and the last page of `3` or `3-9`."""
    if text is None:
        return None, None
    found = _PAGES.fullmatch(text.strip())
    first = last = 0
    if found is not None:
        first = int(found[1])
        last = int(found[2] or first)
    if not 1 <= first <= last:
        raise ConfigError(f"The page is {text!r}; give a number such as 3, or a range such as 3-9.")
    return first, last


def _find_end(until: datetime | None) -> datetime | None:
    """The end of a day, or the given time of it."""
    if until is None:
        return None
    if until.time() == time.min:
        return until + timedelta(days=1)
    return until


def _to_utc(local: datetime | None) -> datetime | None:
    """A time of this machine as the tables hold it."""
    if local is None:
        return None
    return local.astimezone(UTC).replace(tzinfo=None)


def _show_matches(query: str, collection: str, matches: Sequence[Match], as_json: bool) -> None:
    if as_json:
        found = list(map(_match_to_json, matches))
        put_json({"query": query, "collection": collection, "matches": found})
        return
    for match in matches:
        put(f"{describe_place(match)}\n   {match.line}\n")
    if not matches:
        note(f"It stands nowhere in {collection}.")


def _show_hits(collection: str, hits: Sequence[Hit]) -> None:
    for hit in hits:
        put(f"{hit.rank}. {describe_place(hit)}  (score {hit.score:.3f})")
        put(f"   {' '.join(hit.text.split())}")
        if hit.also_in:
            put(f"   Nearly the same in: {', '.join(hit.also_in)}")
        put("")
    if not hits:
        note(f"Nothing in {collection} matches.")


def _hit_to_json(hit: Hit) -> dict[str, object]:
    return {
        "rank": hit.rank,
        "score": hit.score,
        "document": hit.document,
        "chunk": hit.chunk_id,
        "page": hit.page,
        "place": hit.place,
        "heading": hit.heading,
        "text": hit.text,
        "scores": hit.scores,
        "also_in": hit.also_in,
        "span": [hit.start, hit.end],
    }


def _match_to_json(match: Match) -> dict[str, object]:
    return {
        "document": match.document,
        "chunk": match.chunk_id,
        "page": match.page,
        "place": match.place,
        "heading": match.heading,
        "line": match.line,
        "span": [match.start, match.end],
    }
