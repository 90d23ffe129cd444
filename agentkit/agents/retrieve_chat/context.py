"""Which of the passages that were found go into the prompt: as many as fit, and each only once in a
chat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any

from agentkit.core.given import coalesce
from agentkit.errors import WrongType

if TYPE_CHECKING:
    from agentkit.agents.retrieve_chat.vectordb.base import Document, QueryResults


@dataclass
class Context:
    """What was found, how far it was read, and what has been in a prompt since the question was
    asked.
    """

    results: QueryResults = field(default_factory=list)
    """For each query the documents with their distances, nearest first."""
    index: int = -1
    """The last of the results that was looked at."""
    contents: list[str] = field(default_factory=list)
    ids: list[object] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    """Where the passages of the present prompt are from."""

    def choose_next(
        self,
        results: QueryResults,
        most: int | None,
        max_tokens: float,
        count: Callable[[str], int],
        note: Callable[[str], None],
    ) -> str:
        """The next passages: at most so many and so many tokens, none that was in a prompt before;
        "" when there are none.
        """
        self.sources = []
        taken: list[str] = []
        left = max_tokens
        for index, document in self._list_unread(results):
            tokens = count(document["content"])
            if tokens > max_tokens:
                note(
                    f"{describe(document)} is left out: its {tokens} tokens do not fit into the"
                    f" context ({max_tokens:g})."
                )
                self.index = index
                continue
            if tokens > left or len(taken) == most:
                break
            left -= tokens
            self.index = index
            self._take(document)
            taken.append(f"{document['content']}\n")
        return "".join(taken)

    def _list_unread(self, results: QueryResults) -> Iterator[tuple[int, Document]]:
        """Those behind what was looked at, but for what was in a prompt; with their places."""
        numbered = enumerate(find_first(results))
        for index, (document, _) in islice(numbered, self.index + 1, None):
            if document["id"] not in self.ids:
                yield index, document

    def _take(self, document: Document) -> None:
        self.ids.append(document["id"])
        self.contents.append(document["content"])
        source = find_source(document)
        if source not in ("", *self.sources):
            self.sources.append(source)


def find_first(results: QueryResults) -> list[tuple[Document, float]]:
    """The documents of the first query."""
    return next(iter(results), [])


def find_source(document: Document) -> str:
    """Where a document is from; "" when it does not say so."""
    metadata = coalesce(document.get("metadata"), {})
    return str(metadata.get("source") or "")


def describe(document: Document) -> str:
    """How a document is spoken of."""
    name, source = f"passage {document['id']}", find_source(document)
    if not source:
        return name
    return f"{name} of {source}"


def to_query_results(owner: str, given: object) -> QueryResults:
    """Results as lists of (document, distance); those in Chroma's own form, a dict of lists, are
    turned into it.

    Raises WrongType for anything else.
    """
    if isinstance(given, Mapping) and "ids" in given:
        rows = range(len(given["ids"]))
        return [_read_row(given, row) for row in rows]
    if not isinstance(given, list | tuple):
        raise WrongType(
            f"{owner}: what was retrieved must be a list with (document, distance) pairs for each"
            f" query, or Chroma's dict with ids and documents, not {given!r:.200}; does"
            " query_vector_db or retrieve_docs return or set it?"
        )
    return given  # type: ignore[return-value]  # a custom database answers for what it gives


def _read_row(given: Mapping[str, Any], row: int) -> list[tuple[Document, float]]:
    """The results of one query; where documents, metadata or distances are lacking, what stands for
    them.
    """
    ids = given["ids"][row]
    columns = []
    for key, default in (("documents", ""), ("metadatas", None), ("distances", 0.0)):
        values = given.get(key)
        columns.append(values[row] if values else repeat(default, len(ids)))
    return list(map(_to_hit, ids, *columns))


def _to_hit(number: Any, content: str, metadata: Any, distance: Any) -> tuple[Document, float]:
    return {"id": number, "content": content, "metadata": metadata}, float(distance)
