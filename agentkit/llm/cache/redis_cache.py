"""A cache in a Redis server, for several machines at once."""

from __future__ import annotations

import hashlib
import logging
from typing import Any

from agentkit.core.address import without_login
from agentkit.errors import ConfigError, StoreError, WrongType
from agentkit.llm.cache.base import AbstractCache
from agentkit.llm.cache.values import decode, encode

log = logging.getLogger(__name__)

_WAIT_S = 5.0


class RedisCache(AbstractCache):
    """Keeps values under `agentkit:<seed>:<hash of the key>`; needs `pip install redis`.

    Nothing is pickled here, since whoever may write to the server could run code in this process:
        values are what
    JSON holds, SimpleNamespaces and OpenAI responses. Raises ConfigError without the library or for
    a malformed URL.
    """

    def __init__(self, seed: str | int, redis_url: str) -> None:
        try:
            import redis
        except ImportError as error:
            raise ConfigError(
                f"A cache at {without_login(redis_url)!r} needs the package redis; run: pip install"
                " redis"
            ) from error
        self._failed: type[Exception] = redis.RedisError
        self._prefix = f"agentkit:{seed}:"
        try:
            self._client = redis.Redis.from_url(
                redis_url, socket_timeout=_WAIT_S, socket_connect_timeout=_WAIT_S
            )
        except ValueError as error:
            message = (
                f"redis_url={without_login(redis_url)!r} is not an address of a Redis server; it"
                " looks like redis://localhost:6379/0."
            )
            raise ConfigError(message) from error

    def get(self, key: str, default: Any | None = None) -> Any | None:
        """The stored value; `default` when there is none, or the server or the entry fails, which
        is logged as a warning.
        """
        try:
            data = self._client.get(self._name_key(key))
            if isinstance(data, bytes):
                return decode(data, pickled=False)
            return default
        except (self._failed, StoreError) as error:
            log.warning("An entry of the cache in Redis is skipped: %s", error)
            return default

    def set(self, key: str, value: object) -> None:
        """Store the value; where that fails, nothing is stored and a warning is logged."""
        try:
            self._client.set(self._name_key(key), encode(value, pickled=False))
        except (self._failed, WrongType) as error:
            log.warning("A reply is not kept in the cache in Redis: %s", error)

    def close(self) -> None:
        """Close the connections; the next access opens new ones."""
        self._client.close()

    def _name_key(self, key: str) -> str:
        return self._prefix + hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()
