"""Files on their way into a collection: uploads, what was fetched, and what goes along with a
question.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agentkit.errors import AgentkitError
from agentkit.events import DocumentDone
from agentkit.ledger import Chat
from agentkit.retrieval import Library, Source
from agentkit.teams import Question
from agentkit.workspace.again import Earlier


def take_in(
    library: Library, owner: str, collection: str, sources: Sequence[Source]
) -> list[DocumentDone]:
    """Take the sources in, and remove the copies that waited in the data folder for it."""
    try:
        return library.ingest(owner, collection, sources)
    finally:  # the library has its own copies
        for source in sources:
            for folder in ("uploads", "fetched"):
                discard(source.path, library.settings.data / folder)


def attach(library: Library, chat: Chat, question: Question, files: Sequence[Source]) -> None:
    """Take in these files that go along with a question.

    Raises AgentkitError when none of them can be read.
    """
    if not files:
        return
    target = question.collection
    if not question.keep_attachments:
        target = attachment_collection(chat.id)
        if not find_attachments(library, chat):
            library.create_collection(chat.owner, target, hidden=True, like=question.collection)
    _check_read(take_in(library, chat.owner, target, files), len(files))


def attach_again(library: Library, chat: Chat, again: Earlier) -> None:
    """What went along with a question and was not taken in, or not read, when it was asked
    first.
    """
    attach(library, chat, again.question, again.files)
    if again.unread:
        done = library.retry(chat.owner, again.unread)
        _check_read(done, len(again.question.attachments))


def find_attachments(library: Library, chat: Chat) -> list[str]:
    """The collection of what is attached to a chat alone, if there is one."""
    name = attachment_collection(chat.id)
    hidden = library.collections(chat.owner, hidden=True)
    return [collection.name for collection in hidden if collection.name == name]


def attachment_collection(chat_id: str) -> str:
    """Name of the hidden collection that holds what was attached to a chat alone."""
    return f"chat:{chat_id}"


def discard(path: Path, folder: Path) -> None:
    """Remove a file below the folder, with the folders between that are empty then; leave others
    alone.
    """
    path, folder = path.parent.resolve() / path.name, folder.resolve()
    if not path.is_relative_to(folder):
        return
    path.unlink(missing_ok=True)
    for parent in path.parents:
        is_above = parent == folder or not parent.is_dir()
        if is_above or any(parent.iterdir()):
            return
        parent.rmdir()


def _check_read(done: Sequence[DocumentDone], given: int) -> None:
    failed = [one for one in done if one.status == "failed"]
    if len(failed) == given:
        raise AgentkitError(
            "None of the attached files could be read. "
            + " ".join(f"{one.document}: {one.error}" for one in failed)
        )
