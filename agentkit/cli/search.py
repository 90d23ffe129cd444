"""`search`: the passages that match, with their scores, or the places where a text stands
exactly.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from agentkit.cli.fallback import fallback_fields, note_fallback
from agentkit.cli.output import note, put, put_json
from agentkit.cli.store import chosen_collection, opened
from agentkit.core import bus
from agentkit.errors import ConfigError, NotFound
from agentkit.events import Event, Retrieved

if TYPE_CHECKING:
    from agentkit.retrieval import Hit, Library
    from agentkit.retrieval.store.exact_search import Match
    from agentkit.retrieval.types import Scope

_PAGES = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")
_TIMES = ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"]


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
        list[str] | None,
        typer.Option("--type", help="Only files of this kind, such as pdf; repeatable."),
    ] = None,
    tags: Annotated[
        list[str] | None, typer.Option("--tag", help="Only documents with this tag; repeatable.")
    ] = None,
    documents: Annotated[
        list[str] | None,
        typer.Option("--document", help="Only the document of this name; repeatable."),
    ] = None,
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
    with opened(context) as workspace:
        library, owner = workspace.library, workspace.settings.owner
        searched = chosen_collection(workspace, collection)
        scope = _scope(
            library, owner, searched, types or (), tags or (), documents, page, since, until
        )
        if exact or regex:
            matches = library.find(owner, searched, query, regex=regex, scope=scope, limit=top_k)
            _show_matches(query, searched, matches, as_json)
            return
        chosen = {"mode": mode, "top_k": top_k, "min_score": min_score, "reranker": reranker}
        given: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
        options = dataclasses.replace(library.options(owner, searched), **given)
        heard: list[Event] = []
        with bus.listening(heard.append), workspace.counted(owner, "Command search"):
            hits = library.retrieve(owner, searched, query, options=options, scope=scope)
    told = next(event for event in reversed(heard) if isinstance(event, Retrieved))
    if told.fallback:
        note_fallback(told.fallback)
    if as_json:
        put_json(
            {
                "query": query,
                "collection": searched,
                "mode": told.mode,
                "fallback": fallback_fields(told.fallback),
                "hits": [_hit(hit) for hit in hits],
            }
        )
    elif hits:
        for hit in hits:
            also = f"\n   Nearly the same in: {', '.join(hit.also_in)}" if hit.also_in else ""
            put(
                f"{hit.rank}. {_where(hit)}  (score {hit.score:.3f})\n  "
                f" {' '.join(hit.text.split())}{also}\n"
            )
    else:
        note(f"Nothing in {searched} matches.")


def _scope(
    library: Library,
    owner: str,
    collection: str,
    types: Sequence[str],
    tags: Sequence[str],
    documents: Sequence[str] | None,
    page: str | None,
    since: datetime | None,
    until: datetime | None,
) -> Scope:
    from agentkit.retrieval.types import Scope

    first, last = _pages(page)
    end = until + timedelta(days=1) if until and until == until.replace(hour=0, minute=0) else until
    return Scope(
        _documents(library, owner, collection, documents),
        [
            media_type
            for name in types
            for media_type in _media_types(name, library.media_types(owner, collection))
        ],
        tags,
        since and _utc(since),
        end and _utc(end),
        first,
        last,
    )


def _documents(
    library: Library, owner: str, collection: str, names: Sequence[str] | None
) -> list[str] | None:
    if not names:
        return None
    found = {
        name: [one.id for one in library.documents(owner, collection, name) if one.name == name]
        for name in names
    }
    if missing := [name for name, ids in found.items() if not ids]:
        raise NotFound(
            f"There is no document {missing[0]!r} in {collection}; give its whole name, as `search`"
            " shows it."
        )
    return [one for ids in found.values() for one in ids]


def _media_types(name: str, known: Sequence[str]) -> list[str]:
    """The media types that a name such as `pdf`, `.md` or `text/markdown` stands for."""
    from agentkit.documents.readers import FORMATS

    format_ = FORMATS.get("." + name.lower().lstrip("."))
    if format_ is not None:
        return [format_.media_type]
    if "/" in name:
        return [name.lower()]
    there = f"the collection has {', '.join(known)}" if known else "the collection is empty"
    raise ConfigError(
        f"There is no kind of file {name!r}; give an ending such as pdf, or a media type ({there})."
    )


def _pages(text: str | None) -> tuple[int | None, int | None]:
    if text is None:
        return None, None
    found = _PAGES.fullmatch(text.strip())
    first = int(found[1]) if found else 0
    last = int(found[2] or first) if found else 0
    if not 1 <= first <= last:
        raise ConfigError(f"The page is {text!r}; give a number such as 3, or a range such as 3-9.")
    return first, last


def _utc(local: datetime) -> datetime:
    """A time of this machine as the tables hold it."""
    return local.astimezone(UTC).replace(tzinfo=None)


def _show_matches(query: str, collection: str, matches: Sequence[Match], as_json: bool) -> None:
    if as_json:
        found = [_fields(match) for match in matches]
        put_json({"query": query, "collection": collection, "matches": found})
        return

    for match in matches:
        put(f"{_where(match)}\n   {match.line}\n")
    if not matches:
        note(f"It stands nowhere in {collection}.")


def _hit(hit: Hit) -> dict[str, Any]:
    names = (
        "rank",
        "score",
        "document",
        "chunk_id",
        "page",
        "place",
        "heading",
        "text",
        "scores",
        "also_in",
    )
    return _placed({name: getattr(hit, name) for name in names}, hit)


def _fields(match: Match) -> dict[str, Any]:
    names = ("document", "chunk_id", "page", "place", "heading", "line")
    return _placed({name: getattr(match, name) for name in names}, match)


_SHOWN_AS = {"chunk_id": "chunk"}


def _placed(fields: Mapping[str, object], found: Hit | Match) -> dict[str, Any]:
    """With the names that scripts see for where it is."""
    shown = {_SHOWN_AS.get(name, name): value for name, value in fields.items()}
    return {**shown, "span": [found.start, found.end]}


def _where(found: Hit | Match) -> str:
    place = f"p. {found.page}" if found.page else found.place
    return ", ".join(filter(None, (found.document, place, found.heading)))
