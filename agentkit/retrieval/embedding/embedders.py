"""The embedders of one process by name: the default one, and those that index versions of
collections were made with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agentkit.errors import ConfigError
from agentkit.retrieval.embedding.embed import Embedder


class Embedders:
    """The default embedder and others; share it between threads.

    `find` gives the one of a name, the same one each time as long as nothing about it has changed.
    """

    def __init__(
        self,
        default: Embedder,
        find: Callable[[str], Embedder | None] = lambda name: None,
        offered: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self.default = default
        self._find, self._offered = find, offered

    def names(self) -> list[str]:
        """Names of those that can be chosen for a new index version, the default first."""
        return list(dict.fromkeys([self.default.name, *self._offered()]))

    def of(self, name: str) -> Embedder:
        """The embedder of that name; raises ConfigError when it is not to be had here."""
        found = self.default if name == self.default.name else self._find(name)
        if found is None:
            raise ConfigError(
                f"There is no embedding model {name!r} here; connect it again in the settings,"
                " search in lexical mode, or build a version of the index with another one:"
                f" {', '.join(self.names())}."
            )
        return found
