"""A chat of a file made into a chat of this place, with ids of its own."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from agentkit.coding.chat_kernel.kept import Kept
from agentkit.database import Row
from agentkit.ledger import Chat
from agentkit.ledger.whole import WholeChat
from agentkit.messages import new_id, without_keys
from agentkit.workspace.sharing.form import ChatFile
from agentkit.workspace.sharing.writing import OF_THIS_PLACE, without_paths

_TELLING = 16
"""Characters of an id from which on a text that is the same can only mean it."""
_CALL_EVENTS = ("ModelCalled", "ModelReplied")


def to_rows(file: ChatFile, owner: str) -> WholeChat:
    """The rows of a new chat of this owner.

    What had not ended cannot be gone on with from its last step: nobody here has approved what
    stands in the file.
    """
    ids = _Ids(file)
    settings = without_keys(file.chat.settings, OF_THIS_PLACE)
    events = []
    for run in file.runs:
        new_id = ids.new(run.id)
        events += [_to_event(event.model_dump(), new_id, ids) for event in run.events]
    return WholeChat(
        _to_chat(file, owner, ids),
        ids.renew(without_paths(settings)),
        [_to_message(one.model_dump(), ids) for one in file.messages],
        [_to_run(run.model_dump(exclude={"events"}), ids) for run in file.runs],
        events,
        [_to_call(call.model_dump(), ids) for call in file.calls],
        file.requests,
    )


def put_kept(file: ChatFile, kept: Kept) -> None:
    """Put what the chat kept of its cells into its folder here; raises OSError."""
    for name, content in file.kept.items():
        kept.put(base64.b64decode(content), name.rpartition(".")[2])


class _Ids:
    """The new ids of a file's parts: the same new one for an old one wherever it stands."""

    def __init__(self, file: ChatFile) -> None:
        self._new = {old: new_id() for old in dict.fromkeys(_find_ids(file))}

    def new(self, old: str) -> str:
        """The new id of a part of the file."""
        return self._new[old]

    def find(self, old: str | None) -> str | None:
        """The same; None for none."""
        if old is None:
            return None
        return self._new[old]

    def renew(self, value: Any) -> Any:
        """A JSON value with new ids in place of the old ones."""
        if isinstance(value, str):
            if len(value) >= _TELLING:
                return self._new.get(value, value)
            return value
        if isinstance(value, list):
            return [self.renew(one) for one in value]
        if isinstance(value, dict):
            return {name: self.renew(one) for name, one in value.items()}
        return value


def _find_ids(file: ChatFile) -> Iterator[str]:
    yield file.chat.id
    yield from (one.id for one in file.messages)
    for run in file.runs:
        yield run.id
        yield from filter(None, [run.message_id])
        for event in run.events:
            if event.kind in _CALL_EVENTS:
                yield str(event.data.get("call_id", ""))
    for call in file.calls:
        yield call.id
        yield from filter(None, [call.message_id])


def _to_chat(file: ChatFile, owner: str, ids: _Ids) -> Chat:
    chat = file.chat
    return Chat(
        ids.new(chat.id),
        owner,
        " ".join(chat.title.split()),
        chat.team,
        chat.model,
        chat.collection,
        ids.find(chat.head_id),
        _naive(chat.created_at),
        _naive(chat.updated_at),
    )


def _to_message(row: Row, ids: _Ids) -> Row:
    return {
        **row,
        "id": ids.new(row["id"]),
        "parent_id": ids.find(row["parent_id"]),
        "run_id": ids.find(row["run_id"]),
        "extra": ids.renew(without_paths(row["extra"])),
        "created_at": _naive(row["created_at"]),
    }


def _to_run(row: Row, ids: _Ids) -> Row:
    ended = row["finished_at"]
    return {
        **row,
        "id": ids.new(row["id"]),
        "state": "imported" if row["state"] == "interrupted" else row["state"],
        "reason": ids.renew(row["reason"]),
        "started_at": _naive(row["started_at"]),
        "finished_at": _naive(ended) if ended else None,
        "message_id": ids.find(row["message_id"]),
    }


def _to_event(row: Row, run_id: str, ids: _Ids) -> Row:
    data = ids.renew(without_paths(row["data"]))
    return {**row, "run_id": run_id, "happened_at": _naive(row["happened_at"]), "data": data}


def _to_call(row: Row, ids: _Ids) -> Row:
    return {
        **row,
        "id": ids.new(row["id"]),
        "run_id": ids.find(row["run_id"]),
        "message_id": ids.find(row["message_id"]),
        "finished_at": _naive(row["finished_at"]),
    }


def _naive(at: datetime) -> datetime:
    """As the tables hold it."""
    return at.replace(tzinfo=None)
