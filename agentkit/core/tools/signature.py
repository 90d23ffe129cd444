"""What a function takes: its parameters with their annotations resolved, its name, and whether it
is async.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from itertools import chain
from operator import attrgetter
from types import FrameType, SimpleNamespace
from typing import Any, get_type_hints

from agentkit.errors import WrongArgument, WrongType

NOTHING = inspect.Parameter.empty
"""Stands for an annotation or a default that is not there."""


def is_async(f: Callable[..., Any]) -> bool:
    """Whether calling `f` gives a coroutine: also through `partial`, `wraps` and an async
    `__call__`.
    """
    return any(map(inspect.iscoroutinefunction, _unwrap(f)))


def name_of(f: Callable[..., object]) -> str:
    """The name of the function; of a partial that of its function, of a callable object that of its
    class.
    """
    if isinstance(f, functools.partial):
        return name_of(f.func)
    return str(getattr(f, "__name__", type(f).__name__))


def parameters_of(f: Callable[..., object]) -> list[inspect.Parameter]:
    """The parameters without `self`; annotations written as text are resolved, and stay text where
    a name is unknown.

    Raises WrongType for what cannot be called or has an annotation that cannot be evaluated, and
    WrongArgument for a built-in that does not tell its parameters.
    """
    try:
        parameters = inspect.signature(f).parameters.values()
    except TypeError as error:
        raise WrongType(
            f"{f!r} is not a function; a tool must be something that can be called."
        ) from error
    except ValueError as error:
        raise WrongArgument(
            f"{f!r} does not tell its parameters; wrap it in a function with annotations."
        ) from error
    except NameError as error:
        # since Python 3.14 annotations are evaluated here, no more where the function is defined
        raise WrongType(
            f"{f!r} has an annotation that is unknown: {error}; define or import it before the"
            " function."
        ) from error
    layers = _unwrap(f)
    # What a partial has bound by name is settled, and may be a secret: no model needs to know of
    # it.
    partials = (layer for layer in layers if isinstance(layer, functools.partial))
    settled = set(chain.from_iterable(map(attrgetter("keywords"), partials)))
    return [
        parameter.replace(annotation=_resolve(parameter.annotation, layers[-1]))
        for parameter in parameters
        if parameter.name not in settled
    ]


def _unwrap(f: Callable[..., object]) -> list[Any]:
    """The callable, and what it wraps, from outside in; the last one is the plain function where
    there is one.
    """
    layers: list[Any] = []
    inner: Any = f
    while inner is not None and id(inner) not in map(id, layers):
        layers.append(inner)
        inner = _unwrap_once(inner)
    return layers


def _unwrap_once(f: object) -> Any:
    if isinstance(f, functools.partial):
        return f.func
    if inspect.ismethod(f):
        return f.__func__
    if hasattr(f, "__wrapped__"):
        return f.__wrapped__
    if inspect.isroutine(f) or inspect.isclass(f):
        return None
    return inspect.getattr_static(type(f), "__call__", None)


def _resolve(annotation: object, function: object) -> Any:
    if annotation is NOTHING:
        return annotation
    # One at a time: a name that exists only for type checkers must not spoil the other parameters.
    holder: Any = SimpleNamespace(__annotations__={"it": annotation})
    try:
        return get_type_hints(
            holder,
            getattr(function, "__globals__", {}),
            _find_enclosing_names(function),
            include_extras=True,
        )["it"]
    except (NameError, AttributeError, SyntaxError, TypeError):
        if isinstance(annotation, str):
            return annotation
        return inspect.formatannotation(annotation)


def _find_enclosing_names(function: Any) -> dict[str, Any]:
    """Local names of the functions around `function` that still run: where it is defined and
    registered in one of them.
    """
    around, _, _ = getattr(function, "__qualname__", "").rpartition(".<locals>.")
    names: dict[str, Any] = {}
    if not around:
        return names
    path = f"{around}.<locals>."
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        is_within = path.startswith(f"{frame.f_code.co_qualname}.<locals>.")
        is_of_module = frame.f_globals is function.__globals__
        if is_within and is_of_module:
            names = {**frame.f_locals, **names}
        frame = frame.f_back
    return names
