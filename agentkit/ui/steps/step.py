"""What is shown of a run: its steps in order, each once, in its latest state."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from agentkit.events import (
    Cell,
    Event,
    HumanAnswered,
    HumanInputRequested,
    MessageSent,
    PlanMade,
    SpeakerSelected,
    StepDone,
    ToolCalled,
    ToolReturned,
)
from agentkit.ledger import StoredMessage
from agentkit.teams.ending import without_ending

Said = StoredMessage | MessageSent
Level = Literal["answer", "calls", "everything"]
"""How much is shown above an answer: nothing, what was done, or also who told whom what and every
model call."""


State = Literal["proposed", "waiting", "running", "not run", "done", "failed"]
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
    since: float | None = field(default=None, compare=False)
    """When it began, in seconds since 1970, while it runs; None once nothing runs any more."""


@dataclass(slots=True)
class Writing:
    """What an agent writes to others while it does, and until they hear it."""

    call_id: str
    agent: str
    since: float
    """When its model was asked, in seconds since 1970."""
    pieces: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The words so far."""
        return "".join(self.pieces)

    @property
    def thinking(self) -> str:
        """What its model thought before them."""
        return "".join(self.thoughts)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A model gave somebody the floor, and said why."""

    event: SpeakerSelected
    why: str


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
    held: bool = False
    """Whether the person is still to say that it may run."""

    @property
    def runs(self) -> bool:
        """Whether steps are left that will run."""
        return not self.ended and any(step["label"] not in self.done for step in self.made.steps)

    def state(self, step: Mapping[str, Any]) -> State:
        """How a step of the plan stands; one that nothing is missing for runs."""
        if step["label"] in self.done:
            if self.done[step["label"]].ok:
                return "done"
            return "failed"
        if self.ended:
            return "not run"
        if self.held:
            return "proposed"
        # Evidence of an earlier plan may be needed, too, and is there.
        missing = {other["label"] for other in self.made.steps} - self.done.keys()
        if missing.isdisjoint(step["needs"]):
            return "running"
        return "waiting"


@dataclass(frozen=True, slots=True)
class CellRun:
    """A cell of the chat's kernel that runs or has run."""

    language: str
    code: str
    cell: Cell
    """With what it has put out so far; its status is `running` until it has ended."""
    seconds: float = 0.0


Step = Event | ToolUse | Asked | Planned | Writing | Chosen | CellRun


class Steps:
    """Steps as they come in; later states of one replace the earlier ones in their place."""

    def __init__(
        self,
        outer: Iterable[str] = (),
        *,
        writer: str = "",
        live: bool = False,
        aloud: bool = False,
    ) -> None:
        """`outer`: the texts of the question and the answer, which only repeat among the agents.

        `live`: whether the run goes on; `writer` is whose words are its answer. Where others
        write `aloud`, what they write is a step while they do.
        """
        self.shown: dict[str, Step] = {}
        """By what they are known by: the id of the call, the document, or the event's number."""
        self.outer = set(outer)
        self.writer = writer
        self.live = live
        self.aloud = aloud
        self.at = 0.0
        """When the event happened that comes in, in seconds since 1970."""
        self.did = ""
        """Who has just done something whose result its next message hands on."""
        self.in_call = False
        """Whether a tool runs whose result says what it did."""
        self.of_plan: set[str] = set()
        """Calls that a plan's steps made, and show themselves."""
        self.hits: dict[tuple[object, object, object], Mapping[str, Any]] = {}
        """What searches found, by document and span."""
        self.asked_by: dict[str, str] = {}
        """Whose model asked for a call of a tool, by the call."""
        self.held: MessageSent | None = None
        """What the writer said to end the work: the answer, unless the others go on."""
        self.chooser_said = ""
        """What the model said last that was asked who speaks next."""
        self._plan = ""
        self._written = ""

    def put(self, key: str | int, step: Step) -> None:
        """Show the step, in the place of an earlier state of it; a number is that of the event."""
        self.shown[f"step {key}" if isinstance(key, int) else key] = step

    def repeat(self, text: str) -> None:
        """The question or the answer: it is shown elsewhere, and not among the agents."""
        self.outer.add(text)
        self.held = None
        for key, step in list(self.shown.items()):
            if isinstance(step, MessageSent) and without_ending(step.content) == text:
                del self.shown[key]

    def go_on(self) -> None:
        """The work goes on: what seemed to end it was a word among others."""
        if self.held:
            self.put(self.held.id, self.held)
            self.held = None

    def write(self, call_id: str, agent: str) -> None:
        """An agent begins to write; nobody hears what nobody in particular writes."""
        if self.aloud and agent not in ("", self.writer):
            self.put(_writing(call_id), Writing(call_id, agent, self.at))

    def find_writing(self, call_id: str) -> Writing | None:
        """What an agent writes in that call of its model."""
        found = self.shown.get(_writing(call_id))
        if isinstance(found, Writing):
            return found
        return None

    def end_writing(self, call_id: str, *, whole: bool) -> None:
        """Nothing more comes; what is `whole` stands until the others hear it."""
        self._written = call_id
        if not whole:
            self.let_go()

    def let_go(self) -> None:
        """What was written gives place to what happens next, which is the message, if it is one."""
        self.shown.pop(_writing(self._written), None)

    def begin_plan(self, made: PlanMade) -> None:
        """Show the plan; steps that are done from now on are its."""
        self._plan = made.plan_id
        self.put(made.plan_id, Planned(made))

    def hold_plan(self, *, held: bool) -> None:
        """The latest plan waits for the person, or no longer."""
        if plan := self.find_plan():
            self.put(plan.made.plan_id, replace(plan, held=held))

    def find_plan(self, plan_id: str = "") -> Planned | None:
        """The plan of that id, by default the latest."""
        found = self.shown.get(plan_id or self._plan)
        if isinstance(found, Planned):
            return found
        return None

    def find_passages(self, passages: Collection[Mapping[str, Any]]) -> tuple[Found, ...]:
        """The passages that a tool gave, with the hits that they are."""
        known = [(int(one["marker"]), self.hits.get(_span(one))) for one in passages]
        return tuple(Found(marker, hit) for marker, hit in known if hit is not None)

    def keep_hits(self, hits: Collection[Mapping[str, Any]]) -> None:
        """Remember what a search found."""
        self.hits |= {_span(hit): hit for hit in hits}


def _writing(call_id: str) -> str:
    return f"written in {call_id}"


def _span(hit: Mapping[str, Any]) -> tuple[object, object, object]:
    """What a passage is known by; agents of scripts search elsewhere, and have none."""
    return hit.get("document_id"), hit.get("start"), hit.get("end")
