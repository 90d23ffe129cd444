"""What a SELECT that somebody wrote reads, as DuckDB's own parser understands it; all else is
refused before anything runs.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentkit.database.asked.named import find_named, list_nodes
from agentkit.database.asked.rows import RowsAsked, take_apart
from agentkit.database.failures import reason
from agentkit.errors import SqlRefused

if TYPE_CHECKING:
    import duckdb

LONGEST = 20_000
"""Characters of a statement at most."""
_ROW_MAKERS = ("range", "generate_series", "unnest")
"""The functions that may stand where a table does: they make rows of values alone."""
_TELLING = ("current_setting", "getenv", "getvariable", "which_secret", "write_log")
"""Functions that tell of the program, and nothing of the views."""
_INNER = ("duckdb_", "pragma_", "read_", "sniff_", "parquet_")
_NO_FOLDERS: dict[str, str | bool | int | float | list[str]] = {"enable_external_access": "false"}
_Node = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a statement reads."""

    columns: dict[str, list[str]]
    """Of each table, in its order; all of a table where it is not plain which."""
    rows: RowsAsked | None
    """Where it shows rows of one table as they are: how these are found and shown."""


def read_tables(sql: str, tables: Collection[str]) -> list[str]:
    """Which of these tables the statement reads, by name.

    Raises SqlRefused unless it is one SELECT that reads nothing else.
    """
    with _connect() as connection:
        statements = _parse(connection, sql)
    return _find_tables(_check_nodes(statements, tables), tables)


def read_columns(sql: str, tables: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Which columns of which of these tables the statement reads.

    Raises SqlRefused unless it is one SELECT that reads nothing else.
    """
    return read_select(sql, tables).columns


def read_select(sql: str, tables: Mapping[str, Sequence[str]]) -> Asked:
    """What the statement reads of these tables.

    Raises SqlRefused unless it is one SELECT that reads nothing else.
    """
    with _connect() as connection:
        statements = _parse(connection, sql)
        nodes = _check_nodes(statements, tables.keys())
        rows = take_apart(connection, statements, tables)
    named = _find_tables(nodes, tables)
    narrow = find_named(nodes, {name: tables[name] for name in named})
    if narrow is None:
        return Asked({name: list(tables[name]) for name in named}, rows)
    return Asked({name: _narrow(tables[name], narrow) for name in named}, rows)


def _narrow(columns: Sequence[str], named: Collection[str]) -> list[str]:
    """Those that are named; a table without columns has no rows to be counted."""
    narrowed = [one for one in columns if one.lower() in named]
    if narrowed:
        return narrowed
    return list(columns[:1])


def _find_tables(nodes: Sequence[_Node], tables: Collection[str]) -> list[str]:
    named = {_table_of(node) for node in nodes}
    return sorted(named.intersection(tables))


def _check_nodes(statements: Any, tables: Collection[str]) -> list[_Node]:
    """All objects of the tree of a statement that is one SELECT over these tables."""
    nodes = list_nodes(statements)
    own = {str(name).lower() for node in nodes for name in _find_named(node)}
    for node in nodes:
        _check_function(node)
        _check_kind(node, {*own, *tables}, tables)
    return nodes


def _connect() -> duckdb.DuckDBPyConnection:
    """A DuckDB that holds nothing and only parses."""
    import duckdb

    return duckdb.connect(":memory:", config=_NO_FOLDERS)


def _parse(connection: duckdb.DuckDBPyConnection, sql: str) -> Any:
    """The tree of the statement, as DuckDB writes it."""
    import duckdb

    length = len(sql)
    _require(length <= LONGEST, f"The SQL has {length:,} characters; {LONGEST:,} are the most.")
    try:
        statements = connection.extract_statements(sql)
        found = connection.execute("select json_serialize_sql(?)", [sql]).fetchone()
    except duckdb.Error as error:
        raise SqlRefused(f"This cannot be read as SQL: {reason(str(error))}.") from error
    number = len(statements)
    _require(number == 1, f"There are {number} statements here; write one SELECT.")
    assert found is not None  # a SELECT without a table gives one row
    tree, kind = json.loads(found[0]), statements[0].type.name
    _require(not tree["error"], f"This is a statement of the kind {kind}; only SELECT is answered.")
    _require(
        not statements[0].named_parameters,
        "The SQL has places for values ($1 or ?); write the values themselves.",
    )
    return tree["statements"]


def _require(holds: bool, why: str) -> None:
    """Refuse, for this reason, what does not hold."""
    if not holds:
        raise SqlRefused(why)


def _find_named(node: _Node) -> list[Any]:
    """The tables that a WITH names there."""
    return [one["key"] for one in node.get("cte_map", {}).get("map", [])]


def _table_of(node: _Node) -> str:
    """The table that is read there; empty where none is."""
    if node.get("type") == "BASE_TABLE":
        return str(node["table_name"]).lower()
    return ""


def _check_kind(node: _Node, known: Collection[str], tables: Collection[str]) -> None:
    match node.get("type"):
        case "SHOW_REF":
            _require(False, "SHOW, DESCRIBE and SUMMARIZE are not answered; write a SELECT.")
        case "TABLE_FUNCTION":
            name = str(node["function"].get("function_name", "")).lower()
            why = f"{name}() may not be read from; {_say_readable(tables)}."
            _require(name in _ROW_MAKERS, why)
        case "BASE_TABLE":
            parts = (node["catalog_name"], node["schema_name"], node["table_name"])
            name = ".".join(part for part in parts if part)
            why = f"There is no table {name!r} here; {_say_readable(tables)}."
            _require(name.lower() in known, why)


def _check_function(node: _Node) -> None:
    name = str(node.get("function_name", "")).lower()
    is_telling = name.startswith((*_INNER, *_TELLING))
    why = f"{name}() may not be called: it tells of the program, not of the views."
    _require(not is_telling, why)


def _say_readable(tables: Collection[str]) -> str:
    return f"what can be read is {', '.join(sorted(tables))}"
