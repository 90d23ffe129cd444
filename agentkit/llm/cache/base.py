"""What every cache of model replies offers."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Protocol, Self, runtime_checkable


@runtime_checkable
class AbstractCache(Protocol):
    """Keeps values by a text key; AutoGen's protocol for caches, also for your own.

    A cache never makes a model call fail: what cannot be stored or read back is logged as a warning
    and is a miss.
    """

    def get(self, key: str, default: Any | None = None) -> Any | None:
        """The value stored under the key, as an object of its own; `default` when there is none."""

    def set(self, key: str, value: object) -> None:
        """Store the value under the key; a later `set` replaces it."""

    def close(self) -> None:
        """Give connections back; what was stored stays."""

    def __enter__(self) -> Self:
        """The cache itself; leaving the block closes it."""
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
