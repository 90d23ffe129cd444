"""Parts of a workspace whose data folder another process holds: the same classes from outside."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, TypeVar

from agentkit.api.methods import NAMES, PARTS, method, part_of
from agentkit.errors import NotHere

if TYPE_CHECKING:
    from agentkit.api.door import Door

C = TypeVar("C", bound=type)


def forward_methods(part: str) -> Callable[[C], C]:
    """Let those methods of a part go through `self._door` that can be called from elsewhere."""

    def changed(kind: C) -> C:
        for name in NAMES[part]:
            setattr(kind, name, _forwarder(part, name))
        return kind

    return changed


def find(door: Door, part: str, name: str) -> Any:
    """What a part has under a name; raises NotHere for what only the holder of the folder has."""
    where = name if part == "workspace" else f"{part}.{name}"
    if door.here is not None:
        return getattr(part_of(door.here, part), name)
    if where in PARTS:
        return _kind(where)(door)
    raise NotHere(
        f"{where} is only to be had in process {door.holder}, which holds the data folder: use the"
        " documented methods, or stop that process first."
    )


@cache
def _kind(part: str) -> type[Any]:
    """A class like that of the part, whose methods go through a door."""

    def made(self: Any, door: Door) -> None:
        self._door = door

    def other(self: Any, name: str) -> Any:
        if name == "_door":  # not made yet, as in a copy
            raise AttributeError(name)
        return find(self._door, part, name)

    kind = PARTS[part]
    body = {"__init__": made, "__getattr__": other, "__doc__": kind.__doc__}
    return forward_methods(part)(type(kind.__name__, (kind,), body))


def _forwarder(part: str, name: str) -> Callable[..., Any]:
    @wraps(getattr(PARTS[part], name))
    def forward(self: Any, *given: Any, **named: Any) -> Any:
        known = method(part, name)
        assert known is not None  # it is in the list
        return self._door.call(known, given, named)

    return forward
