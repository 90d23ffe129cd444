"""What others wrote, read without a complaint: a value of the kind that is looked for, or none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def count_or_zero(value: object) -> int:
    """The value if it is a whole number above 0, else 0."""
    if type(value) is not int:
        return 0
    return max(0, value)


def find_below(value: object, *keys: str) -> Any:
    """What stands below these keys in dicts of dicts; None where nothing does."""
    for key in keys:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value
