"""What the ledger and the library hold, as a few stable tables that a SELECT may read."""

from agentkit.workspace.usage_sql.asking import UsageSql, UsageViews
from agentkit.workspace.usage_sql.views import VIEWS, Column, View

__all__ = ["VIEWS", "Column", "UsageSql", "UsageViews", "View"]
