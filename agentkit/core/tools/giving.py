"""What a running tool tells about its result beside the text, for those who listen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

Given = dict[str, Any]
"""A passage in a result: its number as `marker`; `document_id`, `start` and `end` of its hit."""
_given: ContextVar[list[Given] | None] = ContextVar("agentkit_given", default=None)


def give(passages: Iterable[Mapping[str, Any]]) -> None:
    """Say which passages stand in the result of the tool that runs; elsewhere nobody hears it."""
    given = _given.get()
    if given is not None:
        given += [dict(each) for each in passages]


@contextmanager
def collecting() -> Iterator[list[Given]]:
    """What tools give in the block, also to a block around this one."""
    around, given = _given.get(), list[Given]()
    token = _given.set(given)
    try:
        yield given
    finally:
        _given.reset(token)
        if around is not None:
            around += given
