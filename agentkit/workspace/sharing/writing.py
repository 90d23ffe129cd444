"""A chat out of the ledger in the form of a file, and the file itself."""

from __future__ import annotations

import base64
import os
import tempfile
from collections.abc import Iterable, Mapping
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from agentkit.coding.chat_kernel.kept import Kept
from agentkit.database import Row
from agentkit.errors import StoreError
from agentkit.ledger.whole import WholeChat
from agentkit.messages import without_keys
from agentkit.workspace.sharing.form import FORMAT, VERSION, ChatFile

KEPT_BYTES = 64 << 20
"""What goes along of pictures, tables and files; more than that is told, and left out."""
OF_THIS_PLACE = ("queue", "draft", "not_asked", "pictures")
"""What is set in a chat for the person at this place: what waits, and what is being typed."""
_ENDS = ("finished", "failed", "stopped", "continued")


def to_file(whole: WholeChat, kept: Kept) -> ChatFile:
    """The chat in the form of a file; what is going on in it is interrupted there."""
    known = {message["id"] for message in whole.messages}
    run_ids = {run["id"] for run in whole.runs}
    events = {
        run_id: list(rows) for run_id, rows in groupby(whole.events, key=itemgetter("run_id"))
    }
    names = _find_kept(whole.events) | _find_pictures(whole.messages)
    contents, left_out = _read_kept(kept, sorted(names))
    return ChatFile.model_validate(
        {
            "format": FORMAT,
            "version": VERSION,
            "chat": _describe_chat(whole, known),
            "messages": [_describe_message(one, known, run_ids) for one in whole.messages],
            "runs": [_describe_run(run, events.get(run["id"], [])) for run in whole.runs],
            "calls": [{**one, "run_id": _within(one["run_id"], run_ids)} for one in whole.calls],
            "requests": whole.requests,
            "kept": contents,
            "left_out": left_out,
        }
    )


def write(file: ChatFile, path: Path) -> None:
    """Write it, in place of a file that is there, whole or not at all; raises StoreError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".chat-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as opened:
                opened.write(file.model_dump_json(indent=1))
            os.replace(temporary, path)
        finally:
            Path(temporary).unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written ({error.strerror}); make room there, or give another file."
        ) from error


def without_paths(value: Any) -> Any:
    """A JSON value in which no file of this machine is named by its path.

    Whoever asks a question once more takes in what lies at its files' paths: what others wrote
    must not choose them.
    """
    if isinstance(value, list):
        return [without_paths(one) for one in value]
    if not isinstance(value, dict):
        return value
    inner = {name: without_paths(one) for name, one in value.items()}
    if inner.keys() >= {"name", "path", "origin"}:
        inner["path"] = ""
    if "files" in inner and inner.keys().isdisjoint(("choice", "cell")):
        inner["files"] = _without_old_paths(inner["files"])
    return inner


def _without_old_paths(files: Any) -> Any:
    """What the oldest questions call files: lists of a name, a path and where it is from."""
    if not isinstance(files, list):
        return files
    return list(map(_without_old_path, files))


def _without_old_path(file: Any) -> Any:
    if not isinstance(file, list):
        return file
    return [*file[:1], "", *file[2:]]


def _describe_chat(whole: WholeChat, known: set[str]) -> Row:
    chat = whole.chat
    return {
        "id": chat.id,
        "title": chat.title,
        "team": chat.team,
        "model": chat.model,
        "collection": chat.collection,
        "created_at": chat.created_at,
        "updated_at": chat.updated_at,
        "head_id": _within(chat.head_id, known),
        "settings": without_paths(without_keys(whole.settings, OF_THIS_PLACE)),
    }


def _describe_message(row: Row, known: set[str], run_ids: set[str]) -> Row:
    return {
        **row,
        "parent_id": _within(row["parent_id"], known),
        "run_id": _within(row["run_id"], run_ids),
        "extra": without_paths(row["extra"]),
    }


def _describe_run(row: Row, events: Iterable[Row]) -> Row:
    state = row["state"]
    if state not in _ENDS:
        state = "interrupted"
    return {**row, "state": state, "events": list(map(_describe_event, events))}


def _describe_event(row: Row) -> Row:
    return {
        "seq": row["seq"],
        "happened_at": row["happened_at"],
        "kind": row["kind"],
        "data": without_paths(row["data"]),
    }


def _within(one: str | None, known: set[str]) -> str | None:
    """The id, if it is that of something in the file."""
    if one in known:
        return one
    return None


def _find_kept(events: Iterable[Row]) -> set[str]:
    """The names of what the chat keeps of its cells."""
    found: set[str] = set()
    for event in events:
        cell = event["data"].get("cell") or {}
        found |= _name_kept([*cell.get("outputs", ()), *cell.get("files", ())])
    return found


def _find_pictures(messages: Iterable[Row]) -> set[str]:
    """The names under which the chat keeps the pictures of its questions."""
    found: set[str] = set()
    for said in messages:
        found |= _name_kept(said["extra"].get("pictures", ()))
    return found


def _name_kept(told: Iterable[Mapping[str, Any]]) -> set[str]:
    """Under which names these are kept, those that are."""
    return {str(one["kept"]) for one in told if "kept" in one}


def _read_kept(kept: Kept, names: Iterable[str]) -> tuple[dict[str, str], dict[str, int]]:
    """The contents in base64, and the sizes of those for which there was no room."""
    contents: dict[str, str] = {}
    left_out: dict[str, int] = {}
    room = KEPT_BYTES
    for name in names:
        path = kept.folder / name
        if not path.is_file():
            continue
        size = path.stat().st_size
        if size > room:
            left_out[name] = size
            continue
        room -= size
        contents[name] = base64.b64encode(kept.read(name)).decode()
    return contents, left_out
