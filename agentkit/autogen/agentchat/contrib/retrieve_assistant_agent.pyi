"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.agents import RetrieveAssistantAgent as RetrieveAssistantAgent

__all__: list[str]
