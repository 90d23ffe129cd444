"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.parsers import ModelResponse as ModelResponse

__all__: list[str]
