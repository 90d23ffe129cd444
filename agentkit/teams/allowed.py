"""Tools that a person allowed for always, kept as a file in the data folder."""

from __future__ import annotations

import json
import os
import tempfile
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from agentkit import private
from agentkit.core.given import is_list_of
from agentkit.errors import ConfigError

_CHANGING = threading.Lock()


class AllowedTools:
    """The names in `allowed-tools.json`; read anew each time, as several runs and pages use it."""

    def __init__(self, data: Path) -> None:
        self._file = data / "allowed-tools.json"

    def __contains__(self, tool: object) -> bool:
        """Whether the tool may run without being asked about."""
        return tool in self.names()

    def names(self) -> list[str]:
        """Their names, sorted; raises ConfigError when the file cannot be read."""
        try:
            stored = json.loads(self._file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return []
        except (OSError, ValueError) as error:
            raise self._unreadable(type(error).__name__) from error
        if not is_list_of(stored, str):
            raise self._unreadable("it is not a list of names")
        return sorted(set(stored))

    def add(self, tool: str) -> None:
        """Let the tool run without being asked about."""
        with _CHANGING:
            self._write({*self.names(), tool})

    def remove(self, tool: str) -> None:
        """Ask about the tool again."""
        with _CHANGING:
            self._write(set(self.names()) - {tool})

    def _write(self, names: Iterable[str]) -> None:
        """Replace the file in one step."""
        private.make_folder(self._file.parent)
        handle, temporary = tempfile.mkstemp(dir=self._file.parent, prefix=".allowed-tools-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(sorted(names), file, ensure_ascii=False, indent=1)
            os.replace(temporary, self._file)
        except OSError as error:
            with suppress(OSError):
                os.unlink(temporary)
            raise ConfigError(
                f"{self._file} cannot be written ({error.strerror}); check the permissions and the"
                " free space."
            ) from error

    def _unreadable(self, why: str) -> ConfigError:
        return ConfigError(f"{self._file} cannot be read ({why}); correct or remove it.")
