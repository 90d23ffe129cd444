"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.llm.cache import RedisCache as RedisCache

__all__: list[str]
