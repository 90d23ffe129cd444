"""Retrieval's tables, as numbered migrations, and documents as rows of theirs.

A chunk's id comes from the same sequence as the numbers of deletions, so it is also the number of
the change that added it:
an index that has seen all changes up to a number catches up with what is greater. Tables that grow
have no unique constraints:
their checks are made in the one writing transaction, and DuckDB would keep each such index in
memory.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from agentkit.database import Database, columns
from agentkit.retrieval.types import IndexVersion, StoredDocument

if TYPE_CHECKING:
    import pyarrow


def create_tables(database: Database) -> None:
    """Version 1."""
    for statement in _TABLES:
        database.execute(statement)


def add_versions_and_questions(database: Database) -> None:
    """Version 2: sections to cut documents anew from, tags, settings of collections, and sets of
    questions.
    """
    for statement in _ADDITIONS:
        database.execute(statement)


def add_marks(database: Database) -> None:
    """What people said of passages, for a question of a set."""
    database.execute(
        """create table marks (
        set_id varchar not null, question varchar not null, document varchar not null,
        start_at bigint not null, end_at bigint not null, text varchar not null,
        answers boolean not null, grade integer not null, created_at timestamp not null)"""
    )


def add_repeats(database: Database) -> None:
    """Which sets are measured again or put to teams by themselves, and what people accepted."""
    database.execute("alter table question_sets add column repeats boolean default false")
    database.execute("alter table question_sets add column asks_teams boolean default false")
    database.execute("create table accepted (set_id varchar not null, made_id varchar not null)")


def document_table(
    version: IndexVersion, documents: Sequence[StoredDocument], answers: Sequence[str]
) -> pyarrow.Table:
    """The rows of documents whose contents `answers`; that of its `sha256` is the one last given
    to each.
    """
    import pyarrow

    given = {name: list(map(attrgetter(name), documents)) for name in FIELDS}
    given["pending_sha256"], given["sha256"] = given["sha256"], list(answers)
    given["version_id"] = [version.id] * len(documents)
    return pyarrow.table({name: _make_column(name, values) for name, values in given.items()})


def _make_column(name: str, values: Sequence[Any]) -> pyarrow.Array:
    make = _COLUMNS.get(name)
    return make(values) if make else columns.texts(values)


MIGRATIONS = (create_tables, add_versions_and_questions, add_marks, add_repeats)

_TABLES = (
    "create sequence changes start 1",
    """create table collections (
        id varchar not null, owner varchar not null, name varchar not null, hidden boolean not null,
        created_at timestamp not null)""",
    """create table index_versions (
        id varchar not null, collection_id varchar not null, embedder varchar not null,
        dimension integer not null,
        splitter json not null, details json not null, state varchar not null,
        created_at timestamp not null)""",
    """create table documents (
        id varchar not null, collection_id varchar not null, version_id varchar not null,
        name varchar not null,
        source varchar not null, sha256 varchar not null, pending_sha256 varchar not null,
        bytes bigint not null,
        media_type varchar not null, title varchar not null, pages integer, status varchar not null,
        error varchar not null, note varchar not null, chunks bigint not null,
        tokens bigint not null, seconds double not null,
        created_at timestamp not null, updated_at timestamp not null)""",
    "create table texts (document_id varchar not null, text varchar not null)",
    """create table chunks (
        id bigint not null, version_id varchar not null, document_id varchar not null,
        ordinal integer not null,
        text varchar not null, heading varchar not null, page integer, place varchar not null,
        start_at bigint not null,
        end_at bigint not null, tokens integer not null, embedding float[] not null)""",
    (
        "create table tombstones (change bigint not null, version_id varchar not null, chunk_id"
        " bigint not null)"
    ),
)
_ADDITIONS = (
    "alter table collections add column settings json default '{}'",
    "alter table documents add column tags varchar[] default []",
    "alter table texts add column sections json",
    """create table question_sets (
        id varchar not null, owner varchar not null, name varchar not null,
        collection varchar not null,
        created_at timestamp not null)""",
    """create table questions (
        set_id varchar not null, ordinal integer not null, text varchar not null,
        expected json not null)""",
    """create table measurements (
        id varchar not null, set_id varchar not null, collection varchar not null,
        version_id varchar not null,
        settings json not null, figures json not null, created_at timestamp not null)""",
)
FIELDS = [field.name for field in dataclasses.fields(StoredDocument)]
_COLUMNS: Mapping[str, Callable[[Any], pyarrow.Array]] = {
    "bytes": columns.whole_numbers,
    "chunks": columns.whole_numbers,
    "tokens": columns.whole_numbers,
    "pages": columns.whole_numbers,
    "seconds": columns.numbers,
    "created_at": columns.times,
    "updated_at": columns.times,
    "tags": columns.lists_of_texts,
}
"""The fields of a document with other values than texts."""
