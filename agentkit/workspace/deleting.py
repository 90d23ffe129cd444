"""Deleting chats: what is stopped first, and what goes for good with them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from agentkit import runs
from agentkit.ledger import Ledger
from agentkit.ledger.store import utc_now
from agentkit.retrieval import Library
from agentkit.workspace import intake, kernels

KEPT_DELETED = timedelta(days=7)
"""How long a deleted chat can be brought back."""


def stop_answers(owner: str, chat_ids: Sequence[str]) -> None:
    """Stop what is being answered in these chats, and wait for it."""
    answering = [run for one in chat_ids for run in runs.live(owner, chat_id=one)]
    for run in answering:
        run.stop()
    for run in answering:
        run.wait(10)


def remove_chat(ledger: Ledger, library: Library, data: Path, owner: str, chat_id: str) -> None:
    """Remove a chat with its files in the `data` folder and the documents that were attached to it
    alone; raises NotFound.
    """
    chat = ledger.chat(owner, chat_id, deleted=True)
    stop_answers(owner, [chat_id])
    ledger.delete_chat(owner, chat_id)
    kernels.remove(data, chat_id)
    for name in intake.find_attachments(library, chat):
        library.delete_collection(owner, name)


def remove_discarded(ledger: Ledger, library: Library, data: Path, before: datetime | None) -> int:
    """Remove the chats that were discarded before then, by default a week ago; returns how many
    they were.
    """
    found = ledger.list_discarded(before or utc_now() - KEPT_DELETED)
    for chat in found:
        remove_chat(ledger, library, data, chat.owner, chat.id)
    return len(found)
