"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.llm import ModelClient as ModelClient
from agentkit.llm.compatible.wrapper import OpenAIWrapper as OpenAIWrapper

__all__: list[str]
