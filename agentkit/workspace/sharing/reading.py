"""A file with a chat, read and checked: who wrote it is not known."""

from __future__ import annotations

import base64
import binascii
import dataclasses
import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import repeat
from pathlib import Path
from typing import Any

from pydantic import NonNegativeInt, TypeAdapter, ValidationError

from agentkit.errors import AgentkitError, DamagedDocument, DocumentTooLarge, NotFound
from agentkit.event_json import NEEDED
from agentkit.events import KINDS, MessageSent
from agentkit.ledger.requests import is_hash_of
from agentkit.teams import Citation, Question
from agentkit.workspace.sharing import LARGEST_MB
from agentkit.workspace.sharing.form import (
    FORMAT,
    VERSION,
    ChatFile,
    KnownSettings,
    MessagePart,
    RunPart,
)

_MOST_SENT = 1_000_000
"""Messages that the requests of a chat have in all when each is written out; a short list could
else stand for any number.
"""


def read(path: Path, called: str = "") -> ChatFile:
    """The chat in a file; `called` is what messages call it, by default its name.

    Raises NotFound, DocumentTooLarge before anything of it is read, and DamagedDocument for
    anything but a whole chat of a version that is known here.
    """
    name = called or path.name
    try:
        if not path.is_file():
            raise NotFound(f"There is no file {name}; choose one that Export wrote.")
        if path.stat().st_size > LARGEST_MB << 20:
            raise DocumentTooLarge(
                f"{name} has {path.stat().st_size / 1e6:,.0f} MB; a chat in a file has"
                f" {LARGEST_MB:,} MB at most. Nothing of it was read."
            )
        content = path.read_bytes()
    except OSError as error:
        raise DamagedDocument(f"{name} cannot be read ({error.strerror}).") from error
    return parse(content, name)


def parse(content: bytes, name: str) -> ChatFile:
    """The chat that a file's bytes hold; raises DamagedDocument."""
    found = _parse_json(content, name)
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise DamagedDocument(
            f"{name} is JSON, but no chat that agentkit wrote; choose a file that Export wrote as"
            " JSON."
        )
    version = found.get("version")
    if isinstance(version, int) and version > VERSION:
        raise DamagedDocument(
            f"{name} was written by a newer version of agentkit (form {version}, known here are"
            f" those up to {VERSION}); update agentkit, then import it."
        )
    try:
        file = ChatFile.model_validate(found)
    except ValidationError as error:
        raise DamagedDocument(_describe(error, name)) from error
    if problem := _find_problem(file):
        raise DamagedDocument(f"{name} is damaged: {problem}. Export the chat again.")
    return file


def _parse_json(content: bytes, name: str) -> Any:
    try:
        return json.loads(
            content.decode("utf-8-sig"), parse_constant=_refuse_number, parse_float=_to_finite
        )
    except RecursionError as error:
        raise DamagedDocument(
            f"{name} is nested deeper than any chat; it was not imported."
        ) from error
    except ValueError as error:
        raise DamagedDocument(
            f"{name} is not JSON, or was cut off ({error}); export the chat again, or choose"
            " another file."
        ) from error


def _refuse_number(told: str) -> float:
    raise ValueError(f"{told} is not a number in JSON")


def _to_finite(told: str) -> float:
    value = float(told)
    if math.isfinite(value):
        return value
    return _refuse_number(told)


def _describe(error: ValidationError, name: str) -> str:
    """What is wrong first, and where it stands."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"]))
    return f"{name} is not a whole chat: {where[:200]}: {first['msg']}. Export the chat again."


def _find_problem(file: ChatFile) -> str:
    """Why the parts do not belong together; empty when they do."""
    ids = [one.id for one in file.messages]
    runs = [run.id for run in file.runs]
    calls = [(call.id, call.attempt) for call in file.calls]
    doubles = (_find_double(ids), _find_double(runs), _find_double(calls))
    doubled = next(filter(None, doubles), None)
    if doubled:
        return f"the id {doubled} is there twice"
    return next(filter(None, _find_problems(file, set(ids))), "")


def _find_problems(file: ChatFile, ids: set[str]) -> Iterator[str]:
    """What each check finds, empty where all is well; a later one needs what an earlier finds."""
    yield _find_lost(file, ids)
    yield _find_circle(file.messages)
    yield _check_settings(file.chat.settings)
    yield from map(_check_message, file.messages, repeat(file.chat.id))
    yield from (_check_run(run, file.chat.id) for run in file.runs)
    yield _check_requests(file)
    yield from (_check_kept(name, content) for name, content in file.kept.items())


def _find_double(ids: Iterable[object]) -> object:
    known: set[object] = set()
    for one in ids:
        if one in known:
            return one
        known.add(one)
    return ""


def _find_lost(file: ChatFile, ids: set[str]) -> str:
    """What is named and is not there."""
    messages: set[str | None] = {file.chat.head_id}
    runs = {call.run_id for call in file.calls}
    for one in file.messages:
        messages.add(one.parent_id)
        runs.add(one.run_id)
    runs -= {run.id for run in file.runs}
    lost = sorted(filter(None, runs | (messages - ids)))
    if lost:
        return f"there is nothing with the id {lost[0]}, which other parts name"
    return ""


def _find_circle(messages: Sequence[MessagePart]) -> str:
    """Whether a message comes before itself."""
    before = {one.id: one.parent_id for one in messages}
    ended: set[str] = set()
    for start in before:
        way: set[str] = set()
        at: str | None = start
        while at is not None and at not in ended:
            if at in way:
                return f"the message {at} follows itself"
            way.add(at)
            at = before[at]
        ended |= way
    return ""


def _check_settings(settings: Mapping[str, Any]) -> str:
    """Whether what is set in the chat is of a kind that pages can read."""
    try:
        KnownSettings.model_validate(settings)
    except ValidationError as error:
        return f"what is set in the chat as {error.errors()[0]['loc'][0]} cannot be read"
    return ""


def _check_message(one: MessagePart, chat_id: str) -> str:
    """Whether what travels with a message can be read as others read it, and is of this chat."""
    said = MessageSent(one.id, None, one.sender, "", one.role, one.content, extra=dict(one.extra))
    try:
        shown = Question.from_message(said).pictures
        _citations().validate_python(one.extra.get("citations", []))
    except (ValueError, TypeError, AttributeError, AgentkitError):
        return f"what goes with the message {one.id} cannot be read"
    if {picture.chat_id for picture in shown} - {chat_id}:
        return f"the message {one.id} names pictures of another chat"
    return ""


@cache
def _citations() -> TypeAdapter[list[Citation]]:
    return TypeAdapter(list[Citation])


def _check_run(run: RunPart, chat_id: str) -> str:
    if double := _find_double(event.seq for event in run.events):
        return f"the run {run.id} has two events {double}"
    for event in run.events:
        if not _fits(event.kind, event.data):
            return f"the event {event.seq} of the run {run.id} does not fit its kind {event.kind}"
        if any(named not in ("", chat_id) for named in _name_chats(event.data)):
            return f"the event {event.seq} of the run {run.id} names another chat"
    return ""


def _name_chats(data: Mapping[str, Any]) -> list[object]:
    """The chats that an event says it belongs to, as whatever stands there; empty texts where it
    says nothing.
    """
    parts = (data, data.get("cell"))
    return [part.get("chat_id", "") for part in parts if isinstance(part, Mapping)]


def _fits(kind: str, data: Mapping[str, Any]) -> bool:
    """Whether the data has the fields of its kind, if that is known; further ones are of another
    version.
    """
    if kind not in KINDS:
        return True
    try:
        _event(kind).validate_python(data)
    except ValidationError:
        # Older versions lack fields, and what lacks them is shown as unknown.
        return not NEEDED[KINDS[kind]] <= data.keys()
    return True


@cache
def _event(kind: str) -> TypeAdapter[Any]:
    return TypeAdapter(KINDS[kind])


def _check_requests(file: ChatFile) -> str:
    """Whether what was sent to models can be read: each part is what its hash says, and lists refer
    to earlier ones without end or circle.
    """
    for key, body in file.requests.items():
        if not is_hash_of(key, body):
            return f"the part {key} of a request is not what its name says"
    sent: dict[tuple[str, int], _Sent] = {}
    try:
        for run in file.runs:
            for event in run.events:
                told = event.data.get("sent")
                if told is not None:
                    sent[run.id, event.seq] = _sent().validate_python(told)
    except ValidationError:
        return "a request to a model cannot be read"
    return _measure_lists(sent)


@dataclasses.dataclass(frozen=True)
class _Sent:
    """What the event of a call says of its request."""

    frame: str | None
    tools: str | None
    base: tuple[str, int] | None
    list: list[str | tuple[NonNegativeInt, NonNegativeInt]]


@cache
def _sent() -> TypeAdapter[_Sent]:
    return TypeAdapter(_Sent)


def _measure_lists(sent: Mapping[tuple[str, int], _Sent]) -> str:
    """Write out no list, but count how long each would be; what is lost has no length."""
    lengths: dict[tuple[str, int] | None, int] = {}
    for start in sent:
        way: dict[tuple[str, int], _Sent] = {}
        at: tuple[str, int] | None = start
        while at is not None and at in sent and at not in lengths:
            if at in way:
                return "a request to a model refers to itself"
            way[at] = sent[at]
            at = sent[at].base
        for place, one in reversed(way.items()):
            lengths[place] = _count(one.list, lengths.get(one.base, 0))
    if sum(lengths.values()) > _MOST_SENT:
        return "its requests have no end"
    return ""


def _count(items: Sequence[str | tuple[int, int]], base: int) -> int:
    """How long a list is; what is beyond its base is not there."""
    length = 0
    for one in items:
        if isinstance(one, str):
            length += 1
        else:
            first, last = one
            length += max(0, min(last + 1, base) - first)
    return min(length, _MOST_SENT + 1)


def _check_kept(name: str, content: str) -> str:
    try:
        data = base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        data = b""
    if hashlib.sha256(data).hexdigest() != name.partition(".")[0]:
        return f"{name} is not the file that its name says"
    return ""
