"""`ingest`: take documents in, and say of each how it ended."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentkit.cli.output import plain, put, put_json
from agentkit.cli.store import opened, stopped_by_interrupt
from agentkit.cli.words import retry
from agentkit.errors import ConfigError, DocumentError
from agentkit.events import DocumentDone, DocumentProgress, Event, ModelReplied

if TYPE_CHECKING:
    from rich.progress import Progress

    from agentkit.retrieval import Source
    from agentkit.runs import Run
    from agentkit.settings import Settings


Show = Callable[[Event], None]
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
_SAID = {"indexed": "added"}


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
    with opened(context) as workspace:
        sources, ends = _sources(paths, workspace.settings)
        if not sources and not ends:
            raise ConfigError(
                f"There are no documents in {', '.join(paths)}; name files, or folders with files"
                " in them."
            )
        with _shown(as_json, len(sources) + len(ends)) as show:
            for refused in ends:
                show(refused)
            if sources:
                run = workspace.ingest(workspace.settings.owner, collection, sources)
                ends += _followed(run, show)
    if not as_json:
        put(_summary(ends, collection))
    if any(end.status == "failed" for end in ends):
        raise typer.Exit(1)


def _followed(run: Run[list[DocumentDone]], show: Show) -> list[DocumentDone]:
    with stopped_by_interrupt(run):
        for recorded in run:
            show(recorded.event)
    return run.result()


def _sources(paths: list[str], settings: Settings) -> tuple[list[Source], list[DocumentDone]]:
    """What is to be taken in, and what is no web address."""
    from agentkit.retrieval import source_at, sources_from_paths

    sources, refused = sources_from_paths([Path(path) for path in paths if not _is_url(path)]), []
    for url in filter(_is_url, paths):
        try:
            sources.append(source_at(url, settings))
        except DocumentError as error:
            refused.append(DocumentDone("", url, "failed", error=str(error)))
    return sources, refused


def _is_url(path: str) -> bool:
    return path.lower().startswith(("http://", "https://"))


def _summary(ends: list[DocumentDone], collection: str) -> str:
    counts = Counter(
        "updated" if end.updated else _SAID.get(end.status, end.status) for end in ends
    )
    chunks = sum(end.chunks for end in ends if end.status == "indexed")
    order = ("added", "updated", "unchanged", "failed", "stopped")
    said = ", ".join(f"{counts[status]:,} {status}" for status in order if counts[status])
    return f"{collection}: {said} ({_count(chunks, 'new chunk')})."


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


@contextmanager
def _shown(as_json: bool, total: int) -> Iterator[Show]:
    if as_json:
        yield _show_json
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
        yield _Bar(progress, total)


def _show_json(event: Event) -> None:
    if isinstance(event, DocumentDone):
        fields = dataclasses.asdict(event)
        put_json({name: fields[name] for name in _FIELDS})


class _Bar:
    """A bar over all documents with what is at work at the moment, and a line for each document
    that ended.
    """

    def __init__(self, progress: Progress, total: int) -> None:
        self.progress = progress
        self.task = progress.add_task("", total=total)

    def __call__(self, event: Event) -> None:
        if isinstance(event, DocumentProgress) and event.stage != "waiting":
            part = f" {event.done:,}/{event.total:,}" if event.total > 1 else ""
            self.progress.update(
                self.task, description=f"{event.stage} {plain(event.document)}{part}"
            )
        elif isinstance(event, DocumentDone):
            self._end(event)
        elif isinstance(event, ModelReplied) and event.retry_in_s is not None:
            told = f"{event.model}: {retry(event.error_type, event.retry_in_s)}"
            self.progress.console.print(plain(told), markup=False, highlight=False, soft_wrap=True)

    def _end(self, done: DocumentDone) -> None:
        sizes = (
            f"{_count(done.chunks, 'chunk')}, {_count(done.tokens, 'token')}, {done.seconds:.1f} s"
        )
        same = f"same content as {done.same_as}; " if done.same_as else ""
        detail = done.error or done.note or f"{same}{sizes}"
        line = f"{done.status:<10}{plain(done.document)}: {plain(detail)}"
        self.progress.console.print(line, markup=False, highlight=False, soft_wrap=True)
        self.progress.advance(self.task)
