"""What a tool returned: as text for a model, and the passages that stand in it for whoever
listens.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set, ValuesView
from contextlib import contextmanager
from contextvars import ContextVar
from operator import attrgetter
from types import NoneType
from typing import Any


def to_text(value: object) -> str:
    """The value as a model should read it: a text as it is, everything else as JSON where it has
    that form.

    Models of pydantic, dataclasses, sets, dates, enums and the arrays and frames of numpy and
    pandas have one; other objects are told by `str()`. Sets are sorted, so that the same set gives
    the same text. Never raises.
    """
    try:
        return _make_encodable(_dump(value))
    except Exception:  # noqa: BLE001 (a foreign object's methods, or a structure that holds itself)
        return _make_encodable(_describe(value))


def _dump(value: Any) -> str:
    if callable(getattr(value, "model_dump_json", None)):
        return str(value.model_dump_json())
    plain = _to_plain(value)
    if isinstance(plain, str):
        return str.__str__(plain)
    return json.dumps(plain, ensure_ascii=False)


def _to_plain(value: object) -> Any:
    """The value made of what JSON knows."""
    convert = next(convert for kind, convert in _FORMS if isinstance(value, kind))
    return convert(value)


def _foreign_to_plain(value: Any) -> Any:
    """Of an object by the method that its library gives it to tell its content."""
    convert = next(convert for mark, convert in _FOREIGN if hasattr(value, mark))
    return convert(value)


def _fields_to_plain(value: Any) -> dict[str, Any]:
    names = map(attrgetter("name"), dataclasses.fields(value))
    return {name: _to_plain(getattr(value, name)) for name in names}


def _set_to_plain(value: Set[Any]) -> list[Any]:
    return sorted(map(_to_plain, value), key=lambda item: json.dumps(item, sort_keys=True))


_FOREIGN: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    ("__dataclass_fields__", _fields_to_plain),
    # a pydantic model inside something else
    ("model_dump", lambda value: _to_plain(value.model_dump())),
    # a frame or a series of pandas, whose str() leaves rows out
    ("to_string", lambda value: str(value.to_string())),
    # an array or a scalar of numpy
    ("tolist", lambda value: _to_plain(value.tolist())),
    ("__class__", str),
)
_FORMS: tuple[tuple[type | tuple[type, ...], Callable[[Any], Any]], ...] = (
    (type, str),
    (enum.Enum, lambda value: _to_plain(value.value)),
    ((NoneType, bool, int, float, str), lambda value: value),
    ((bytes, bytearray), lambda value: bytes(value).decode(errors="backslashreplace")),
    ((datetime.date, datetime.time), lambda value: value.isoformat()),
    (Mapping, lambda value: {_key_to_text(key): _to_plain(item) for key, item in value.items()}),
    (Set, _set_to_plain),
    ((Sequence, ValuesView), lambda value: list(map(_to_plain, value))),
    (object, _foreign_to_plain),
)


def _key_to_text(key: object) -> str:
    if isinstance(key, str):
        return str.__str__(key)
    return _dump(key)


def _describe(value: object) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001 (even str() of a foreign object may fail)
        return f"<{type(value).__name__}>"


def _make_encodable(text: str) -> str:
    """The text without lone surrogates, which no request could carry."""
    return text.encode(errors="backslashreplace").decode()


Given = dict[str, Any]
"""A passage in a result: its number as `marker`; `document_id`, `start` and `end` of its hit."""
_given: ContextVar[list[Given] | None] = ContextVar("agentkit_given", default=None)


def give(passages: Iterable[Mapping[str, Any]]) -> None:
    """Say which passages stand in the result of the tool that runs; elsewhere nobody hears it."""
    given = _given.get()
    if given is not None:
        given += map(dict, passages)


@contextmanager
def collecting() -> Iterator[list[Given]]:
    """What tools give in the block, also to a block around this one."""
    around, given = _given.get(), list[Given]()
    token = _given.set(given)
    try:
        yield given
    finally:
        _given.reset(token)
        if around is not None:
            around += given
