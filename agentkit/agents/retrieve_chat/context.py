"""Which of the passages that were found go into the prompt: as many as fit, and each only once in a
chat.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

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

    def following(
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
        total = 0
        first = results[0] if results else []
        for index, (document, _) in enumerate(first):
            if index <= self.index or document["id"] in self.ids:
                continue
            tokens = count(document["content"])
            if tokens > max_tokens:
                note(
                    f"{describe(document)} is left out: its {tokens} tokens do not fit into the"
                    f" context ({max_tokens:g})."
                )
                self.index = index
                continue
            if total + tokens > max_tokens or len(taken) == most:
                break
            total += tokens
            self.index = index
            self._take(document)
            taken.append(document["content"])
        return "".join(f"{content}\n" for content in taken)

    def _take(self, document: Document) -> None:
        self.ids.append(document["id"])
        self.contents.append(document["content"])
        source = find_source(document)
        if source and source not in self.sources:
            self.sources.append(source)


def find_source(document: Document) -> str:
    """Where a document is from; "" when it does not say so."""
    return str((document.get("metadata") or {}).get("source") or "")


def describe(document: Document) -> str:
    """How a document is spoken of."""
    name, source = f"passage {document['id']}", find_source(document)
    return f"{name} of {source}" if source else name


def to_query_results(owner: str, given: object) -> QueryResults:
    """Results as lists of (document, distance); those in Chroma's own form, a dict of lists, are
    turned into it.

    Raises WrongType for anything else.
    """
    if isinstance(given, Mapping) and "ids" in given:
        return [_read_row(given, row) for row in range(len(given["ids"]))]
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
        columns.append(values[row] if values else [default] * len(ids))
    return [
        ({"id": id_, "content": content, "metadata": metadata}, float(distance))
        for id_, content, metadata, distance in zip(ids, *columns, strict=True)
    ]
