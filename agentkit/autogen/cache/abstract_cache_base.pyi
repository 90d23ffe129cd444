"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.llm.cache import AbstractCache as AbstractCache

__all__: list[str]
