"""Which fields of a parsed reply go to the memory, to the other agents and to the program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import compress, repeat
from operator import is_
from typing import Any

from agentkit.core.given import coalesce, list_missing
from agentkit.errors import RequiredFieldNotFoundError

Keys = bool | str | Sequence[str] | None
"""True: all fields; False or None: nothing; a key: its value alone; keys: a dict of those fields.

A key with dots ("vote.target") is a path into nested dicts, unless there is a field of just that
name.
"""

_MISSING = object()
_SHOWN = 20


class DictFilterMixin:
    """Gives the fields of a parsed dict to the places where they belong.

    `to_memory` is what the agent itself remembers, `to_content` what the others hear (`to_speak` is
    another name for it), and `to_metadata` what only the program sees (`to_return`). What
    `keys_allow_missing` names is left out where a reply lacks it.
    """

    keys_allow_missing: Sequence[str] | None = None

    def __init__(
        self,
        keys_to_memory: Keys = True,
        keys_to_content: Keys = True,
        keys_to_metadata: Keys = False,
        *,
        keys_to_speak: Keys = None,
        keys_to_return: Keys = None,
    ) -> None:
        self.keys_to_memory = keys_to_memory
        self.keys_to_content = coalesce(keys_to_speak, keys_to_content)
        self.keys_to_metadata = coalesce(keys_to_return, keys_to_metadata)

    @property
    def keys_to_speak(self) -> Keys:
        """Another name for `keys_to_content`."""
        return self.keys_to_content

    @keys_to_speak.setter
    def keys_to_speak(self, keys: Keys) -> None:
        """Sets `keys_to_content`."""
        self.keys_to_content = keys

    @property
    def keys_to_return(self) -> Keys:
        """Another name for `keys_to_metadata`."""
        return self.keys_to_metadata

    @keys_to_return.setter
    def keys_to_return(self, keys: Keys) -> None:
        """Sets `keys_to_metadata`."""
        self.keys_to_metadata = keys

    def to_memory(self, parsed_response: Mapping[str, object], allow_missing: bool = False) -> Any:
        """The fields that the agent remembers; raises RequiredFieldNotFoundError for a missing one
        unless that is allowed.
        """
        return self._pick(parsed_response, "keys_to_memory", allow_missing)

    def to_content(self, parsed_response: Mapping[str, object], allow_missing: bool = False) -> Any:
        """The fields that the other agents hear; raises RequiredFieldNotFoundError for a missing
        one unless that is allowed.
        """
        return self._pick(parsed_response, "keys_to_content", allow_missing)

    def to_metadata(
        self, parsed_response: Mapping[str, object], allow_missing: bool = False
    ) -> Any:
        """The fields that only the program sees; raises RequiredFieldNotFoundError for a missing
        one unless that is allowed.
        """
        return self._pick(parsed_response, "keys_to_metadata", allow_missing)

    def to_speak(self, parsed_response: Mapping[str, object], allow_missing: bool = False) -> Any:
        """Another name for `to_content`."""
        return self.to_content(parsed_response, allow_missing)

    def to_return(self, parsed_response: Mapping[str, object], allow_missing: bool = False) -> Any:
        """Another name for `to_metadata`."""
        return self.to_metadata(parsed_response, allow_missing)

    def _pick(self, parsed: Mapping[str, object], filtered_by: str, allow_missing: bool) -> Any:
        keys: Keys = getattr(self, filtered_by)
        if keys is True:
            return parsed
        if not isinstance(keys, str | Sequence):
            return None
        wanted = _to_names(keys)
        absent = find_missing(parsed, wanted)
        missing = list_missing(absent, coalesce(self.keys_allow_missing, ()))
        if missing and not allow_missing:
            raise RequiredFieldNotFoundError(
                f"{filtered_by} asks for {list_keys(missing)}, but the parsed reply has only the"
                f" keys {list_keys(list(parsed))}; add them to required_keys, or correct the"
                " filter."
            )
        there = list_missing(wanted, absent)
        found = dict(zip(there, map(_find, repeat(parsed), there), strict=True))
        if isinstance(keys, str):
            return found.get(keys)
        return found

    def filtered_keys(self) -> Iterator[str]:
        """Every key that one of the filters names."""
        for keys in (self.keys_to_memory, self.keys_to_content, self.keys_to_metadata):
            yield from _to_names(keys)


def find_missing(parsed: Mapping[str, object], keys: Sequence[str]) -> list[str]:
    """Those of the keys (or dotted paths) that lead to no field."""
    is_missing = map(partial(is_, _MISSING), map(_find, repeat(parsed), keys))
    return list(compress(keys, is_missing))


def list_keys(keys: Sequence[object]) -> str:
    """Keys for an error message: 'a', 'b' and 8 more; `none` when there are none."""
    if not keys:
        return "none"
    shown = ", ".join(f"{str(key)[:60]!r}" for key in keys[:_SHOWN])
    more = len(keys[_SHOWN:])
    if not more:
        return shown
    return f"{shown} and {more:,} more"


def _to_names(keys: Keys) -> Sequence[str]:
    """The keys that a filter names."""
    if isinstance(keys, bool | None):
        return ()
    if isinstance(keys, str):
        return [keys]
    return keys


def _find(parsed: Mapping[str, object], key: str) -> Any:
    if key in parsed:
        return parsed[key]
    value: Any = parsed
    for part in key.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return _MISSING
        value = value[part]
    return value
