"""What was done and what it took, as programs and the command line ask for it, as values."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentkit.errors import ConfigError
from agentkit.events import Recorded
from agentkit.ledger import queries, run_list
from agentkit.ledger.export import FileForm, calls_file
from agentkit.ledger.queries import CallFilter, Group, GroupTotals, RunTotals, Totals
from agentkit.ledger.run_list import RunFilter, RunSort
from agentkit.ledger.store import Ledger
from agentkit.ledger.usage import sums
from agentkit.ledger.usage.sums import By, Sums

_MOST_GROUPS = 10_000


@dataclass(frozen=True, slots=True)
class GroupSums:
    """The sums of one group within another."""

    first: str
    second: str
    sums: Sums


class Figures:
    """Sums over the model calls, and the runs; costs are US dollars, times seconds."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def totals(self, calls: CallFilter) -> Totals:
        """Sums over all calls that the filter means."""
        return queries.totals(self._ledger, calls)

    def measure(self, calls: CallFilter) -> Sums:
        """The figures of the usage page over all calls that the filter means."""
        return sums.measure(self._ledger, calls)

    def groups(self, calls: CallFilter, by: Group, timezone: str = "UTC") -> list[GroupTotals]:
        """The sums by day (in `timezone`, an IANA name), or by any other Group.

        Raises ConfigError for a zone that does not exist.
        """
        return queries.groups(self._ledger, calls, by, timezone)

    def groups_within(self, calls: CallFilter, first: By, second: By) -> list[GroupSums]:
        """The sums of each group, and of those of another kind within it, the dearest first."""
        found = sums.by_groups(self._ledger, calls, first, second, limit=_MOST_GROUPS)
        plain = found.astype(object).where(found.notna(), None)
        rows: Any = plain.to_dict("records")
        return [
            GroupSums(str(row.pop("first")), str(row.pop("second")), Sums(**row)) for row in rows
        ]

    def of_messages(self, owner: str, message_ids: Sequence[str]) -> dict[str, Totals]:
        """The sums by answer, for those messages that took calls."""
        return queries.of_messages(self._ledger, owner, message_ids)

    def runs(self, owner: str, limit: int = 50, kind: str = "") -> list[RunTotals]:
        """The owner's runs, newest first."""
        rows = queries.runs(self._ledger, owner, limit, kind)
        return [RunTotals(**row) for row in rows]

    def find_runs(
        self, chosen: RunFilter, sort: RunSort = "newest", limit: int = 50, offset: int = 0
    ) -> list[RunTotals]:
        """Some of the runs that the filter means, in this order."""
        return run_list.list_runs(self._ledger, chosen, sort, limit, offset)

    def events(self, owner: str, run_id: str) -> list[Recorded]:
        """The stored events of a run, in order; raises NotFound."""
        return queries.events(self._ledger, owner, run_id)

    def write_calls(self, calls: CallFilter, path: Path, form: FileForm = "csv") -> None:
        """Write every call into a file; raises ConfigError when it cannot be written."""
        try:
            with calls_file(self._ledger, calls, form) as made, path.open("wb") as file:
                shutil.copyfileobj(made, file)
        except OSError as error:
            why = f"{path} cannot be written ({error.strerror})"
            raise ConfigError(f"{why}; give another file.") from error
