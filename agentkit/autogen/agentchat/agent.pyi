"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.conversation import Agent as Agent
from agentkit.conversation import LLMAgent as LLMAgent

__all__: list[str]
