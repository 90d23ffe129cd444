"""The one DuckDB file: transactions, migrations with backups, and what is left of a damaged one.

No other package imports duckdb.
"""

from __future__ import annotations

from agentkit.database.copies import Backup, backups
from agentkit.database.database import Database, Migration, Row, Values, to_array
from agentkit.database.remains import Survey, TableState, rescue, survey

__all__ = [
    "Backup",
    "Database",
    "Migration",
    "Row",
    "Survey",
    "TableState",
    "Values",
    "backups",
    "rescue",
    "survey",
    "to_array",
]
