"""Model replies as bytes and back: JSON for the kinds of reply that we know, pickle for others
where that is allowed.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import pickle
from collections.abc import Callable, Mapping
from types import NoneType, SimpleNamespace
from typing import Any

from agentkit.errors import StoreError, WrongType

_JSON, _PICKLE = b"J", b"P"
_OURS = "agentkit.llm.response"
_OPENAI = "openai.types."
_KIND, _VALUE = "$kind", "value"
_NAMESPACE = "namespace"
_PLAIN = (NoneType, str, int, float, bool)


def encode(value: object, *, pickled: bool) -> bytes:
    """The value as bytes; `pickled` allows pickle for what JSON cannot hold. Raises WrongType when
    neither can.
    """
    try:
        data = json.dumps(_pack(value)).encode()
        if _unpack(json.loads(data)) == value:
            return _JSON + data
    except (TypeError, ValueError, AttributeError, RecursionError):
        pass  # no plain data: pickle may hold it
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if not pickled:
        raise WrongType(
            f"a {kind} cannot be kept as JSON; return plain data, a SimpleNamespace or an OpenAI"
            " response."
        )
    try:
        return _PICKLE + pickle.dumps(value)
    except Exception as error:  # an object's own __reduce__ may raise anything
        raise WrongType(
            f"a {kind} can be kept neither as JSON nor by pickle ({error}); return plain data."
        ) from error


def decode(data: bytes, *, pickled: bool) -> Any:
    """The value that `encode` wrote; `pickled` says that whoever wrote it is trusted. Raises
    StoreError when damaged.
    """
    mark, body = data[:1], data[1:]
    if mark == _PICKLE and not pickled:
        raise StoreError(
            "it is a pickled object that another user may have written; it is not loaded."
        )
    read = _READERS.get(mark)
    if read is None:
        raise StoreError("it is not an entry of this cache.")
    try:
        return read(body)
    except Exception as error:  # pickle runs the constructors of any class
        raise StoreError(f"it cannot be read back ({type(error).__name__}: {error}).") from error


def _read_json(body: bytes) -> Any:
    return _unpack(json.loads(body))


_READERS: Mapping[bytes, Callable[[bytes], Any]] = {_JSON: _read_json, _PICKLE: pickle.loads}


def _pack(value: Any) -> Any:
    """The value as JSON data in which objects are `{"$kind": ..., "value": ...}`; raises TypeError
    for other kinds.
    """
    pack: Callable[[Any], Any] = _PACKERS.get(type(value), _pack_object)
    return pack(value)


def _leave(value: object) -> object:
    return value


def _pack_list(values: list[Any]) -> list[Any]:
    return list(map(_pack, values))


def _pack_namespace(value: SimpleNamespace) -> dict[str, Any]:
    return {_KIND: _NAMESPACE, _VALUE: _pack_dict(vars(value))}


def _pack_object(value: Any) -> dict[str, Any]:
    kind = type(value)
    return {_KIND: f"{kind.__module__}:{kind.__qualname__}", _VALUE: _pack_dict(_to_fields(value))}


def _pack_dict(values: dict[Any, Any]) -> dict[str, Any]:
    if _KIND in values or set(map(type, values)) - {str}:
        raise TypeError("not a JSON object")
    return dict(zip(values, map(_pack, values.values()), strict=True))


_PACKERS: Mapping[type, Callable[[Any], Any]] = {
    **dict.fromkeys(_PLAIN, _leave),
    list: _pack_list,
    dict: _pack_dict,
    SimpleNamespace: _pack_namespace,
}


def _to_fields(value: Any) -> dict[str, Any]:
    """What an object of ours or of the OpenAI SDK holds; raises TypeError for others."""
    module = type(value).__module__
    if module == _OURS:
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if module.startswith(_OPENAI):
        dumped: dict[str, Any] = value.model_dump(exclude_unset=True, warnings=False)
        return dumped
    raise TypeError(f"not a class of a model reply: {module}")


def _unpack(data: object) -> Any:
    if isinstance(data, list):
        return list(map(_unpack, data))
    if not isinstance(data, dict):
        return data
    if _KIND not in data:
        return dict(zip(data, map(_unpack, data.values()), strict=True))
    return _rebuild(str(data[_KIND]), _unpack(data[_VALUE]))


def _rebuild(name: str, values: Mapping[str, object]) -> Any:
    """A namespace, or an object of a class of ours or of the OpenAI SDK, and of no other: an entry
    cannot choose what is imported.
    """
    if name == _NAMESPACE:
        return SimpleNamespace(**values)
    module, _, qualname = name.partition(":")
    if module != _OURS and not module.startswith(_OPENAI):
        raise ValueError(f"{name} is not a class of a model reply")
    kind = getattr(importlib.import_module(module), qualname)
    # The SDK's own lenient constructor: servers send values that a strict check refuses.
    if module == _OURS:
        return kind(**values)
    return kind.construct(**values)
