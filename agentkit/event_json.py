"""Events to and from JSON, as the ledger and the HTTP API keep and send them."""

from __future__ import annotations

import dataclasses
from typing import Any

from agentkit.errors import AgentkitError
from agentkit.events import KINDS, Event, Fallback, Thinking, Unknown, Usage
from agentkit.reasons import end_from_json


def to_json(event: Event) -> dict[str, Any]:
    """The event as a JSON object with its kind under `kind`."""
    if isinstance(event, Unknown):
        return {**event.data, "kind": event.name}
    return {"kind": type(event).__name__, **dataclasses.asdict(event)}


def from_json(data: dict[str, Any]) -> Event:
    """The event that `to_json` wrote; fields that this version does not know are dropped.

    What is of a kind that it does not know, or lacks what that kind needs, is an Unknown. Raises
    AgentkitError for what names no kind.
    """
    name = data.get("kind")
    if not (isinstance(name, str) and name):
        raise AgentkitError(f"{name!r} is no kind of event; the value was not made by to_json.")
    kind = KINDS.get(name)
    values = _known(kind, data) if kind else {}
    if kind is None or not _needed(kind) <= set(values):
        return Unknown(name, {key: value for key, value in data.items() if key != "kind"})
    for field_name, inner in (("usage", Usage), ("thinking", Thinking), ("fallback", Fallback)):
        if isinstance(values.get(field_name), dict):
            values[field_name] = inner(**_known(inner, values[field_name]))
    if isinstance(values.get("end"), dict):
        values["end"] = end_from_json(values["end"])
    return kind(**values)  # type: ignore[no-any-return]  # one of the union


def _needed(kind: type[Any]) -> set[str]:
    fields = dataclasses.fields(kind)
    return {one.name for one in fields if one.default is one.default_factory}  # both are missing


def _known(kind: type[Any], data: dict[str, Any]) -> dict[str, Any]:
    return {item.name: data[item.name] for item in dataclasses.fields(kind) if item.name in data}
