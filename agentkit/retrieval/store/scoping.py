"""Which documents and chunks a scope leaves to be searched."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from agentkit.core.given import pick_given
from agentkit.retrieval.types import IndexVersion, Scope

if TYPE_CHECKING:
    import numpy as np

    from agentkit.retrieval.store.chunk_table import ChunkTable

Condition = tuple[str, list[Any]]
"""SQL for a `where`, and the values of its question marks."""


def find_allowed_chunks(
    chunks: ChunkTable, version: IndexVersion, scope: Scope
) -> np.ndarray | None:
    """The ids (n, int64, ascending) of the version's chunks that the scope leaves; None when it
    does not narrow.
    """
    import numpy as np

    if scope == Scope():
        return None
    inside, values = chunk_condition(version, scope)
    # Sorted here: DuckDB would sort with all its threads, which costs more than it gains for some
    # thousands of numbers.
    found = chunks.database.column(f"select k.id from chunks k where {inside}", values)
    return np.sort(found.astype(np.int64))


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
    conditions: dict[str, object] = {
        "d.collection_id = ?": version.collection_id,
        "d.id in (select unnest(?::varchar[]))": scope.document_ids,
        "d.media_type in (select unnest(?::varchar[]))": scope.media_types or None,
        "list_has_any(d.tags, ?::varchar[])": scope.tags or None,
        "d.created_at >= ?": _naive(scope.added_from),
        "d.created_at < ?": _naive(scope.added_before),
    }
    return _all_of(conditions)


def page_condition(scope: Scope) -> Condition:
    """What chunks `k` in the scope fulfil, as far as it is about pages."""
    return _all_of({"k.page >= ?": scope.first_page, "k.page <= ?": scope.last_page})


def _all_of(conditions: Mapping[str, object]) -> Condition:
    """The conditions in one, each with the value of its question mark; None for a value that does
    not narrow.
    """
    narrowing = pick_given(conditions)
    return " and ".join(["true", *narrowing]), list(narrowing.values())


def _naive(time: datetime | None) -> datetime | None:
    """As the tables hold it."""
    if time is None or time.tzinfo is None:
        return time
    return time.astimezone(UTC).replace(tzinfo=None)
