"""Events to and from JSON, as the ledger and the HTTP API keep and send them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from agentkit.errors import AgentkitError
from agentkit.events import KINDS, Cell, Event, Fallback, Thinking, Unknown, Usage, WantedCall
from agentkit.reasons import end_from_json


def to_json(event: Event) -> dict[str, Any]:
    """The event as a JSON object with its kind under `kind`."""
    if isinstance(event, Unknown):
        return {**event.data, "kind": event.name}
    return {"kind": type(event).__name__, **dataclasses.asdict(event)}


def from_json(data: dict[str, Any]) -> Event:
    """The event that `to_json` wrote; fields that this version does not know are dropped.

    What is of a kind that it does not know, or lacks what that kind needs, is an Unknown. Raises
    AgentkitError for an unknown kind.
    """
    name = data.get("kind")
    if not (isinstance(name, str) and name):
        raise AgentkitError(f"{name!r} is not a kind of event; the value was not made by to_json.")
    kind = KINDS.get(name)
    if kind is None:
        return _read_unknown(name, data)
    values = _pick_fields(kind, data)
    if not NEEDED[kind] <= values.keys():
        return _read_unknown(name, data)

    for field_name, read in _READERS.items():
        if isinstance(values.get(field_name), dict):
            values[field_name] = read(values[field_name])
    return kind(**values)  # type: ignore[no-any-return]  # one of the union


def _read_unknown(name: str, data: dict[str, Any]) -> Unknown:
    rest = {**data}
    del rest["kind"]
    return Unknown(name, rest)


def _read_as(kind: type[Any]) -> Callable[[dict[str, Any]], object]:
    return lambda data: kind(**_pick_fields(kind, data))


_READERS = {
    "usage": _read_as(Usage),
    "thinking": _read_as(Thinking),
    "fallback": _read_as(Fallback),
    "cell": _read_as(Cell),
    "wants": _read_as(WantedCall),
    "end": end_from_json,
}
"""What reads the fields that hold more than a plain value."""


def _find_needed(kind: type[Any]) -> frozenset[str]:
    """Names of the fields without a default."""
    fields = dataclasses.fields(kind)
    needed = [one.name for one in fields if one.default is one.default_factory]  # both are missing
    return frozenset(needed)


NEEDED = {kind: _find_needed(kind) for kind in KINDS.values()}
"""The fields that an event of each kind has to have."""


def _pick_fields(kind: type[Any], data: dict[str, Any]) -> dict[str, Any]:
    """What of the data is a field of this kind."""
    known = kind.__dataclass_fields__  # `dataclasses.fields` would go through them for each event
    return {name: data[name] for name in known if name in data}
