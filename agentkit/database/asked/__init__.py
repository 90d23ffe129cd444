"""SQL that people write, answered by a DuckDB of its own in a process of its own."""

from agentkit.database.asked.sandbox import Form, Limits, Written, answer
from agentkit.database.asked.select import read_tables

__all__ = ["Form", "Limits", "Written", "answer", "read_tables"]
