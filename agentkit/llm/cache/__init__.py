"""Caches of model replies: in a file, in a Redis server or in memory, with AutoGen's names."""

from __future__ import annotations

from agentkit.llm.cache.base import AbstractCache
from agentkit.llm.cache.cache import Cache, CacheFactory
from agentkit.llm.cache.disk import DiskCache
from agentkit.llm.cache.memory import InMemoryCache
from agentkit.llm.cache.redis_cache import RedisCache

__all__ = ["AbstractCache", "Cache", "CacheFactory", "DiskCache", "InMemoryCache", "RedisCache"]
