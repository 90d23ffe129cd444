"""How calls travel: arguments and results of a method as JSON values, and errors by their names."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, is_dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic import (
    BaseModel,
    ConfigDict,
    PlainSerializer,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    create_model,
)

from agentkit import errors
from agentkit.errors import AgentkitError, StoreError
from agentkit.event_json import from_json, to_json
from agentkit.events import Recorded
from agentkit.retrieval import Source
from agentkit.runs import Run
from agentkit.settings import Settings
from agentkit.teams.question import Question

_STRICT = ConfigDict(extra="forbid", protected_namespaces=(), arbitrary_types_allowed=True)
_FOLDERS = ("tools", "embedding_folders", "reranker_folders")


@dataclass(frozen=True)
class Method:
    """A method of a part of the workspace, such as `library`, that can be called from elsewhere."""

    part: str
    name: str
    function: Callable[..., Any]

    @cached_property
    def starts_run(self) -> bool:
        """Whether it gives a run, whose events are to be followed."""
        return get_origin(self._returned) is Run

    def pack(self, given: tuple[object, ...], named: Mapping[str, object]) -> dict[str, Any]:
        """The arguments of a call as JSON values by name; raises TypeError as the call would."""
        bound = inspect.signature(self.function).bind(None, *given, **named)
        for name in bound.kwargs.keys() - self._hints.keys():
            raise TypeError(f"{self.name} got an unexpected keyword argument {name!r}")
        values = {**bound.arguments, **bound.kwargs}
        return {name: self._dump(name, values[name]) for name in self._hints if name in values}

    def unpack(self, arguments: object) -> dict[str, Any]:
        """What `pack` made, as values again; raises StoreError for what cannot be read here."""
        try:
            read = self._arguments.model_validate(arguments)
        except ValidationError as error:
            raise _misread(f"{self.part}.{self.name}", error) from error
        return {name: getattr(read, name) for name in read.model_fields_set}

    def pack_result(self, result: object) -> Any:
        """What the method (or its run) gave, as a JSON value."""
        return _json(self._result, _absolute(result))

    def unpack_result(self, result: object) -> Any:
        """What `pack_result` made, as a value again."""
        return self._result.validate_python(result)

    @cached_property
    def _hints(self) -> dict[str, Any]:
        """The types of the arguments, also of those that are given by name alone."""
        hints = get_type_hints(self.function, include_extras=True)
        found: dict[str, Any] = {}
        for one in list(inspect.signature(self.function).parameters.values())[1:]:
            if one.kind is inspect.Parameter.VAR_KEYWORD:
                (named,) = get_args(hints[one.name])  # of Unpack[...]
                found |= get_type_hints(named)
            else:
                found[one.name] = hints[one.name]
        return found

    @cached_property
    def _returned(self) -> Any:
        return get_type_hints(self.function, include_extras=True)["return"]

    @cached_property
    def _arguments(self) -> type[BaseModel]:
        known = inspect.signature(self.function).parameters
        empty = inspect.Parameter.empty
        fields: dict[str, Any] = {}
        for name, hint in self._hints.items():
            default = known[name].default if name in known else None
            fields[name] = (_replace_types(hint), ... if default is empty else default)
        return create_model(f"{self.part}.{self.name}", __config__=_STRICT, **fields)

    @cached_property
    def _result(self) -> TypeAdapter[Any]:
        returned = get_args(self._returned)[0] if self.starts_run else self._returned
        return TypeAdapter(_replace_types(returned))

    @cached_property
    def _adapters(self) -> dict[str, TypeAdapter[Any]]:
        return {name: TypeAdapter(_replace_types(hint)) for name, hint in self._hints.items()}

    def _dump(self, name: str, value: Any) -> Any:
        if get_origin(self._hints[name]) is Iterable:
            value = list(value)
        return _json(self._adapters[name], _absolute(value))


def pack_settings(settings: Settings) -> dict[str, Any]:
    """The settings of a caller; files and folders that they name are found from anywhere."""
    folders: dict[str, Any] = {name: _absolute_parts(getattr(settings, name)) for name in _FOLDERS}
    packed: dict[str, Any] = _json(TypeAdapter(Settings), replace(settings, **folders))
    return packed


def unpack_settings(packed: object) -> Settings:
    """What `pack_settings` made; raises StoreError for what this version cannot read."""
    try:
        return _Asked.model_validate({"settings": packed}).settings
    except ValidationError as error:
        raise _misread("settings", error) from error


def pack_error(error: BaseException) -> dict[str, Any]:
    """An error as it travels: its name, what it says, and its plain attributes."""
    more = {name: value for name, value in vars(error).items() if isinstance(value, _PLAIN)}
    return {"type": type(error).__name__, "says": str(error), "more": more}


def unpack_error(packed: Mapping[str, Any], pid: int) -> AgentkitError:
    """The error again; one of another library was a mistake in process `pid`, and says so."""
    kind = getattr(errors, str(packed["type"]), None)
    if not (isinstance(kind, type) and issubclass(kind, AgentkitError)):
        first_line = packed["says"].partition("\n")[0]
        what = f"{packed['type']}: {first_line}"
        return AgentkitError(f"Process {pid}, which holds the data folder, failed ({what}).")
    error = kind(packed["says"])
    for name, value in packed.get("more", {}).items():
        setattr(error, name, value)
    return error


class _Asked(BaseModel):
    model_config = _STRICT
    settings: Settings


_PLAIN = (str, int, float, bool, type(None))
_Recorded = Annotated[
    Recorded,
    PlainSerializer(lambda one: {"seq": one.seq, "at": one.at, "event": to_json(one.event)}),
    PlainValidator(lambda one: Recorded(one["seq"], one["at"], from_json(one["event"]))),
]


def _replace_types(hint: Any) -> Any:
    """The type hint with those types in it replaced that pydantic cannot carry by itself."""
    if hint is Recorded:
        return _Recorded
    origin, inner = get_origin(hint), get_args(hint)
    wired = tuple(map(_replace_types, inner))
    if origin is Iterable:
        return list[wired[0]]  # type: ignore[valid-type]  # a type made at run time
    if wired == inner:
        return hint
    return origin[wired]


def _json(adapter: TypeAdapter[Any], value: object) -> Any:
    # Without defaults an empty tuple stays one, and what is sent is short.
    return adapter.dump_python(value, mode="json", exclude_defaults=True, warnings="none")


def _absolute(value: object) -> Any:
    """The value with paths that hold in every process of this machine."""
    if isinstance(value, Path):
        return value.absolute()
    if isinstance(value, Source):
        return replace(value, path=value.path.absolute())
    if isinstance(value, Question):
        return replace(value, attachments=_absolute(value.attachments))
    if isinstance(value, (list, tuple)) and value and is_dataclass(value[0]):
        return [_absolute(one) for one in value]
    return value


def _absolute_parts(paths: str) -> str:
    parts = [part for part in paths.split(os.pathsep) if part.strip()]
    return os.pathsep.join(str(Path(part).expanduser().absolute()) for part in parts)


def _misread(what: str, error: ValidationError) -> StoreError:
    # A name that is unknown tells more of another version than one that is missing.
    first = min(error.errors(include_url=False), key=lambda one: one["type"] != "extra_forbidden")
    where = ".".join(str(part) for part in first["loc"])
    return StoreError(
        f"{what} does not understand {where} ({first['msg']}). The process that holds the data"
        " folder may be of another version of agentkit: update or restart it."
    )
