"""SQL that people write, answered by a DuckDB of its own in a process of its own."""

from agentkit.database.asked.rows import ROW, RowsAsked
from agentkit.database.asked.sandbox import Answers, Form, Limits, Written
from agentkit.database.asked.select import read_columns, read_select, read_tables

__all__ = [
    "ROW",
    "Answers",
    "Form",
    "Limits",
    "RowsAsked",
    "Written",
    "read_columns",
    "read_select",
    "read_tables",
]
