"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.conversation.transforms import TransformMessages as TransformMessages

__all__: list[str]
