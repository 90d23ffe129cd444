"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.llm.cache import CacheFactory as CacheFactory

__all__: list[str]
