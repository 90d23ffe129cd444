"""Filters in Chroma's language: `where` looks at metadata, `where_document` at the content. Checked
once, compiled to SQL.

    {"page": 3}   {"page": {"$gte": 3}}   {"$and": [{"lang": "de"}, {"page": {"$in": [1, 2]}}]}
    {"$contains": "exact text"}   {"$or": [{"$contains": "a"}, {"$not_contains": "b"}]}

`$eq $ne $gt $gte $lt $lte $in $nin $and $or`; `$contains $not_contains $and $or`. `$ne` and `$nin`
hold where the key is missing too. Texts are compared exactly, case included; numbers as numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from agentkit.core.given import to_list
from agentkit.core.lenient import is_number
from agentkit.errors import WrongArgument
from agentkit.messages import text_or_empty

Condition = tuple[str, list[Any]]
"""SQL with marks, and their values."""

_ORDER = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
_NEGATED = {"$ne": "not ", "$nin": "not "}
_SCALARS = str | int | float | bool
_CONTENT = {"$contains": "", "$not_contains": "not "}
"""What stands before the condition that a content contains a text."""
_JOINS = {"$and": " and ", "$or": " or "}


@dataclass(frozen=True, slots=True)
class Filters:
    """What a document must be like to be found; checked, and in Chroma's form."""

    where: Mapping[str, Any] | None = None
    where_document: Mapping[str, Any] | None = None

    @staticmethod
    def read(where: Any, where_document: Any) -> Filters:
        """The filters; raises WrongArgument when they are malformed. Empty ones let everything
        through.
        """
        return Filters(
            _check_all("where", where, _check_comparison),
            _check_all("where_document", where_document, _check_content),
        )


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a database says what filters need; `{mark}` stands for a value to come."""

    mark: str
    contains: str
    """Whether the content contains the value."""
    text: str
    """The text under a key, null when there is none; two marks for the key. So are `number` and
    `boolean`.
    """
    number: str
    boolean: str
    key: Callable[[str], str] = str
    """How a key is written as a value."""

    def condition(self, filters: Filters) -> Condition:
        """The SQL condition, `true` when there are no filters."""
        parts: list[Condition] = []
        if filters.where is not None:
            parts.append(self._convert(filters.where, self._comparison))
        if filters.where_document is not None:
            parts.append(self._convert(filters.where_document, self._content))
        if not parts:
            return "true", []
        return _join(parts, " and ")

    def _convert(self, node: Mapping[str, Any], leaf: Callable[[str, Any], Condition]) -> Condition:
        (key, value), *_ = node.items()
        if key not in _JOINS:
            return leaf(key, value)
        return _join([self._convert(one, leaf) for one in value], _JOINS[key])

    def _content(self, operator: str, value: str) -> Condition:
        return _CONTENT[operator] + self.contains, [value]

    def _comparison(self, key: str, value: Any) -> Condition:
        ((operator, operand),) = _to_comparison(value).items()
        sign = _ORDER.get(operator, "=")
        leaves = [self._leaf(key, sign, one) for one in to_list(operand, _SCALARS)]
        found, values = _join(leaves, " or ")
        negated = _NEGATED.get(operator, "")
        return f"{negated}coalesce({found}, false)", values

    def _leaf(self, key: str, operator: str, operand: Any) -> Condition:
        kind, value = self._find_column(operand)
        return f"{kind} {operator} {self.mark}", [self.key(key), self.key(key), value]

    def _find_column(self, operand: Any) -> tuple[str, Any]:
        """What the operand is compared with, and the operand as the database takes it."""
        if isinstance(operand, bool):
            return self.boolean, operand
        if isinstance(operand, str):
            return self.text, operand
        return self.number, float(operand)


def _join(parts: list[Condition], by: str) -> Condition:
    texts, values = zip(*parts, strict=True)
    return f"({by.join(texts)})", [*chain(*values)]


CheckLeaf = Callable[[str, str, Any], None]


def _check_all(name: str, given: Any, check_leaf: CheckLeaf) -> Mapping[str, Any] | None:
    """A filter that can be; None for an empty one."""
    if not given:
        return None
    waiting = [given]
    for node in waiting:  # grows meanwhile
        key, value = _read_node(name, node)
        if key in _JOINS:
            waiting += _check_several(name, key, value)
        else:
            check_leaf(name, key, value)
    checked: Mapping[str, Any] = given
    return checked


def _read_node(name: str, node: Any) -> tuple[str, Any]:
    if not isinstance(node, Mapping) or list(map(type, node)) != [str]:
        raise WrongArgument(
            f"{name} must be a dict with one key on each level, not {node!r}; join several with"
            " $and."
        )
    ((key, value),) = node.items()
    return key, value


def _check_several(name: str, key: str, value: Any) -> list[Any]:
    if not isinstance(value, list) or len(value) < 2:
        raise WrongArgument(
            f"{name}: {key} needs a list of at least two conditions, not {value!r}."
        )
    return value


def _check_content(name: str, key: str, value: Any) -> None:
    if key not in _CONTENT:
        raise WrongArgument(f"{name} knows $contains, $not_contains, $and and $or, not {key!r}.")
    if not text_or_empty(value):
        raise WrongArgument(f"{name}: {key} needs a text that is not empty, not {value!r}.")


def _check_comparison(name: str, key: str, value: Any) -> None:
    value = _to_comparison(value)
    if key.startswith("$") or len(value) != 1:
        raise WrongArgument(
            f"{name} must compare one key by one operator on each level, not {key!r}:"
            f" {dict(value)!r}."
        )
    (operator, operand), *_ = value.items()
    if operator not in _OPERANDS:
        raise WrongArgument(
            f"{name} knows {', '.join(_OPERANDS)}, $and and $or, not {operator!r} (for {key!r})."
        )
    if not _OPERANDS[operator](operand):
        raise WrongArgument(f"{name}: {operator} cannot compare {key!r} with {operand!r}.")


def _to_comparison(value: Any) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    return {"$eq": value}


def _is_scalar(value: Any) -> bool:
    return isinstance(value, _SCALARS)


def _is_list(value: Any) -> bool:
    """Whether it is a list of scalars of one type."""
    if not isinstance(value, list):
        return False
    kinds = set(map(type, value))
    return len(kinds) == 1 and all(map(_is_scalar, value))


_OPERANDS: dict[str, Callable[[Any], bool]] = {
    "$eq": _is_scalar,
    "$ne": _is_scalar,
    "$in": _is_list,
    "$nin": _is_list,
    **dict.fromkeys(_ORDER, is_number),
}
