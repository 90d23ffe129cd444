"""Calling a tool with plain JSON values: pydantic models, dataclasses, enums, dates and the like
are made of them.
"""

from __future__ import annotations

import functools
import inspect
import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import compress, repeat
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from agentkit.core.tools.signature import NOTHING, is_async, name_of, parameters_of
from agentkit.errors import WrongArgument, WrongType

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic_core import ErrorDetails


def load_arguments(f: Callable[..., object]) -> Callable[..., Any]:
    """Wrap `f` so that it can be called with JSON values; they are checked against, and turned
    into, the annotated types.

    Objects of the right type and annotations that pydantic does not know pass as they are; an async
    function stays one.
    The wrapper raises WrongArgument (a ValueError) for a value that does not fit, and WrongType (a
    TypeError) for an argument that is missing or unknown; both texts are written for the model that
    made the call.
    """
    taken = _Arguments(f)

    def call(*args: Any, **kwargs: Any) -> Any:
        bound = taken.load(args, kwargs)
        return f(*bound.args, **bound.kwargs)

    async def call_async(*args: object, **kwargs: object) -> Any:
        result = call(*args, **kwargs)
        # Where a sync function wraps an async one, only the result tells.
        if inspect.isawaitable(result):
            return await result
        return result

    wrapper: Callable[..., Any] = functools.wraps(f)(call_async if is_async(f) else call)
    wrapper.__name__ = taken.tool
    return wrapper


class _Arguments:
    """The arguments that a tool takes, and how each is made of its JSON value."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self.tool = name_of(f)
        parameters = parameters_of(f)
        self._signature = inspect.Signature(parameters)
        names = list(map(attrgetter("name"), parameters))
        self._positional = list(compress(names, map(_is_positional, parameters)))
        self._adapters = dict(zip(names, map(_make_adapter, parameters), strict=True))

    def load(self, args: Sequence[object], kwargs: Mapping[str, object]) -> inspect.BoundArguments:
        bound = self._bind(list(args), dict(kwargs))
        problems: list[str] = []
        for name, value in bound.arguments.items():
            adapter = self._adapters[name]
            if adapter is not None and value is not self._signature.parameters[name].default:
                bound.arguments[name] = _load(adapter, name, value, problems)
        if problems:
            raise WrongArgument(
                f"The call of {self.tool} does not fit: {'; '.join(problems)}. Call it again with"
                " values that do."
            )
        return bound

    def _bind(self, args: list[Any], kwargs: dict[str, Any]) -> inspect.BoundArguments:
        for name in self._positional[len(args) :]:
            if name not in kwargs:
                break
            args.append(kwargs.pop(name))  # a model gives every argument by name
        try:
            return self._signature.bind(*args, **kwargs)
        except TypeError as error:
            names = ", ".join(self._signature.parameters) or "no arguments"
            raise WrongType(
                f"The call of {self.tool} does not fit: {error}. It takes {names}."
            ) from None


def _is_positional(parameter: inspect.Parameter) -> bool:
    """Whether it cannot be given by name."""
    return parameter.kind is parameter.POSITIONAL_ONLY


def _make_adapter(parameter: inspect.Parameter) -> TypeAdapter[list[Any]] | None:
    """What turns a list of one JSON value into a list of one object; None where the value passes as
    it is.
    """
    from pydantic import ConfigDict, PydanticUserError, TypeAdapter

    if parameter.annotation is NOTHING or isinstance(parameter.annotation, str):
        return None
    kind: Any = parameter.annotation
    if parameter.kind is parameter.VAR_POSITIONAL:
        kind = tuple[kind, ...]
    elif parameter.kind is parameter.VAR_KEYWORD:
        kind = dict[str, kind]
    try:
        # In a list because a model type refuses a configuration, and a number given for a text is a
        # slip to forgive.
        return TypeAdapter(list[kind], config=ConfigDict(coerce_numbers_to_str=True))
    except (PydanticUserError, NameError):
        return None


def _load(adapter: TypeAdapter[list[Any]], name: str, value: object, problems: list[str]) -> Any:
    from pydantic import ValidationError

    try:
        [loaded] = adapter.validate_python([value])
        # For `Iterable[T]` pydantic gives something that can be read only once, and that checks
        # only then.
        if isinstance(loaded, Iterator) and isinstance(value, list):
            return list(loaded)
        return loaded
    except ValidationError as error:
        problems += map(_describe_problem, repeat(name), error.errors(include_url=False))
        return value


def _write_step(step: int | str) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}"


def _describe_problem(name: str, details: ErrorDetails) -> str:
    place = "".join(map(_write_step, details["loc"][1:]))
    message = details["msg"][:1].lower() + details["msg"][1:]
    return f"argument {name}{place}: {message}, but it is {reprlib.repr(details['input'])}"
