"""Whether what is kept of collections is whole: indexes, originals and the database agree."""

from __future__ import annotations

from collections import defaultdict

from agentkit.retrieval.index.indexes import Indexes
from agentkit.retrieval.store.originals import Originals
from agentkit.retrieval.store.store import Store
from agentkit.retrieval.types import Problem

_REPAIR = (
    "Take these files in once more from where you have them, or restore them from a backup; "
    "answers still come from the text that was read."
)
_SHOWN = 3
"""Names of documents that a problem lists."""


def indexes(store: Store, indexes: Indexes) -> list[Problem]:
    """Where an index does not hold what the database says."""
    return [problem for version in store.versions() for problem in indexes.of(version).check()]


def find_missing_originals(store: Store, originals: Originals) -> list[Problem]:
    """Originals that are not there; none is read."""
    again = "Take the file in once more."
    return [
        Problem(f"The original of {name} is missing in {originals.folder}.", again)
        for sha256, _, name in store.originals()
        if not originals.path(sha256).is_file()
    ]


def find_damaged_originals(store: Store, originals: Originals) -> list[Problem]:
    """Originals that are missing, cannot be read or are not what was taken in.

    Reads all of them. Raises Stopped.
    """
    needed: dict[str, list[str]] = defaultdict(list)
    for sha256, collection, name in store.originals():
        needed[sha256].append(f"{name} in {collection}")
    problems = []
    for sha256, names in needed.items():
        why = originals.damage(sha256)
        if why:
            what = f"The original of {_list_some(names)} is not whole: {why}"
            problems.append(Problem(f"{what} ({originals.path(sha256)}).", _REPAIR))
    return problems


def _list_some(names: list[str]) -> str:
    listed = ", ".join(names[:_SHOWN])
    more = len(names) - _SHOWN
    if more > 0:
        listed += f" and {more:,} more"
    return listed
