"""What others wrote, read without a complaint: a value of the kind that is looked for, or none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

_DIGITS = 18
"""What 64 bits hold; of thousands Python makes an error."""


def count_or_zero(value: object) -> int:
    """The value if it is a whole number above 0, else 0."""
    if type(value) is not int:
        return 0
    return max(0, value)


def read_whole(text: str) -> int | None:
    """The whole number, of at most 18 digits, that a text is; None for any other text."""
    if text.isdecimal() and len(text) <= _DIGITS:
        return int(text)
    return None


def is_number(value: object) -> TypeGuard[float]:
    """Whether it is a number; True and False are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def text_under(values: Mapping[str, Any], key: str) -> str:
    """What stands under this key, as text; empty where nothing does."""
    return str(values.get(key) or "")


def find_below(value: object, *keys: str) -> Any:
    """What stands below these keys in dicts of dicts; None where nothing does."""
    for key in keys:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value
