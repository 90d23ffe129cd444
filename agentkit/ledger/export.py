"""The ledger's figures as files for other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentkit.ledger.queries import CallFilter, calls
from agentkit.ledger.store import Ledger

if TYPE_CHECKING:
    import pandas

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def calls_csv(ledger: Ledger, chosen: CallFilter) -> str:
    """Every call that the filter means as CSV, newest first, one column per field; times are UTC, costs US dollars."""
    return table_csv(calls(ledger, chosen))


def table_csv(frame: pandas.DataFrame) -> str:
    """The table as CSV with a header; a text that a spreadsheet would run as a formula gets an apostrophe in front."""
    return frame.map(_harmless).to_csv(index=False, lineterminator="\n")


def _harmless(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
