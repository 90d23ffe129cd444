"""The one name for all caches: `Cache.disk()`, `Cache.redis()`, `Cache.memory()`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from agentkit.errors import ConfigError, WrongArgument
from agentkit.llm.cache.base import AbstractCache
from agentkit.llm.cache.disk import DiskCache
from agentkit.llm.cache.memory import InMemoryCache
from agentkit.llm.cache.redis_cache import RedisCache


class CacheFactory:
    """Chooses the cache that a configuration means."""

    @staticmethod
    def cache_factory(
        seed: str | int,
        redis_url: str | None = None,
        cache_path_root: str = ".cache",
        cosmosdb_config: dict[str, Any] | None = None,
    ) -> AbstractCache:
        """A cache in Redis when there is a URL, else in the folder `<cache_path_root>/<seed>`.

        Raises ConfigError for Cosmos DB, which is not supported, without the library redis, and for
        a malformed URL.
        """
        if cosmosdb_config:
            raise ConfigError(
                "A cache in Cosmos DB is not supported; use Cache.redis or Cache.disk."
            )
        if redis_url:
            return RedisCache(seed, redis_url)
        return DiskCache(Path(cache_path_root) / str(seed))


class Cache(AbstractCache):
    """Hands over to the cache that its configuration means; equal seeds share their replies,
    different ones do not.

    `config` may hold the keys of ALLOWED_CONFIG_KEYS; raises WrongArgument for others, ConfigError
    as `CacheFactory`.
    """

    ALLOWED_CONFIG_KEYS: ClassVar[list[str]] = [
        "cache_seed",
        "redis_url",
        "cache_path_root",
        "cosmos_db_config",
        "in_memory",
    ]

    def __init__(self, config: dict[str, Any]) -> None:
        for key in config:
            if key not in self.ALLOWED_CONFIG_KEYS:
                raise WrongArgument(
                    f"Cache: the key {key!r} is not known; use one of"
                    f" {', '.join(self.ALLOWED_CONFIG_KEYS)}."
                )
        self.config = dict(config)
        seed = config.get("cache_seed", 42)
        self.cache: AbstractCache = (
            InMemoryCache(seed)
            if config.get("in_memory")
            else CacheFactory.cache_factory(
                seed,
                config.get("redis_url"),
                config.get("cache_path_root") or ".cache",
                config.get("cosmos_db_config"),
            )
        )

    @staticmethod
    def disk(cache_seed: str | int = 42, cache_path_root: str = ".cache") -> Cache:
        """A cache in the folder `<cache_path_root>/<cache_seed>`."""
        return Cache({"cache_seed": cache_seed, "cache_path_root": cache_path_root})

    @staticmethod
    def redis(cache_seed: str | int = 42, redis_url: str = "redis://localhost:6379/0") -> Cache:
        """A cache in a Redis server; raises ConfigError without the library redis or for a
        malformed URL.
        """
        return Cache({"cache_seed": cache_seed, "redis_url": redis_url})

    @staticmethod
    def memory(cache_seed: str | int = 42) -> Cache:
        """A cache that lives as long as this object."""
        return Cache({"cache_seed": cache_seed, "in_memory": True})

    @staticmethod
    def cosmos_db(
        connection_string: str | None = None,
        container_id: str | None = None,
        cache_seed: str | int = 42,
        client: object | None = None,
    ) -> Cache:
        """Raises ConfigError: Cosmos DB is not supported."""
        given = {
            "connection_string": connection_string,
            "container_id": container_id,
            "client": client,
        }
        return Cache({"cache_seed": cache_seed, "cosmos_db_config": given})

    def get(self, key: str, default: Any | None = None) -> Any | None:
        """The value stored under the key; `default` when there is none."""
        return self.cache.get(key, default)

    def set(self, key: str, value: object) -> None:
        """Store the value under the key."""
        self.cache.set(key, value)

    def close(self) -> None:
        """Give connections back; what was stored stays."""
        self.cache.close()
