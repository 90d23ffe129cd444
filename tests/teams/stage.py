"""What tests of conversing teams have in common: scripted calls of tools, and a run whose questions
are answered.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeVar

from agentkit import runs
from agentkit.events import Event, HumanInputRequested, MessageSent
from agentkit.llm import Model
from agentkit.llm.calls.scripted import ScriptedClient
from agentkit.options import InputMode
from agentkit.retrieval import Hit
from agentkit.teams import Answer, Question, Task, Team, team
from agentkit.teams.approval import Allowed
from agentkit.teams.cells import ChatCells
from agentkit.teams.planning_settings import Planning

E = TypeVar("E")
DANUBE = "The Danube is 2,850 kilometres long."
VOLGA = "The Volga is the longest river in Europe."


def hit(number: int, text: str) -> Hit:
    return Hit(
        number,
        1 / number,
        100 + number,
        f"d{number}",
        f"doc{number}.pdf",
        1,
        "Rivers",
        "",
        0,
        len(text),
        text,
        {},
    )


RIVERS = {"danube": hit(1, DANUBE), "volga": hit(2, VOLGA)}


def look_up(query: str) -> list[Hit]:
    """Stands for a collection."""
    return [found for word, found in RIVERS.items() if word in query.lower()]


def call(name: str, **arguments: Any) -> dict[str, Any]:
    """A scripted reply that calls a tool."""
    made = {
        "id": f"call_{name}",
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments)},
    }
    return {"content": None, "tool_calls": [made]}


@dataclass
class Played:
    """A run of a team that has ended."""

    events: list[Event] = field(default_factory=list)
    questions: list[HumanInputRequested] = field(default_factory=list)
    result: Answer | None = None
    error: BaseException | None = None

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def final(self) -> MessageSent:
        (final,) = [said for said in self.of(MessageSent) if not said.extra["inner"]]
        return final

    @property
    def inner(self) -> list[MessageSent]:
        return [
            said
            for said in self.of(MessageSent)
            if said.extra["inner"] and not said.extra.get("silent")
        ]


def play(
    chosen: str | Team,
    model: Model,
    question: str = "How long is the Danube?",
    *,
    history: Sequence[Any] = (),
    find: Callable[[str], list[Hit]] | None = None,
    answers: Sequence[str] = (),
    on_event: Callable[[Event, runs.Run[Answer]], None] | None = None,
    tools: Sequence[Callable[..., Any]] = (),
    allowed: Allowed | None = None,
    human_input: InputMode | None = None,
    answer_s: float | None = None,
    cells: ChatCells | None = None,
    retrieve: Callable[[str], list[Hit]] = look_up,
    planning: Planning | None = None,
    more: Mapping[str, Any] = MappingProxyType({}),
) -> Played:
    """Let a team work in a run; its questions get the answers in their order, and stop the run when
    there are none left. With `answer_s` nobody answers, and each waits for so long. `more` is what
    else the task is given.
    """
    permitted = set[str]() if allowed is None else allowed
    task = Task(
        Question(question, human_input=human_input, planning=planning),
        model,
        retrieve,
        list(history),
        "answer",
        "question",
        find,
        tools=tools,
        allowed=permitted,
        cells=cells,
        **more,
    )
    left, played = list(answers), Played()

    def work() -> Answer:
        current = runs.current()
        assert current
        current.answer_s = answer_s
        return (team(chosen) if isinstance(chosen, str) else chosen).work(task)

    run = runs.start(work, kind="chat", owner="stage", chat_id="chat")
    for recorded in run:
        event = recorded.event
        played.events.append(event)
        if on_event:
            on_event(event, run)
        if isinstance(event, HumanInputRequested):
            played.questions.append(event)
            if answer_s is not None:
                continue
            if left:
                run.answer(left.pop(0), event.request_id)
            else:
                run.stop()
    assert not left, f"never asked for {left}"
    try:
        played.result = run.result()
    except Exception as error:  # noqa: BLE001 (the test looks at it)
        played.error = error
    return played


def asked(model: Model) -> list[list[dict[str, Any]]]:
    """The messages of each request to a scripted model."""
    assert isinstance(model.client, ScriptedClient)
    return [request["messages"] for request in model.client.requests]
