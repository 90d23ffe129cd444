"""Chats out of a data folder and into it, as files."""

from __future__ import annotations

from pathlib import Path

from agentkit.errors import StoreError
from agentkit.ledger import Chat, Ledger
from agentkit.ledger.whole import read_whole, store_whole
from agentkit.workspace import kernels


class Sharing:
    """Whole chats as files, and files as chats; the form of the files: docs/chats.md."""

    def __init__(self, data: Path, ledger: Ledger) -> None:
        self._data, self._ledger = data, ledger

    def export(self, owner: str, chat_id: str, path: Path) -> Path:
        """Write a chat with all its branches as JSON to a file, in place of one that is there.

        Raises NotFound, and StoreError when it cannot be written.
        """
        from agentkit.workspace.sharing import writing  # loads pydantic

        whole = read_whole(self._ledger, owner, chat_id)
        file = writing.to_file(whole, kernels.find_kept(self._data, chat_id))
        writing.write(file, path)
        return path

    def load(self, owner: str, path: Path, called: str = "") -> Chat:
        """Make a new chat of such a file: all of it, or nothing.

        `called` is what messages call the file, by default its name. Raises NotFound,
        DocumentTooLarge, DamagedDocument and StoreError.
        """
        from agentkit.workspace.sharing import reading, storing  # loads pydantic

        file = reading.read(path, called)
        whole = storing.to_rows(file, owner)
        chat = whole.chat
        try:
            storing.put_kept(file, kernels.find_kept(self._data, chat.id))
            store_whole(self._ledger, whole)
        except BaseException as error:
            kernels.remove(self._data, chat.id)
            if isinstance(error, OSError):
                raise StoreError(
                    f"There is no room for what {called or path.name} brings ({error.strerror});"
                    " make room in the data folder. Nothing was imported."
                ) from error
            raise
        return self._ledger.chat(owner, chat.id)
