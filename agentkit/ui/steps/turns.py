"""A chat as it is read: turns of a question, what was done for it, and the answer. Stored and live ones look the same."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeGuard

from agentkit.events import (
    ChatEnded,
    CodeRan,
    Compressed,
    DocumentDone,
    DocumentProgress,
    Event,
    Fallback,
    HumanAnswered,
    HumanInputRequested,
    LimitTold,
    MessageSent,
    ModelCalled,
    ModelReplied,
    Noted,
    PlanMade,
    Recorded,
    ReplyEnd,
    ReplyParsed,
    Retrieved,
    RunFailed,
    RunStopped,
    SpeakerSelected,
    StepDone,
    Thinking,
    ToolCalled,
    ToolReturned,
    Unknown,
)
from agentkit.ledger import StoredMessage
from agentkit.runs import Run
from agentkit.teams.ending import without_ending
from agentkit.teams.written import streamed, thinking

LIVE = 20_000
"""Characters of an answer that are drawn while it is being written; at its end all of it is."""
_STEP = 5_000
Said = StoredMessage | MessageSent


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call of a tool with what came back, as soon as it has."""

    called: ToolCalled
    returned: ToolReturned | None = None


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
    ended: bool = False
    """Whether the run ended meanwhile, so that no step goes on."""

    @property
    def runs(self) -> bool:
        """Whether steps are left that will run."""
        return not self.ended and any(step["label"] not in self.done for step in self.made.steps)

    def state(self, step: Mapping[str, Any]) -> Literal["waiting", "running", "not run", "done", "failed"]:
        """How a step of the plan stands; one that nothing is missing for runs."""
        if step["label"] in self.done:
            return "done" if self.done[step["label"]].ok else "failed"
        if self.ended:
            return "not run"
        own = {other["label"] for other in self.made.steps}  # earlier evidence may be needed, too, and is there
        return "waiting" if any(need in own and need not in self.done for need in step["needs"]) else "running"


Step = Event | ToolUse | Asked | Planned


@dataclass(slots=True)
class Turn:
    """One question with its answer, as far as there is one."""

    run_id: str
    question: Said | None = None
    inner: list[Said] = field(default_factory=list)
    """What the agents said among themselves."""
    answer: Said | None = None
    text: str = ""
    """The answer so far, while it is being written."""
    thinking: str = ""
    """What the model thinks before it answers, while it does."""
    steps: list[Step] = field(default_factory=list)
    """What was done, in order; of stored turns it is looked up when somebody wants to see it."""

    @property
    def status(self) -> str:
        """`complete`, `stopped`, `failed`, or `interrupted` when the process ended before the answer."""
        return self.answer.status if self.answer else "interrupted"

    @property
    def cut(self) -> ReplyEnd | None:
        """What cut the answer; None when it is whole."""
        return self.answer.extra.get("cut") if self.answer else None

    @property
    def fallback(self) -> Fallback | None:
        """Why passages were looked up by words alone; None when none were."""
        told = self.answer.extra.get("fallback") if self.answer else None
        return Fallback(told["wanted"], told["embedder"], told["error"], told["error_type"]) if told else None

    @property
    def thought(self) -> Thinking | None:
        """What the model thought before the answer."""
        return self.answer.thinking if self.answer else None

    @property
    def citations(self) -> list[dict[str, Any]]:
        """The sources of the answer, each as `Citation.to_json` made it."""
        return list(self.answer.extra.get("citations", [])) if self.answer else []

    @property
    def checks(self) -> list[dict[str, Any]]:
        """What came of checking its markers, each as `Checked.to_json` made it; empty for what older versions stored."""
        return list(self.answer.extra.get("checks", [])) if self.answer else []


def stored_turns(thread: Iterable[StoredMessage]) -> list[Turn]:
    """The turns of a stored branch, oldest first."""
    turns: list[Turn] = []
    for said in thread:
        if _is_question(said) or not turns:
            turns.append(Turn(said.run_id or said.id))
        _place(turns[-1], said)
    return turns


def live_turn(run: Run[Any], agent: str) -> Turn:
    """The turn that a run is working on; `agent` is the one that writes the answer."""
    turn, heard = Turn(run.id), run.events()
    for recorded in heard:
        if isinstance(recorded.event, MessageSent):
            _place(turn, recorded.event)
    events = [recorded.event for recorded in heard]
    if turn.answer and turn.answer.content:
        turn.text = without_ending(turn.answer.content)
    else:
        turn.text = streamed(events, agent)
    turn.thinking = thinking(events, agent)
    turn.steps = steps(heard)
    return turn


def lately(text: str) -> tuple[int, str]:
    """The end of a text that is still being written, and how many characters are left out before it.

    It begins with a line where one begins nearby, and at the same place for a while as the text grows: a browser draws it
    anew several times a second.
    """
    if len(text) <= LIVE:
        return 0, text
    start = (len(text) - LIVE) // _STEP * _STEP + _STEP
    line = text.find("\n", start, start + _STEP)
    start = line + 1 if line >= 0 else start
    return start, text[start:]


def steps(events: Iterable[Recorded]) -> list[Step]:
    """The events worth showing above an answer: each thing once, in its latest state, calls with what they returned.

    Left out is what only repeats: the question and the answer among the agents, and messages that hand on a result.
    """
    heard = list(events)
    outer = {without_ending(said.content) for said in (recorded.event for recorded in heard) if _is_outer(said)}
    shown = _Steps(outer)
    for recorded in heard:
        shown.add(recorded.event, recorded.seq)
    return list(shown.steps.values())


def last_turns(turns: Sequence[Turn], messages: int) -> list[Turn]:
    """The last turns that together have about so many messages, at least one."""
    count = 0
    for index in range(len(turns) - 1, -1, -1):
        count += 1 + len(turns[index].inner) + (turns[index].answer is not None)
        if count >= messages:
            return list(turns[index:])
    return list(turns)


def _is_question(said: Said) -> bool:
    """Whether the person asked it; agents may speak in the role of a user among themselves."""
    return said.role == "user" and not said.extra.get("inner")


def _place(turn: Turn, said: Said) -> None:
    if _is_question(said):
        turn.question = said
    elif said.extra.get("inner"):
        turn.inner.append(said)
    else:
        turn.answer = said


def _is_outer(event: Event) -> TypeGuard[MessageSent]:
    return isinstance(event, MessageSent) and not event.extra.get("inner")


class _Steps:
    """Steps as they come in; later states of one replace the earlier ones in their place."""

    def __init__(self, outer: Collection[str]) -> None:
        self.steps: dict[str, Step] = {}
        self._outer = outer
        self._did = ""
        """Who has just done something whose result its next message hands on."""
        self._in_call = False
        self._plan = ""
        """The plan that was made last."""
        self._of_plan: set[str] = set()
        """Calls that a plan's steps made, and show themselves."""

    def add(self, event: Event, seq: int) -> None:
        match event:
            case ModelCalled(purpose="chat") | ModelReplied(purpose="chat"):
                self.steps[event.call_id] = event
            case DocumentProgress() | DocumentDone():
                self.steps[event.document_id] = event
            case MessageSent():
                self._add_message(event)
            case ChatEnded(silent=True):
                pass  # the inner chat that chose a speaker; who it was is a step of its own
            case (
                SpeakerSelected() | ChatEnded() | Noted() | ReplyParsed() | Compressed() | LimitTold()
                | Unknown()
            ):  # fmt: skip
                self._drop_said_before(event)
                self._drop_progress(event)
                self.steps[f"step {seq}"] = event
            case PlanMade() | StepDone() | RunFailed() | RunStopped():
                self._add_plan(event, seq)
            case ToolCalled() | ToolReturned() | Retrieved() if self._in_step(event):
                pass
            case Retrieved() if not self._in_call:  # the call and its result say the same
                self.steps[f"step {seq}"] = event
            case _:
                self._add_deed(event, seq)

    def _drop_said_before(self, event: Event) -> None:
        """A group says why it is over, then its chat does so too."""
        last = next(reversed(self.steps), "")
        before = self.steps.get(last)
        if isinstance(event, ChatEnded) and isinstance(before, Noted) and before.text.endswith(event.reason):
            del self.steps[last]

    def _drop_progress(self, event: Event) -> None:
        """What was made of a document that the agents read stands for the reading."""
        if not isinstance(event, Noted):
            return
        for key, step in list(self.steps.items()):
            if isinstance(step, DocumentProgress) and event.text.startswith(f"{step.document}: "):
                del self.steps[key]

    def _add_message(self, event: MessageSent) -> None:
        hands_on = event.role == "tool" or event.sender == self._did
        self._did = ""
        if hands_on or event.extra.get("silent") or without_ending(event.content) in self._outer:
            return
        self.steps[event.id] = event

    def _add_plan(self, event: PlanMade | StepDone | RunFailed | RunStopped, seq: int) -> None:
        if isinstance(event, PlanMade):
            if event.error:  # back to the planner
                self.steps[f"step {seq}"] = event
            else:
                self.steps[event.plan_id], self._plan = Planned(event), event.plan_id
            return
        plan_id = event.plan_id if isinstance(event, StepDone) else self._plan
        planned = self.steps.get(plan_id)
        if isinstance(planned, Planned) and isinstance(event, StepDone):
            self.steps[plan_id] = replace(planned, done={**planned.done, event.label: event})
        elif isinstance(planned, Planned):
            self.steps[plan_id] = replace(planned, ended=True)

    def _in_step(self, event: ToolCalled | ToolReturned | Retrieved) -> bool:
        """Whether a step of the plan did it: its evidence shows the same."""
        planned = self.steps.get(self._plan)
        running = isinstance(planned, Planned) and planned.runs
        if isinstance(event, ToolCalled) and isinstance(planned, Planned) and running and event.agent == planned.made.agent:
            self._of_plan.add(event.call_id)
        return running if isinstance(event, Retrieved) else event.call_id in self._of_plan

    def _add_deed(self, event: Event, seq: int) -> None:
        match event:
            case ToolCalled():
                self.steps[event.call_id], self._in_call = ToolUse(event), True
            case ToolReturned():
                use = self.steps.get(event.call_id)
                called = use.called if isinstance(use, ToolUse) else ToolCalled(event.call_id, event.agent, event.name, "")
                self.steps[event.call_id], self._in_call = ToolUse(called, event), False
                self._did = event.agent
            case CodeRan():
                self.steps[f"step {seq}"], self._did = event, event.agent
            case HumanInputRequested():
                self.steps[event.request_id] = Asked(event)
            case HumanAnswered():
                asked = self.steps.get(event.request_id)
                if isinstance(asked, Asked):
                    self.steps[event.request_id], self._did = Asked(asked.request, event), asked.request.agent
            case _:
                pass
