"""Exact search: where a text or a regular expression stands in the documents.

DuckDB does the matching, with RE2: its time is linear in the text whatever the expression is, where
Python's `re` could hang.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from agentkit.core import bus
from agentkit.database import Row
from agentkit.errors import AgentkitError, ConfigError
from agentkit.events import Retrieved
from agentkit.retrieval.store.chunk_table import ChunkTable, IndexRow
from agentkit.retrieval.store.scoping import document_condition, page_condition
from agentkit.retrieval.types import Hit, IndexVersion, Scope

_LONGEST_PATTERN = 1_000
_LINE = 200
"""Characters of a line that are shown at most."""


@dataclass(frozen=True, slots=True)
class Match:
    """A place that fits; `text[start:end]` of the document's text is what was found."""

    document_id: str
    document: str
    """The document's name."""
    chunk_id: int
    """The chunk that it stands in, or most of it."""
    page: int | None
    heading: str
    place: str
    start: int
    end: int
    line: str
    """The lines that it stands in, as far as they are in its chunk; long ones are cut around it."""


def find(
    chunks: ChunkTable,
    version: IndexVersion,
    scope: Scope,
    pattern: str,
    regex: bool,
    match_case: bool,
    limit: int,
) -> list[Match]:
    """The first `limit` places, by the documents' names and then in their order; places never
    overlap, and none is empty.

    In an expression `^` and `$` stand for the ends of lines, and a dot for anything but a line's
    end. Raises ConfigError for an empty pattern, a limit below 1, or an expression that RE2 does
    not know.
    """
    expression = _expression(chunks, pattern, regex, match_case)
    if limit < 1:
        raise ConfigError(f"The limit is {limit}; ask for at least 1 place.")
    spans = list(islice(_spans(chunks, version, scope, expression, limit), limit))
    for _, start, end in spans:
        if start == end:
            raise _fits_nothing(pattern)
    rows = _chunks_at(chunks, version, scope, spans)
    return [_match(rows[number], span) for number, span in enumerate(spans) if number in rows]


def find_passages(
    chunks: ChunkTable,
    versions: Sequence[IndexVersion],
    scope: Scope,
    text: str,
    top_k: int,
    collection: str,
) -> list[Hit]:
    """The first `top_k` chunks in which exactly this text stands, in capitals or not; emits
    Retrieved. Raises ConfigError.

    Of chunks that are the same from their first letter to the last one is given, with the names of
    the other documents.
    """
    began, started = time.time(), time.perf_counter()
    same: dict[str, list[IndexRow]] = {}
    for version in versions:
        # A chunk may hold the text many times, so more places than passages are looked for.
        matches = find(chunks, version, scope, text, False, False, 10 * top_k)
        ids = list(dict.fromkeys(match.chunk_id for match in matches))
        rows = chunks.passages(version, ids)
        for row in [rows[one] for one in ids if one in rows]:
            same.setdefault(row["text"], []).append(row)
        if len(same) >= top_k:
            break
    hits = [_hit(rank, rows) for rank, rows in enumerate(list(same.values())[:top_k], start=1)]
    bus.emit(
        Retrieved(
            text,
            collection,
            "exact",
            [hit.to_json() for hit in hits],
            time.perf_counter() - started,
            began=began,
        )
    )
    return hits


def _expression(chunks: ChunkTable, pattern: str, regex: bool, match_case: bool) -> str:
    if not pattern.strip():
        raise ConfigError("There is nothing to look for; type a text or a regular expression.")
    if len(pattern) > _LONGEST_PATTERN:
        raise ConfigError(
            f"The pattern has {len(pattern):,} characters; give at most {_LONGEST_PATTERN:,}."
        )
    flags = "(?m-s)" if match_case else "(?im-s)"
    expression = flags + (pattern if regex else re.escape(pattern))
    try:
        empty = chunks.database.value("select regexp_matches('', ?)", [expression])
    except AgentkitError:
        raise  # the database cannot be used
    except Exception as error:
        # DuckDB's own, which only the database's module knows; nothing but the expression can be
        # wrong
        reason = str(error).splitlines()[0].removeprefix("Invalid Input Error: ")
        raise ConfigError(
            f"{pattern!r} is not a regular expression that can be used ({reason}); mend it, or look"
            " for it as plain text. The syntax is RE2's, without look-around and back-references."
        ) from error
    if empty:
        raise _fits_nothing(pattern)
    return expression


def _fits_nothing(pattern: str) -> ConfigError:
    return ConfigError(
        f"{pattern!r} fits where nothing stands, so everywhere; write it so that it needs a"
        " character at least."
    )


def _spans(
    chunks: ChunkTable, version: IndexVersion, scope: Scope, expression: str, limit: int
) -> Iterator[tuple[str, int, int]]:
    """(document id, start, end) of what fits."""
    inside, values = document_condition(version, scope)
    pages, numbers = page_condition(scope)
    ranges = f"""select k.document_id, min(k.start_at) as low, max(k.end_at) as high from chunks k
        where k.version_id = ? and {pages} group by k.document_id"""
    # Only lengths leave the database: what lies before each match, and the match itself.
    sql = f"""with ranges as ({ranges}), wanted as (
            select d.id, d.name, r.low, substring(t.text, r.low + 1, r.high - r.low) as text
            from documents d join ranges r on r.document_id = d.id join texts t
            on t.document_id = d.id where {inside}),
        fitting as (select * from wanted where regexp_matches(text, ?) order by name, id limit ?)
        select id, low, list_transform(regexp_split_to_array(text, ?)[1:?],
        lambda part: length(part)) as gaps,
            list_transform(regexp_extract_all(text, ?)[1:?], lambda part: length(part)) as sizes
        from fitting order by name, id"""
    given = [version.id, *numbers, *values, expression, limit, expression, limit, expression, limit]
    for row in chunks.database.rows(sql, given):
        position = row["low"]
        for gap, size in zip(row["gaps"], row["sizes"], strict=False):
            yield row["id"], position + gap, position + gap + size
            position += gap + size


def _chunks_at(
    chunks: ChunkTable, version: IndexVersion, scope: Scope, spans: Sequence[tuple[str, int, int]]
) -> dict[int, Row]:
    """For each span, by its number, the chunk that has most of it, or is nearest to it."""
    if not spans:
        return {}
    pages, numbers = page_condition(scope)
    listed = ", ".join(
        f"({number}, ?, {start}, {end})" for number, (_, start, end) in enumerate(spans)
    )
    sql = f"""with spans(number, document_id, low, high) as (values {listed})
        select s.number, d.name as document, k.id, k.document_id, k.page, k.heading, k.place,
        k.text, k.start_at as start
        from spans s join chunks k on k.document_id = s.document_id join documents d
        on d.id = k.document_id
        where k.version_id = ? and {pages}
        qualify row_number() over (
            partition by s.number order by least(k.end_at, s.high) - greatest(k.start_at, s.low)
            desc, k.ordinal) = 1"""
    rows = chunks.database.rows(
        sql, [*(document for document, _, _ in spans), version.id, *numbers]
    )
    return {row["number"]: row for row in rows}


def _match(row: Row, span: tuple[str, int, int]) -> Match:
    document_id, start, end = span
    line = _line(row["text"], start - row["start"], end - row["start"])
    where = (row["page"], row["heading"], row["place"])
    return Match(document_id, row["document"], row["id"], *where, start, end, line)


def _line(text: str, start: int, end: int) -> str:
    """The whole lines around a span of the text, cut to a length that can be read at a glance."""
    start, end = max(0, min(start, len(text))), max(0, min(end, len(text)))
    low = text.rfind("\n", 0, start) + 1
    high = text.find("\n", end)
    if high < 0:
        high = len(text)

    room = max(0, _LINE - (end - start)) // 2
    first = max(low, start - room)
    last = min(high, end + room)
    shown = " ".join(text[first:last].split())[: _LINE + 20]
    before = "…" if first > low else ""
    after = "…" if last < high else ""
    return f"{before}{shown}{after}"


def _hit(rank: int, rows: Sequence[IndexRow]) -> Hit:
    """The first of chunks with the same text, which names the documents of the others."""
    row = rows[0]
    also_in = dict.fromkeys(
        other["document"] for other in rows if other["document"] != row["document"]
    )
    return Hit(
        rank,
        1.0,
        row["id"],
        row["document_id"],
        row["document"],
        row["page"],
        row["heading"],
        row["place"],
        row["start"],
        row["end"],
        row["text"],
        {},
        (row["id"],),
        tuple(also_in),
    )
