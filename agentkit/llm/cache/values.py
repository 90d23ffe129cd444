"""Model replies as bytes and back: JSON for the kinds of reply that we know, pickle for others
where that is allowed.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import pickle
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from agentkit.errors import StoreError, WrongType

_JSON, _PICKLE = b"J", b"P"
_OURS = "agentkit.llm.response"
_OPENAI = "openai.types."
_KIND, _VALUE = "$kind", "value"


def encode(value: object, *, pickled: bool) -> bytes:
    """The value as bytes; `pickled` allows pickle for what JSON cannot hold. Raises WrongType when
    neither can.
    """
    try:
        data = json.dumps(_packed(value)).encode()
        if _unpacked(json.loads(data)) == value:
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
    try:
        if mark == _JSON:
            return _unpacked(json.loads(body))
        if mark == _PICKLE:
            return pickle.loads(body)
    except Exception as error:  # pickle runs the constructors of any class
        raise StoreError(f"it cannot be read back ({type(error).__name__}: {error}).") from error
    raise StoreError("it is no entry of this cache.")


def _packed(value: Any) -> Any:
    """The value as JSON data in which objects are `{"$kind": ..., "value": ...}`; raises TypeError
    for other kinds.
    """
    kind = type(value)
    if value is None or kind in (str, int, float, bool):
        return value
    if kind is list:
        return [_packed(item) for item in value]
    if kind is dict:
        if _KIND in value or not all(type(key) is str for key in value):
            raise TypeError("no JSON object")
        return {key: _packed(item) for key, item in value.items()}
    if kind is SimpleNamespace:
        return {_KIND: "namespace", _VALUE: _packed(vars(value))}
    name = f"{kind.__module__}:{kind.__qualname__}"
    if kind.__module__ == _OURS:
        return {
            _KIND: name,
            _VALUE: {
                field.name: _packed(getattr(value, field.name))
                for field in dataclasses.fields(value)
            },
        }
    if kind.__module__.startswith(_OPENAI):
        return {_KIND: name, _VALUE: _packed(value.model_dump(exclude_unset=True, warnings=False))}
    raise TypeError(name)


def _unpacked(data: object) -> Any:
    if isinstance(data, list):
        return [_unpacked(item) for item in data]
    if not isinstance(data, dict):
        return data
    if _KIND not in data:
        return {key: _unpacked(item) for key, item in data.items()}
    values = _unpacked(data[_VALUE])
    return (
        SimpleNamespace(**values)
        if data[_KIND] == "namespace"
        else _rebuilt(str(data[_KIND]), values)
    )


def _rebuilt(name: str, values: Mapping[str, object]) -> Any:
    """An object of a class of ours or of the OpenAI SDK, and of no other: an entry cannot choose
    what is imported.
    """
    module, _, qualname = name.partition(":")
    if module != _OURS and not module.startswith(_OPENAI):
        raise ValueError(f"{name} is no class of a model reply")
    kind = getattr(importlib.import_module(module), qualname)
    # The SDK's own lenient constructor: servers send values that a strict check refuses.
    return kind(**values) if module == _OURS else kind.construct(**values)
