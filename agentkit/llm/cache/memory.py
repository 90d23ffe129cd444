"""A cache in the memory of this process."""

from __future__ import annotations

import copy
import logging
from typing import Any

from agentkit.llm.cache.base import AbstractCache

log = logging.getLogger(__name__)


class InMemoryCache(AbstractCache):
    """Keeps copies until the process ends; `seed` parts one set of replies from another.

    Closing keeps what is stored.
    """

    def __init__(self, seed: str | int = "") -> None:
        self._seed = str(seed)
        self._values: dict[tuple[str, str], Any] = {}

    def get(self, key: str, default: Any | None = None) -> Any | None:
        """A copy of the stored value, so that changing it changes nothing here; `default` when
        there is none.
        """
        entry = (self._seed, key)
        if entry in self._values:
            return copy.deepcopy(self._values[entry])
        return default

    def set(self, key: str, value: object) -> None:
        """Store a copy of the value; what cannot be copied is not stored and logged as a
        warning.
        """
        try:
            self._values[self._seed, key] = copy.deepcopy(value)
        except Exception:  # an object's own __deepcopy__ may raise anything
            log.warning(
                "A %s cannot be copied and is not cached.", type(value).__qualname__, exc_info=True
            )

    def close(self) -> None:
        """Nothing is held open."""
