"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.conversation import ConversableAgent as ConversableAgent
from agentkit.conversation import register_function as register_function

__all__: list[str]
