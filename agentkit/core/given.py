"""What callers gave for an argument: something or None, one thing or several."""

from __future__ import annotations

from collections.abc import Container, Iterable
from itertools import filterfalse
from types import UnionType
from typing import Any, TypeGuard, TypeVar, overload

T = TypeVar("T")


def coalesce(value: T | None, default: T) -> T:
    """The value, or the default where it is None; other empty values count."""
    return default if value is None else value


def to_list(value: T | Iterable[T] | None, kinds: Any) -> list[T]:
    """One value of these kinds, several values, or None, as a new list."""
    if isinstance(value, kinds):
        return [value]
    return list(value or ())


@overload
def is_list_of(value: object, kind: type[T]) -> TypeGuard[list[T]]: ...
@overload
def is_list_of(value: object, kind: UnionType) -> TypeGuard[list[Any]]: ...
def is_list_of(value: object, kind: Any) -> bool:
    """Whether it is a list or a tuple, and each of it is of this kind."""
    return isinstance(value, list | tuple) and all(isinstance(each, kind) for each in value)


def list_missing(values: Iterable[T], others: Container[T]) -> list[T]:
    """The values that are not among the others, in their order."""
    return list(filterfalse(others.__contains__, values))
