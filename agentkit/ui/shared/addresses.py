"""What pages write into their addresses, so that a link opens them as they are: by the names of
their fields, each with its values.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

import streamlit as st

_NOTHING: Mapping[str, object] = MappingProxyType({})
_undisturbed: ContextVar[bool] = ContextVar("undisturbed", default=False)


def read(names: Collection[str]) -> dict[str, list[str]]:
    """What the address says of these fields."""
    given = {name: st.query_params.get_all(name) for name in names}
    return {name: values for name, values in given.items() if values}


def find_opened(names: Collection[str], known: str) -> dict[str, list[str]] | None:
    """What an address says that was opened; None for one that was written here, which the session
    has under `known`.
    """
    given = read(names)
    return None if given == st.session_state.get(known) else given


def write(
    values: Mapping[str, object], known: str, unsaid: Mapping[str, object] = _NOTHING
) -> None:
    """Let the address say this of these fields, each a value or some, and nothing of those without
    or with what is in `unsaid`.

    All of it or nothing, whatever is done on the page meanwhile: half of it would be taken for an
    address that was opened.
    """
    texts = {
        name: [] if value == unsaid.get(name) else _to_texts(value)
        for name, value in values.items()
    }
    with _undisturbed_while_writing():
        changed = {
            name: given for name, given in texts.items() if given != st.query_params.get_all(name)
        }
        if changed:
            st.query_params.update(changed)  # the browser hears of all at once
        for name in [name for name, given in changed.items() if not given]:
            del st.query_params[name]
        st.session_state[known] = read(values)


def _to_texts(value: object) -> list[str]:
    if value is None:
        return []
    return list(map(str, value if isinstance(value, (list, tuple)) else [value]))


def is_being_written() -> bool:
    """Whether this thread is about to write one."""
    return _undisturbed.get()


@contextmanager
def _undisturbed_while_writing() -> Iterator[None]:
    before = _undisturbed.set(True)
    try:
        yield
    finally:
        _undisturbed.reset(before)
