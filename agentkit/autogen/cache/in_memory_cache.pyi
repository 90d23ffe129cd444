"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.llm.cache import InMemoryCache as InMemoryCache

__all__: list[str]
