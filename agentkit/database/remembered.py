"""What was read of tables, until one of them changes: each page of each person needs the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
_MOST = 2_000
"""Results of the same tables that are remembered; of more, all are read again."""
_CHANGING = re.compile(r"\s*(?:insert\s+into|update|delete\s+from)\s+\"?(\w+)", re.IGNORECASE)


def find_changed(sql: str) -> str:
    """The table that a statement changes; empty for one that changes none."""
    found = _CHANGING.match(sql)
    return found[1].lower() if found else ""


class Changing(Protocol):
    """What says whether tables have changed, such as a database."""

    @property
    def in_transaction(self) -> bool:
        """Whether this thread sees what others do not see yet."""

    def revision(self, series: str) -> int:
        """A number that rises with every change of the series."""


class Remembered:
    """What was read of a database, by the tables that it was read of."""

    def __init__(self, database: Changing) -> None:
        self._database = database
        self._kept: dict[tuple[str, ...], tuple[int, dict[Hashable, Any]]] = {}

    def read(self, tables: Sequence[str], key: Hashable, read: Callable[[], T]) -> T:
        """What `read` gives, or gave for this key since one of these tables was changed.

        All who ask are given the same: it must not be changed.
        """
        if self._database.in_transaction:  # which may yet be taken back
            return read()
        of = tuple(tables)
        revision = sum(map(self._database.revision, of))
        kept = self._kept.get(of)
        if kept is None or kept[0] != revision or len(kept[1]) >= _MOST:
            kept = self._kept[of] = (revision, {})
        known = kept[1]
        if key not in known:
            known[key] = read()
        found: T = known[key]
        return found
