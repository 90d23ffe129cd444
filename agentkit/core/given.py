"""What callers gave for an argument: something or None, one thing or several."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any, TypeGuard, TypeVar

K = TypeVar("K")
T = TypeVar("T")


def coalesce(value: T | None, default: T) -> T:
    """The value, or the default where it is None; other empty values count."""
    if value is None:
        return default
    return value


def to_list(given: Any, kinds: Any) -> list[Any]:
    """One value of these kinds, several values, or None, as a new list."""
    if isinstance(given, kinds):
        return [given]
    return list(given or ())


def pick_kind(values: Iterable[object], kind: type[T]) -> list[T]:
    """The values of this class, in their order."""
    return [value for value in values if isinstance(value, kind)]


def find_first(values: Iterable[T], fits: Callable[[T], object]) -> T | None:
    """The first value that fits; None where there is none."""
    for value in values:
        if fits(value):
            return value
    return None


def find_value(rows: Iterable[tuple[K, T]], fits: Callable[[K], object], default: T) -> T:
    """The value of the first row whose key fits; the default where none does."""
    for key, value in rows:
        if fits(key):
            return value
    return default


def is_list_of(value: object, kinds: Any) -> TypeGuard[list[Any]]:
    """Whether it is a list or a tuple, and each of it is of these kinds."""
    return isinstance(value, list | tuple) and all(isinstance(each, kinds) for each in value)


def pick(values: Mapping[K, T], keys: Container[K]) -> dict[K, T]:
    """What stands under these keys, as far as they are there."""
    return {key: value for key, value in values.items() if key in keys}


def pick_given(values: Mapping[K, T | None]) -> dict[K, T]:
    """All but what is None."""
    return {key: value for key, value in values.items() if value is not None}


def pick_filled(values: Mapping[K, T | None]) -> dict[K, T]:
    """All but what is None or empty."""
    return {key: value for key, value in values.items() if value}


def copy_nested(value: Any) -> Any:
    """A copy of the nested dicts and lists; what lies in them is shared."""
    if type(value) is dict:
        return dict(zip(value, map(copy_nested, value.values()), strict=True))
    if type(value) is list:
        return list(map(copy_nested, value))
    return value


def join_filled(separator: str, parts: Iterable[str | None]) -> str:
    """The parts that are not empty, as one text."""
    return separator.join(part for part in parts if part)


def list_new_objects(before: Iterable[object], after: Iterable[T]) -> list[T]:
    """What is in the second list and was not in the first one; an equal object is another one."""
    known = set(map(id, before))
    return [value for value in after if id(value) not in known]


def list_known(values: Iterable[T], others: Container[T]) -> list[T]:
    """The values that are among the others, in their order."""
    return [value for value in values if value in others]


def list_missing(values: Iterable[T], others: Container[T]) -> list[T]:
    """The values that are not among the others, in their order."""
    return [value for value in values if value not in others]
