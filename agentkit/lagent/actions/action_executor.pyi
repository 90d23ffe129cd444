"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.agents.rewoo import ActionExecutor as ActionExecutor

__all__: list[str]
