"""A SELECT that shows rows of one table as they are is taken apart: which rows, and what of them.

The first part reads only the columns that it filters and sorts by, and the second only the rows
that are shown, so that nobody has to hand over all of a wide table.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentkit.database.asked.named import PLAIN, list_nodes

if TYPE_CHECKING:
    import duckdb

_Node = Mapping[str, Any]
ROW = "agentkit_row"
"""The column with the number of a row, which only our own statements name."""
_EXPRESSIONS = PLAIN - {"SUBQUERY", "WINDOW"}
_NODE: _Node = {
    "type": "SELECT_NODE",
    "cte_map": {"map": []},
    "group_expressions": [],
    "group_sets": [],
    "aggregate_handling": "STANDARD_HANDLING",
    "having": None,
    "sample": None,
    "qualify": None,
}
"""What a SELECT has that gives rows, and neither sums them up nor makes other ones."""
_TABLE: _Node = {"type": "BASE_TABLE", "sample": None, "column_name_alias": [], "at_clause": None}
_SHOWN: tuple[_Node, ...] = (
    {"class": "COLUMN_REF", "alias": ""},
    {"class": "STAR", "columns": False, "expr": None, "replace_list": [], "rename_list": []},
)
"""What may be shown: columns under their own names."""
_MODIFIERS = {"ORDER_MODIFIER", "LIMIT_MODIFIER"}
_ROW_NODE = {"class": "COLUMN_REF", "type": "COLUMN_REF", "alias": "", "column_names": [ROW]}


@dataclass(frozen=True, slots=True)
class RowsAsked:
    """Two statements that together show what one shows."""

    table: str
    read: list[str]
    """The columns that the first one reads, in the table's order."""
    find: str
    """Gives the numbers (`ROW`) of the rows, in the order in which they are shown."""
    show: str
    """Shows the rows that it is given, in the order in which they are given."""


def take_apart(
    connection: duckdb.DuckDBPyConnection,
    statements: Sequence[_Node],
    tables: Mapping[str, Sequence[str]],
) -> RowsAsked | None:
    """The two statements; None where rows are not shown as they are, or may not be: too little is
    taken apart then, never too much.
    """
    node = statements[0]["node"]
    if not _has(node, _NODE) or not _has(node["from_table"], _TABLE):
        return None
    name = str(node["from_table"]["table_name"]).lower()
    columns = {column.lower(): column for column in tables.get(name, ())}
    choosing = list_nodes([node["where_clause"], node["modifiers"]])
    named = _names(choosing)
    is_plain = (
        columns.keys() >= named | _names(node["select_list"]),
        all(_may_be_shown(one) for one in node["select_list"]),
        _MODIFIERS.issuperset(one["type"] for one in node["modifiers"]),
        _EXPRESSIONS.issuperset(one.get("class", "CONSTANT") for one in choosing),
        "CONSTANT" not in _kinds_of_order(choosing),
    )
    if not all(is_plain):
        return None
    return RowsAsked(
        name,
        [column for key, column in columns.items() if key in named],
        _write(connection, statements, {"select_list": [_ROW_NODE]}),
        _write(connection, statements, {"where_clause": None, "modifiers": []}),
    )


def _has(node: _Node, parts: _Node) -> bool:
    """Whether these parts of the node are so."""
    return parts.items() <= node.items()


def _names(nodes: Sequence[_Node]) -> set[str]:
    """The columns that are named there, in small letters."""
    return {str(node["column_names"][-1]).lower() for node in nodes if "column_names" in node}


def _may_be_shown(node: _Node) -> bool:
    return any(_has(node, parts) for parts in _SHOWN)


def _kinds_of_order(nodes: Sequence[_Node]) -> list[str]:
    """What is sorted by: a number in ORDER BY is a place among what is shown."""
    return [node["expression"]["class"] for node in nodes if "null_order" in node]


def _write(
    connection: duckdb.DuckDBPyConnection, statements: Sequence[_Node], change: Mapping[str, Any]
) -> str:
    """The statement with some of its parts changed, as text."""
    changed = copy.deepcopy(list(statements))
    changed[0]["node"].update(change)
    tree = json.dumps({"error": False, "statements": changed})
    found = connection.execute("select json_deserialize_sql(?::json)", [tree]).fetchone()
    assert found is not None  # a SELECT without a table gives one row
    return str(found[0])
