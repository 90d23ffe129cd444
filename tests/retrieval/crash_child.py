"""Work on a data folder that is killed (`kill -9`) at a given point; run as a program, it takes one
order a line.

For each order a child is forked, which does what the order says and is killed at the n-th time that
it comes by a certain kind of point, or a moment after that. Everything is imported before, so that
a round costs no start of Python; nothing is open then.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import hnswlib  # noqa: F401  # imported once, for all children
import pandas  # noqa: F401
import pyarrow.parquet  # noqa: F401
import tantivy  # noqa: F401

from agentkit.core import bus
from agentkit.database import Database
from agentkit.documents import DocumentText, Limits
from agentkit.documents.child import read_here
from agentkit.documents.jail import content_of
from agentkit.events import DocumentDone, Event
from agentkit.retrieval import FakeEmbedder, Library, sources_from_paths
from agentkit.retrieval.index import graph, indexes, lexical, shown_rows, vector_index
from agentkit.retrieval.ingest import ingest, intake, rebuild
from agentkit.settings import Settings

OWNER, DOCS = "ann", "Docs"
EXACT_BELOW = 50
"""Vectors, below which there is no graph."""


class HereReader:
    """Reads documents in this process: to start a process for it would take longer than all the
    rest.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def __enter__(self) -> HereReader:
        return self

    def __exit__(self, *_: object) -> None: ...

    def read(self, path: Path, name: str) -> DocumentText:
        return read_here(content_of(path, name, self._limits), name, self._limits)

    def stop(self) -> None: ...

    def close(self) -> None: ...


class Points:
    """Counts the points that the work comes by, and sees to it that it is killed at the one of the
    order.
    """

    def __init__(self, order: dict[str, Any], answers: int) -> None:
        self._kind, self._nth, self._delay = order["kind"], order["nth"], order["delay"]
        self._answers = answers
        self.counts: Counter[str] = Counter()

    def tell(self, what: str) -> None:
        os.write(self._answers, what.encode() + b"\n")

    def come_by(self, kind: str) -> None:
        self.counts[kind] += 1
        if kind == self._kind and self.counts[kind] == self._nth:
            self.tell("!")
            if self._delay is None:
                os.killpg(0, signal.SIGKILL)

    def around(self, owner: Any, name: str, before: str, after: str = "") -> None:
        """Make the function of that name come by these points."""
        inner: Callable[..., Any] = getattr(owner, name)

        def outer(*given: Any, **named: Any) -> Any:
            self.come_by(before)
            found = inner(*given, **named)
            if after:
                self.come_by(after)
            return found

        setattr(owner, name, outer)

    def install(self) -> None:
        self.around(os, "fsync", "fsync")
        self.around(os, "replace", "replace", "replaced")
        self.around(shutil, "rmtree", "remove folder", "removed folder")
        self.around(lexical.LexicalIndex, "commit", "commit words", "committed words")
        self.around(shown_rows.ShownRows, "save", "save passages", "saved passages")
        self.around(graph.Graph, "add", "add to graph")
        self.around(graph.Graph, "save", "save graph", "saved graph")
        self.around(Database, "close", "close database")
        cursor = Database._cursor
        Database._cursor = lambda database: WatchedCursor(cursor(database), self)  # type: ignore[method-assign, return-value, assignment]


class WatchedCursor:
    """A cursor of DuckDB whose statements are points."""

    def __init__(self, cursor: Any, points: Points) -> None:
        self._cursor, self._points = cursor, points

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)

    def execute(self, sql: str, *given: Any) -> Any:
        self._points.come_by("commit" if sql == "commit" else "statement")
        found = self._cursor.execute(sql, *given)
        if sql == "commit":
            self._points.come_by("committed")
        return found


def work(order: dict[str, Any], points: Points) -> None:
    """Do what the order says; tells of everything that is acknowledged."""
    if not order["reader"]:
        _set("Jail", HereReader, intake, rebuild)
    _set("EXACT_BELOW", EXACT_BELOW, indexes)
    _set("FAR", 40, vector_index, shown_rows)
    _set("GROUP_DOCUMENTS", 8, ingest, rebuild)
    points.install()
    settings = Settings(data=Path(order["data"]))
    database = Database(settings.data / "agentkit.duckdb")
    library = Library(database, settings, FakeEmbedder())
    library.interrupt_orphans()
    _ORDERS[order["do"]](library, points, order)
    library.close()
    database.close()


def _set(name: str, value: object, *modules: ModuleType) -> None:
    for module in modules:
        assert hasattr(module, name)  # else this would change nothing
        setattr(module, name, value)


def _ingest(library: Library, points: Points, order: dict[str, Any]) -> None:
    def acknowledge(event: Event) -> None:
        if isinstance(event, DocumentDone) and event.status in {"indexed", "unchanged"}:
            points.tell(event.document)

    with bus.listening(acknowledge):
        library.ingest(OWNER, DOCS, sources_from_paths([Path(order["files"])]))


def _delete(library: Library, points: Points, order: dict[str, Any]) -> None:
    ids = {document.name: document.id for document in library.documents(OWNER, DOCS)}
    for name in order["names"]:
        library.delete_documents(OWNER, [ids[name]])
        points.tell(name)


def _promote(library: Library, points: Points, order: dict[str, Any]) -> None:
    for status in library.versions.listed(OWNER, DOCS):
        if not status.version.active:
            library.versions.discard(OWNER, status.version.id)
    version = library.versions.add(OWNER, DOCS, embedder="fake", max_tokens=order["tokens"])
    points.tell("added")
    library.versions.build(OWNER, version.id)
    points.tell("built")
    library.versions.promote(OWNER, version.id)
    points.tell("promoted")


def _export(library: Library, points: Points, order: dict[str, Any]) -> None:
    library.transfer.export(OWNER, DOCS, Path(order["file"]))


def _import(library: Library, points: Points, order: dict[str, Any]) -> None:
    for collection in library.collections(OWNER):
        if collection.name != DOCS:
            library.delete_collection(OWNER, collection.name)
            points.tell(f"-{collection.name}")
    library.transfer.load(OWNER, Path(order["file"]), order["name"])
    points.tell(order["name"])


_ORDERS = {
    "ingest": _ingest,
    "delete": _delete,
    "promote": _promote,
    "export": _export,
    "import": _import,
}


def _forked(order: dict[str, Any]) -> tuple[int, int]:
    """The number of a child that does the work, and where its answers can be read."""
    answers, written = os.pipe()
    child = os.fork()
    if child:
        os.close(written)
        return child, answers
    os.setsid()
    os.close(answers)
    points = Points(order, written)
    try:
        work(order, points)
        points.tell("=" + json.dumps(points.counts))
        os._exit(0)
    except BaseException as error:  # noqa: BLE001  # reported as what it is
        points.tell(f"?{type(error).__name__}: {error}")
        os._exit(1)


def obey(order: dict[str, Any]) -> dict[str, Any]:
    """Have the work done, and killed; gives what it acknowledged, and how it ended."""
    child, answers = _forked(order)
    acknowledged: list[str] = []
    counts, error = {}, ""
    with os.fdopen(answers) as lines:
        for line in lines:
            what = line.removesuffix("\n")
            if what == "!":
                if order["delay"] is not None:
                    time.sleep(order["delay"])
                    os.killpg(child, signal.SIGKILL)
            elif what[0] == "=":
                counts = json.loads(what[1:])
            elif what[0] == "?":
                error = what[1:]
            else:
                acknowledged.append(what)
    _, status = os.waitpid(child, 0)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    return {"acknowledged": acknowledged, "killed": killed, "counts": counts, "error": error}


if __name__ == "__main__":
    for order in sys.stdin:
        sys.stdout.write(json.dumps(obey(json.loads(order))) + "\n")
        sys.stdout.flush()
