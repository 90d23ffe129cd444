"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.agents import AssistantAgent as AssistantAgent

__all__: list[str]
