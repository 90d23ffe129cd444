"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.llm.cache import AbstractCache as AbstractCache
from agentkit.llm.cache import Cache as Cache
from agentkit.autogen.cache import abstract_cache_base as abstract_cache_base
from agentkit.autogen.cache import cache as cache
from agentkit.autogen.cache import cache_factory as cache_factory
from agentkit.autogen.cache import disk_cache as disk_cache
from agentkit.autogen.cache import in_memory_cache as in_memory_cache
from agentkit.autogen.cache import redis_cache as redis_cache

__all__: list[str]
