"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.agents.rewoo import BaseAction as BaseAction
from agentkit.agents.rewoo import tool_api as tool_api

__all__: list[str]
