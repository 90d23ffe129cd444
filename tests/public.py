"""The list of what others rely on, in data/public.json: names, commands, keys and variables.

Whoever takes something off this list breaks what people wrote; what is new and meant to stay goes
on it by hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import cast

LIST = Path(__file__).parent / "data" / "public.json"


def held(section: str) -> dict[str, list[str]]:
    """One section of the list: what offers something -> what it offers, sorted."""
    return cast(dict[str, list[str]], json.loads(LIST.read_text(encoding="utf-8"))[section])


def assert_same(found: Iterable[str], kept: Iterable[str], what: str) -> None:
    """Raise AssertionError that names what is missing, and what is not on the list yet."""
    there, listed = set(found), set(kept)
    assert not (gone := sorted(listed - there)), f"{what}: others rely on {gone}; keep them"
    assert not (new := sorted(there - listed)), f"{what}: put {new} into {LIST.name}"


def keys(value: object, path: str = "") -> Iterator[str]:
    """Every key of a JSON value with the way to it: `hits[].document`."""
    if isinstance(value, dict):
        for key, inner in value.items():
            name = f"{path}.{key}" if path else str(key)
            yield name
            yield from keys(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner, f"{path}[]")
