"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.conversation.transforms import AgentCapability as AgentCapability

__all__: list[str]
