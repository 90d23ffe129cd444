"""`ingest`: take documents in, and say of each how it ended."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import filterfalse
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentkit.cli.output import count, plain, put, put_json
from agentkit.cli.quality import measuring
from agentkit.cli.store import Listeners, follow, open_workspace
from agentkit.cli.words import describe_retry
from agentkit.errors import ConfigError, DocumentError
from agentkit.events import DocumentDone, DocumentProgress, ModelReplied

if TYPE_CHECKING:
    from rich.progress import Progress

    from agentkit.retrieval import Source
    from agentkit.settings import Settings


_FIELDS = (
    "document",
    "status",
    "chunks",
    "tokens",
    "seconds",
    "error",
    "note",
    "same_as",
    "updated",
)
_SUMMED_UP = ("added", "updated", "unchanged", "failed", "stopped")


def ingest(
    context: typer.Context,
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH", help="Files, folders or web addresses.")
    ],
    collection: Annotated[
        str, typer.Option(help="Where to put them; made when missing.")
    ] = "Documents",
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object a line as each document ends.")
    ] = False,
) -> None:
    """Take documents in: files, whole folders, web addresses."""
    with open_workspace(context) as workspace:
        sources, ends = _find_sources(paths, workspace.settings)
        total = len(sources) + len(ends)
        if not total:
            raise ConfigError(
                f"There are no documents in {', '.join(paths)}; name files, or folders with files"
                " in them."
            )
        with _show_progress(total, as_json) as listeners:
            for refused in ends:
                listeners[DocumentDone](refused)
            if sources:
                run = workspace.ingest(workspace.settings.owner, collection, sources)
                done = follow(run, listeners)
                ends += done
        if not as_json:
            measuring.watch_ingest(workspace, collection)
    if not as_json:
        put(_summarize(ends, collection))
    if "failed" in map(attrgetter("status"), ends):
        raise typer.Exit(1)


def _find_sources(paths: list[str], settings: Settings) -> tuple[list[Source], list[DocumentDone]]:
    """What is to be taken in, and the addresses that are refused."""
    from agentkit.retrieval import source_at, sources_from_paths

    urls = list(filter(_is_url, paths))
    refused = []
    sources = sources_from_paths(list(map(Path, filterfalse(_is_url, paths))))
    for url in urls:
        try:
            sources.append(source_at(url, settings))
        except DocumentError as error:
            refused.append(DocumentDone("", url, "failed", error=str(error)))
    return sources, refused


def _is_url(path: str) -> bool:
    return path.lower().startswith(("http://", "https://"))


def _summarize(ends: list[DocumentDone], collection: str) -> str:
    counts = Counter(map(_name_outcome, ends))
    indexed = [end.chunks for end in ends if end.status == "indexed"]
    ended = [each for each in _SUMMED_UP if counts[each]]
    outcomes = ", ".join(f"{counts[one]:,} {one}" for one in ended)
    return f"{collection}: {outcomes} ({count(sum(indexed), 'new chunk')})."


def _name_outcome(end: DocumentDone) -> str:
    if end.updated:
        return "updated"
    if end.status == "indexed":
        return "added"
    return end.status


@contextmanager
def _show_progress(total: int, as_json: bool) -> Iterator[Listeners]:
    if as_json:
        yield {DocumentDone: _put_done}
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield Bar(progress, total).listeners


def _put_done(done: DocumentDone) -> None:
    fields = dataclasses.asdict(done)
    put_json({name: fields[name] for name in _FIELDS})


class Bar:
    """A bar over all documents with what is at work at the moment, and a line for each document
    that ended.
    """

    def __init__(self, progress: Progress, total: int) -> None:
        self.listeners: Listeners = {
            DocumentProgress: self._show_stage,
            DocumentDone: self._end_document,
            ModelReplied: self._note_retry,
        }
        self._progress = progress
        self._task = progress.add_task("", total=total)

    def _show_stage(self, event: DocumentProgress) -> None:
        if event.stage != "waiting":
            part = ""
            if event.total > 1:
                part = f" {event.done:,}/{event.total:,}"
            stage = f"{event.stage} {plain(event.document)}{part}"
            self._progress.update(self._task, description=stage)

    def _end_document(self, done: DocumentDone) -> None:
        detail = done.error or done.note or _describe_size(done)
        self._print(f"{done.status:<10}{done.document}: {detail}")
        self._progress.advance(self._task)

    def _note_retry(self, reply: ModelReplied) -> None:
        if reply.retry_in_s is not None:
            self._print(describe_retry(reply.model, reply.error_type, reply.retry_in_s))

    def _print(self, line: str) -> None:
        self._progress.console.print(plain(line), markup=False, highlight=False, soft_wrap=True)


def _describe_size(done: DocumentDone) -> str:
    same = ""
    if done.same_as:
        same = f"same content as {done.same_as}; "
    sizes = f"{count(done.chunks, 'chunk')}, {count(done.tokens, 'token')}"
    return f"{same}{sizes}, {done.seconds:.1f} s"
