"""Scopes as SQL leave what a filter written by hand leaves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentkit.database import Database
from agentkit.retrieval.store.chunk_table import ChunkTable
from agentkit.retrieval.store.schema import MIGRATIONS
from agentkit.retrieval.store.scoping import find_allowed_chunks
from agentkit.retrieval.types import IndexVersion, Scope

NOW = datetime.fromisoformat("2026-05-01T12:00")
TYPES = ["application/pdf", "text/markdown", "text/plain"]
TAGS = ["draft", "law", "it's", "2026"]
HERE = IndexVersion("v", "c", "fake", 1, 200)


@dataclass(frozen=True)
class Stored:
    """The tables, and the same in Python: (chunk id, its page, its document's row)."""

    table: ChunkTable
    chunks: list[tuple[int, int | None, dict[str, Any]]]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stored]:
    database = Database(tmp_path_factory.mktemp("scoping") / "test.duckdb")
    database.migrate("retrieval", MIGRATIONS)
    documents: list[dict[str, Any]] = [
        {
            "id": f"d{n}",
            "collection_id": "c" if n < 20 else "another",
            "version_id": "v",
            "name": f"n{n}",
            "source": f"s{n}",
            "sha256": "",
            "pending_sha256": "",
            "bytes": 1,
            "media_type": TYPES[n % 3],
            "title": "",
            "pages": None,
            "status": "indexed",
            "error": "",
            "note": "",
            "chunks": 5,
            "tokens": 5,
            "seconds": 0.0,
            "created_at": NOW + timedelta(days=n),
            "updated_at": NOW,
            "tags": TAGS[: n % 5] if n % 2 else TAGS[n % 4 :],
        }
        for n in range(24)
    ]
    database.insert_arrow("documents", pyarrow.Table.from_pylist(documents))
    chunks: list[dict[str, Any]] = []
    for number in range(120, 0, -1):  # not in the order of their ids
        document = documents[number % 24]
        page = None if number % 3 == 0 else number // 12
        version = "v" if number % 10 else "beside"
        chunks.append(
            {
                "id": number,
                "version_id": version,
                "document_id": document["id"],
                "ordinal": number,
                "text": "",
                "heading": "",
                "page": page,
                "place": "",
                "start_at": 0,
                "end_at": 1,
                "tokens": 1,
                "embedding": [1.0],
            }
        )
    database.insert_arrow("chunks", pyarrow.Table.from_pylist(chunks))
    here = [
        (chunk["id"], chunk["page"], documents[chunk["id"] % 24])
        for chunk in chunks
        if chunk["version_id"] == "v" and documents[chunk["id"] % 24]["collection_id"] == "c"
    ]
    yield Stored(ChunkTable(database), here)
    database.close()


def fits(scope: Scope, page: int | None, document: dict[str, Any]) -> bool:
    return (
        (scope.document_ids is None or document["id"] in scope.document_ids)
        and (not scope.media_types or document["media_type"] in scope.media_types)
        and (not scope.tags or bool(set(scope.tags) & set(document["tags"])))
        and (scope.added_from is None or document["created_at"] >= scope.added_from)
        and (scope.added_before is None or document["created_at"] < scope.added_before)
        and (scope.first_page is None or (page is not None and page >= scope.first_page))
        and (scope.last_page is None or (page is not None and page <= scope.last_page))
    )


TIMES = st.none() | st.integers(-1, 25).map(lambda days: NOW + timedelta(days=days))
SCOPES = st.builds(
    Scope,
    st.none() | st.lists(st.integers(0, 25).map(lambda n: f"d{n}"), max_size=8),
    st.lists(st.sampled_from([*TYPES, "image/png"]), max_size=2),
    st.lists(st.sampled_from([*TAGS, "none", ""]), max_size=2),
    TIMES,
    TIMES,
    st.none() | st.integers(0, 12),
    st.none() | st.integers(0, 12),
)


@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(scope=SCOPES)
def test_scopes_agree_with_a_filter_by_hand(stored: Stored, scope: Scope) -> None:
    found = find_allowed_chunks(stored.table, HERE, scope)
    wanted = sorted(
        number for number, page, document in stored.chunks if fits(scope, page, document)
    )
    if found is None:
        assert wanted == sorted(number for number, _, _ in stored.chunks)
    else:
        assert found.dtype == np.int64
        assert found.tolist() == wanted


def test_nothing_given_does_not_narrow_but_no_documents_do(stored: Stored) -> None:
    assert find_allowed_chunks(stored.table, HERE, Scope()) is None
    none = find_allowed_chunks(stored.table, HERE, Scope(document_ids=()))
    assert none is not None
    assert none.tolist() == []


def test_documents_of_another_collection_are_not_reached_by_their_ids(stored: Stored) -> None:
    found = find_allowed_chunks(stored.table, HERE, Scope(document_ids=["d20", "d21", "d1"]))
    assert found is not None
    assert {number % 24 for number in found.tolist()} == {1}


def test_times_with_a_zone_are_understood(stored: Stored) -> None:
    zone = timezone(timedelta(hours=5))
    naive = find_allowed_chunks(stored.table, HERE, Scope(added_from=NOW + timedelta(days=3)))
    aware = find_allowed_chunks(
        stored.table,
        HERE,
        Scope(added_from=(NOW + timedelta(days=3)).replace(tzinfo=UTC).astimezone(zone)),
    )
    assert naive is not None
    assert aware is not None
    assert naive.tolist() == aware.tolist() != []


def test_a_scope_is_only_a_path_to_ids(tmp_path: Path, stored: Stored) -> None:
    found = find_allowed_chunks(
        stored.table,
        HERE,
        Scope(tags=["' or true --"], document_ids=["d1'); drop table chunks; --"]),
    )
    assert found is not None
    assert len(found) == 0
