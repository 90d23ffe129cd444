"""What is shown of a run: its steps in order, each once, in its latest state."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from agentkit.events import (
    Cell,
    Event,
    HumanAnswered,
    HumanInputRequested,
    MessageSent,
    PlanMade,
    StepDone,
    ToolCalled,
    ToolReturned,
)
from agentkit.ledger import StoredMessage

Said = StoredMessage | MessageSent
Level = Literal["answer", "calls", "everything"]
"""How much is shown above an answer: nothing, what was done, or also who told whom what and every
model call."""


State = Literal["waiting", "running", "not run", "done", "failed"]
"""Of a step of a plan."""


@dataclass(frozen=True, slots=True)
class Found:
    """A passage as a tool gave it."""

    marker: int
    """The number that answers cite it by."""
    hit: Mapping[str, Any]
    """As in the event of its search."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call of a tool with what came back, as soon as it has."""

    called: ToolCalled
    returned: ToolReturned | None = None
    found: tuple[Found, ...] = ()
    """The passages that came back; empty for other results, and where older versions stored it."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to the person with their answer, as soon as there is one."""

    request: HumanInputRequested
    answered: HumanAnswered | None = None


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan with what came of its steps so far, by label."""

    made: PlanMade
    done: Mapping[str, StepDone] = field(default_factory=dict)
    found: Mapping[str, tuple[Found, ...]] = field(default_factory=dict)
    """The passages among it."""
    ended: bool = False
    """Whether the run ended meanwhile, so that no step goes on."""

    @property
    def runs(self) -> bool:
        """Whether steps are left that will run."""
        return not self.ended and any(step["label"] not in self.done for step in self.made.steps)

    def state(self, step: Mapping[str, Any]) -> State:
        """How a step of the plan stands; one that nothing is missing for runs."""
        if step["label"] in self.done:
            return "done" if self.done[step["label"]].ok else "failed"
        if self.ended:
            return "not run"
        # Evidence of an earlier plan may be needed, too, and is there.
        missing = {other["label"] for other in self.made.steps} - self.done.keys()
        return "running" if missing.isdisjoint(step["needs"]) else "waiting"


@dataclass(frozen=True, slots=True)
class CellRun:
    """A cell of the chat's kernel that runs or has run."""

    language: str
    code: str
    cell: Cell
    """With what it has put out so far; its status is `running` until it has ended."""
    seconds: float = 0.0


Step = Event | ToolUse | Asked | Planned | CellRun


class Steps:
    """Steps as they come in; later states of one replace the earlier ones in their place."""

    def __init__(self, outer: Collection[str] = ()) -> None:
        """`outer`: the texts of the question and the answer, which only repeat among the agents."""
        self.shown: dict[str, Step] = {}
        """By what they are known by: the id of the call, the document, or the event's number."""
        self.outer = outer
        self.did = ""
        """Who has just done something whose result its next message hands on."""
        self.in_call = False
        """Whether a tool runs whose result says what it did."""
        self.of_plan: set[str] = set()
        """Calls that a plan's steps made, and show themselves."""
        self.hits: dict[tuple[object, object, object], Mapping[str, Any]] = {}
        """What searches found, by document and span."""
        self._plan = ""

    def put(self, key: str | int, step: Step) -> None:
        """Show the step, in the place of an earlier state of it; a number is that of the event."""
        self.shown[f"step {key}" if isinstance(key, int) else key] = step

    def begin_plan(self, made: PlanMade) -> None:
        """Show the plan; steps that are done from now on are its."""
        self._plan = made.plan_id
        self.put(made.plan_id, Planned(made))

    def planned(self, plan_id: str = "") -> Planned | None:
        """The plan of that id, by default the latest."""
        found = self.shown.get(plan_id or self._plan)
        return found if isinstance(found, Planned) else None

    def found(self, passages: Collection[Mapping[str, Any]]) -> tuple[Found, ...]:
        """The passages that a tool gave, with the hits that they are."""
        known = [(int(one["marker"]), self.hits.get(_span(one))) for one in passages]
        return tuple(Found(marker, hit) for marker, hit in known if hit is not None)

    def keep_hits(self, hits: Collection[Mapping[str, Any]]) -> None:
        """Remember what a search found."""
        self.hits |= {_span(hit): hit for hit in hits}


def _span(hit: Mapping[str, Any]) -> tuple[object, object, object]:
    """What a passage is known by; agents of scripts search elsewhere, and have none."""
    return hit.get("document_id"), hit.get("start"), hit.get("end")
