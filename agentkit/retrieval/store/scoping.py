"""Which documents and chunks a scope leaves to be searched."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from agentkit.retrieval.types import IndexVersion, Scope

if TYPE_CHECKING:
    import numpy as np

    from agentkit.retrieval.store.chunk_table import ChunkTable

Condition = tuple[str, list[Any]]
"""SQL for a `where`, and the values of its question marks."""


def allowed_chunks(chunks: ChunkTable, version: IndexVersion, scope: Scope) -> np.ndarray | None:
    """The ids (n, int64, ascending) of the version's chunks that the scope leaves; None when it
    does not narrow.
    """
    import numpy as np

    if scope == Scope():
        return None
    inside, values = chunk_condition(version, scope)
    # Sorted here: DuckDB would sort with all its threads, which costs more than it gains for some
    # thousands of numbers.
    found = chunks.database.arrow(f"select k.id from chunks k where {inside}", values)
    return np.sort(found.column("id").to_numpy().astype(np.int64))


def chunk_condition(version: IndexVersion, scope: Scope) -> Condition:
    """What chunks `k` in the scope fulfil."""
    inside, values = document_condition(version, scope)
    pages, numbers = page_condition(scope)
    chosen = (
        f"k.version_id = ? and k.document_id in (select d.id from documents d where {inside}) and"
        f" {pages}"
    )
    return chosen, [version.id, *values, *numbers]


def document_condition(version: IndexVersion, scope: Scope) -> Condition:
    """What documents `d` in the scope fulfil, as far as it is about documents."""
    wanted: list[tuple[str, Any]] = [("d.collection_id = ?", version.collection_id)]
    if scope.document_ids is not None:
        wanted.append(("d.id in (select unnest(?::varchar[]))", list(scope.document_ids)))
    if scope.media_types:
        wanted.append(("d.media_type in (select unnest(?::varchar[]))", list(scope.media_types)))
    if scope.tags:
        wanted.append(("list_has_any(d.tags, ?::varchar[])", list(scope.tags)))
    if scope.added_from is not None:
        wanted.append(("d.created_at >= ?", _naive(scope.added_from)))
    if scope.added_before is not None:
        wanted.append(("d.created_at < ?", _naive(scope.added_before)))
    return " and ".join(part for part, _ in wanted), [value for _, value in wanted]


def page_condition(scope: Scope) -> Condition:
    """What chunks `k` in the scope fulfil, as far as it is about pages."""
    wanted = [
        (f"k.page {sign} ?", page)
        for sign, page in ((">=", scope.first_page), ("<=", scope.last_page))
        if page is not None
    ]
    return " and ".join(["true", *(part for part, _ in wanted)]), [page for _, page in wanted]


def _naive(time: datetime) -> datetime:
    """As the tables hold it."""
    return time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time
