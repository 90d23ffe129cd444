"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.conversation.transforms import TextCompressor as TextCompressor

__all__: list[str]
