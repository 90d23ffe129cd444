"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.agents.rewoo import BaseAgent as BaseAgent

__all__: list[str]
