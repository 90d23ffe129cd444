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


def list_names(document: TeamDocument) -> Iterator[tuple[str, str]]:
    """The agents that the flow names, with where."""
    flow = document.flow
    for field in _NAMING.get(type(flow), ()):
        yield f"flow.{field}", getattr(flow, field)
    match flow:
        case TwoAgents():
            yield from _name_queued("flow.nested", flow.nested)
        case Group():
            yield from (("flow.agents", name) for name in flow.agents)
            for one in flow.transitions:
                yield from (("flow.transitions", name) for name in (one.after, *one.speakers))
        case Queue():
            yield from _name_queued("flow.chats", flow.chats)
        case Werewolf():
            yield from (("flow.players", name) for name in flow.players)
        case Dialogue():
            yield from (("flow.agents", name) for name in flow.agents)
            for stage in flow.stages:
                yield from (("flow.stages", name) for name in stage.speakers)


def _name_queued(place: str, chats: list[Queued]) -> Iterator[tuple[str, str]]:
    for number, chat in enumerate(chats, start=1):
        yield f"{place}[{number}].sender", chat.sender
        yield f"{place}[{number}].recipient", chat.recipient
