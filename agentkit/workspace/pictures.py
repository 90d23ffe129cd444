"""Pictures of questions: those that wait to be asked about, and those that chats keep.

What waits lies in the folder `pictures` of the data folder, until a chat keeps it among what its
cells have shown; there it goes with the chat.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import repeat
from operator import attrgetter, itemgetter
from pathlib import Path

from agentkit.coding.chat_kernel.kept import Kept
from agentkit.documents import Limits, prepare_picture
from agentkit.errors import NotFound, StoreError
from agentkit.events import ParameterRefused
from agentkit.ledger import Ledger, StoredMessage, queries
from agentkit.llm.calls.pictures import Picture, Shown, recall_blindness
from agentkit.settings import Settings
from agentkit.teams import Question, Task
from agentkit.workspace import kernels
from agentkit.workspace.answering import Asking

WAITING = "pictures"
"""The folder of what waits."""
KEPT_WAITING_S = 30 * 86_400
"""What waits for longer than that is removed when the data folder is opened."""


def prepare(settings: Settings, path: Path, name: str) -> Picture:
    """Make the picture in a file ready to be asked about; `name` is what people call it.

    Raises a DocumentError for anything but a picture, and StoreError when there is no room for it.
    """
    made = prepare_picture(path, name, Limits.from_settings(settings))
    waiting = _waiting(settings.data)
    kept = _put(waiting, made.content, made.kind, name)
    (waiting.folder / kept).touch()
    return Picture(name, kept, made.width, made.height)


def prepare_bytes(settings: Settings, content: bytes, name: str) -> Picture:
    """The same of a picture that is in no file."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        return prepare(settings, Path(file.name), name)


def check(data: Path, pictures: Sequence[Picture]) -> None:
    """Raise NotFound for the first of these that is not there any more."""
    for picture in pictures:
        read(data, picture)


def keep(data: Path, chat_id: str, question: Question) -> Question:
    """The question with its pictures kept by its chat; raises StoreError when it keeps no more."""
    kept = map(_keep, repeat(data), repeat(chat_id), question.pictures)
    return replace(question, pictures=tuple(kept))


def read(data: Path, picture: Picture) -> bytes:
    """The bytes of a picture, waiting or kept; raises NotFound."""
    folder = kernels.find_kept(data, picture.chat_id) if picture.chat_id else _waiting(data)
    try:
        return folder.read(picture.kept)
    except NotFound as error:
        raise NotFound(
            f"The picture {picture.name} is not there any more; attach it once more."
        ) from error


def show(data: Path, ledger: Ledger, asking: Asking, task: Task) -> Shown:
    """What the team's model is shown for a question: its own pictures, and of earlier questions
    the names. What the chat was told of models that do not see is known again.
    """
    chat, asked, thread = asking.chat, task.asked, asking.thread
    earlier = dict(map(_name_pictures, thread))
    run_ids = set(map(attrgetter("run_id"), thread))
    if asked.pictures:
        told = queries.told(ledger, chat.owner, list(run_ids - {None}), ParameterRefused)
        recall_blindness(map(itemgetter(1), told), task.model)

    def read_kept(picture: Picture) -> bytes:
        return read(data, replace(picture, chat_id=chat.id))

    agents = frozenset(asking.team.agents)
    return Shown(agents, asked.text, asked.pictures, read_kept, earlier)


def remove_old(data: Path) -> None:
    """Remove what has waited for too long."""
    oldest = time.time() - KEPT_WAITING_S
    there = (data / WAITING).glob("*.*")
    for file in filter(lambda one: one.stat().st_mtime < oldest, there):
        file.unlink(missing_ok=True)


def _waiting(data: Path) -> Kept:
    return Kept(data / WAITING)


def _put(folder: Kept, content: bytes, kind: str, name: str) -> str:
    """The name under which the folder keeps it; raises StoreError."""
    try:
        kept = folder.put(content, kind)
    except OSError as error:
        raise StoreError(
            f"{name} cannot be kept in {folder.folder} ({error.strerror}); check free space and"
            " permissions."
        ) from error
    if not kept:
        raise StoreError(f"There is no room for {name}: there are too many pictures here already.")
    return kept


def _keep(data: Path, chat_id: str, picture: Picture) -> Picture:
    content = read(data, picture)
    kind = picture.kept.rpartition(".")[2]
    folder = kernels.find_kept(data, chat_id)
    _put(folder, content, kind, picture.name)
    return replace(picture, chat_id=chat_id)


def _name_pictures(said: StoredMessage) -> tuple[str, list[str]]:
    """What was said, and what the pictures that went along are called."""
    told = said.extra.get("pictures", ())
    names = map(itemgetter("name"), told)
    return said.content.strip(), list(names)
