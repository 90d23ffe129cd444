"""The agents that a way of working names, and where it does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from agentkit.teams.built.document import TeamDocument
from agentkit.teams.built.flows import (
    CitedAnswer,
    Dialogue,
    FieldTable,
    Group,
    Plan,
    Queue,
    Queued,
    Research,
    RetrieveChat,
    Single,
    TwoAgents,
    Werewolf,
)

_NAMING: Mapping[type, Sequence[str]] = {
    Single: ["agent"],
    TwoAgents: ["starts", "answers"],
    Group: ["writer"],
    RetrieveChat: ["assistant"],
    Plan: ["planner", "solver"],
    CitedAnswer: ["agent"],
    Research: ["researcher", "writer"],
    FieldTable: ["planner", "reader"],
}
"""The fields of flows that name one agent."""
_LISTING: Mapping[type, Sequence[str]] = {
    Group: ["agents"],
    Werewolf: ["players"],
    Dialogue: ["agents"],
}
"""Those that name several."""
_QUEUEING: Mapping[type, Sequence[str]] = {
    TwoAgents: ["nested"],
    Queue: ["chats"],
}
"""Those with conversations of two."""
_GROUPING: Mapping[type, Sequence[str]] = {
    Group: ["transitions"],
    Dialogue: ["stages"],
}
"""Those with parts that name several."""


def list_names(document: TeamDocument) -> Iterator[tuple[str, str]]:
    """The agents that the flow names, with where."""
    flow = document.flow
    kind = type(flow)
    for field in _NAMING.get(kind, ()):
        yield f"flow.{field}", getattr(flow, field)
    for field in _LISTING.get(kind, ()):
        for name in getattr(flow, field):
            yield f"flow.{field}", name
    for field in _QUEUEING.get(kind, ()):
        yield from _name_queued(f"flow.{field}", getattr(flow, field))
    for field in _GROUPING.get(kind, ()):
        for part in getattr(flow, field):
            for name in part.names:
                yield f"flow.{field}", name


def _name_queued(place: str, chats: list[Queued]) -> Iterator[tuple[str, str]]:
    for number, chat in enumerate(chats, start=1):
        yield f"{place}[{number}].sender", chat.sender
        yield f"{place}[{number}].recipient", chat.recipient
