"""Which names stand in a SELECT, so that of a table only the columns are read that it names.

What is not known to be plain counts as naming everything: too much is read then, never too little.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

Node = Mapping[str, Any]
PLAIN = {
    "BETWEEN",
    "CASE",
    "CAST",
    "COLLATE",
    "COLUMN_REF",
    "COMPARISON",
    "CONJUNCTION",
    "CONSTANT",
    "FUNCTION",
    "LAMBDA",
    "OPERATOR",
    "SUBQUERY",
    "TYPE",
    "WINDOW",
}
"""Classes of expressions that read the columns that they name and no others: no star, no number of
a column, no pattern of names.
"""
_SOURCES = {"BASE_TABLE", "EMPTY", "EXPRESSION_LIST", "JOIN", "SUBQUERY", "TABLE_FUNCTION"}
"""What a FROM may have without naming columns by the way, as PIVOT does."""
_SOURCE_KEYS = ("from_table", "left", "right")


def list_nodes(tree: Any) -> list[Node]:
    """All objects of a tree."""
    found: list[Node] = []
    waiting = [tree]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            found.append(one)
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
    return found


def find_named(nodes: Sequence[Node], tables: Mapping[str, Sequence[str]]) -> set[str] | None:
    """All words of the tree of a statement in small letters, the names of its columns among them;
    None when it may read columns that it does not name, or names one that none of `tables` has.
    """
    if not all(map(_is_plain, nodes)):
        return None
    tabular = [node for node in nodes if "table_name" in node]
    rows = {*tables, *_aliases(tabular)}
    columns: set[str] = set()
    for names in tables.values():
        columns.update(map(str.lower, names))
    known = columns.union(_aliases(nodes)) - rows
    for node in nodes:
        if "column_names" not in node:
            continue
        read = str(node["column_names"][-1]).lower()
        if read not in known:
            return None
    words = chain.from_iterable(map(_words, nodes))
    return set(map(str.lower, words))


def _aliases(nodes: Iterable[Node]) -> set[str]:
    return {str(node.get("alias", "")).lower() for node in nodes}


def _is_plain(node: Node) -> bool:
    """Whether what stands there reads only columns whose names stand there too."""
    if node.get("class", "CONSTANT") not in PLAIN:
        return False
    if node.get("column_name_alias") or node.get("ref_type") == "NATURAL":
        return False
    for key in _SOURCE_KEYS:
        source = node.get(key)
        if not isinstance(source, Mapping) or "class" in source:
            continue
        if source["type"] not in (*_SOURCES, *_QUERIES):
            return False
    return True


def _words(node: Node) -> Iterator[str]:
    """The texts there, also those of its lists."""
    for value in node.values():
        yield from [one for one in _as_list(value) if isinstance(one, str)]


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


_QUERIES = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}
"""What stands to the left and right of UNION and the like."""
