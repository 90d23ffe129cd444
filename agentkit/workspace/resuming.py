"""Answers that broke off because their process ended: what they had completed, and who goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from agentkit import runs
from agentkit.core import bus, replay
from agentkit.core.given import find_first, pick_kind
from agentkit.core.replay import Change, Recording
from agentkit.errors import AgentkitError, ConfigError
from agentkit.events import (
    Event,
    HumanAnswered,
    HumanInputRequested,
    ModelReplied,
    RunStarted,
    events_of,
)
from agentkit.ledger import Ledger, RunKey, StoredMessage, queries
from agentkit.retrieval import Hit
from agentkit.teams import Question

LookUp = Callable[[str], list[Hit]]
KERNEL = "kernel"
"""In the facts of a question, what models were told of the chat's kernel."""
_STATES = ("interrupted", "waiting")


@dataclass(frozen=True, slots=True)
class BrokenOff:
    """A run that broke off, and what it was asked."""

    run: RunKey
    question: Question
    """To be asked once more, of the same team and model."""
    events: list[Event]
    kernel: str
    """What models were told of the chat's kernel."""
    root: str
    """The id of the first run, if it went on with another one itself."""

    def record(self, ledger: Ledger, change: Change | None = None) -> Recording:
        """What is served to the run that goes on, which stands for this one as soon as it does
        something new; with the `change` of one that began from a finished one.
        """

        return make_recording(ledger, self.run, self.events, self.root, change)


def make_recording(
    ledger: Ledger, before: RunKey, events: list[Event], root: str, change: Change | None = None
) -> Recording:
    """What is served of the run `before` to the one that goes on with it, and stands for it then;
    `root` is the id of the first run.
    """

    def take_over() -> None:
        if run := runs.current():
            ledger.replace_run(before, run.key)

    def read_request(call_id: str) -> list[dict[str, object]]:
        return ledger.request_of(before.owner, call_id).messages

    return Recording(events, root, take_over, read_request, change)


def find_broken_off(ledger: Ledger, owner: str, run_id: str) -> BrokenOff:
    """The answer that broke off in this run; raises NotFound, and ConfigError where nobody can go
    on with it.
    """
    known = queries.run_state(ledger, owner, run_id)
    broke_off = known.state in _STATES
    if known.state == "running":
        broke_off = runs.find_error(run_id, owner) is not None  # its end could not be stored
    if not broke_off or not known.key.chat_id:
        raise ConfigError(f"The run {run_id} did not break off, so there is nothing to go on with.")
    return _read(ledger, known.key)


def _read(ledger: Ledger, run: RunKey) -> BrokenOff:
    owner, run_id = run.owner, run.id
    chat = ledger.chat(owner, run.chat_id or "")
    said = find_question(ledger, run)
    events = _read_events(ledger, run)
    if not is_complete(events):
        raise ConfigError(
            "An older version had begun this answer and noted too little to go on; ask again."
        )
    first = Question.from_message(said, chat.team)
    question = replace(
        first,
        text="",
        model_id=first.model_id or chat.model,
        chat_id=chat.id,
        again=first.again if first.go_on else said.id,
    )
    kernel = str(said.extra.get(KERNEL, ""))
    return BrokenOff(run, question, events, kernel, find_root(ledger, owner, events) or run_id)


def is_waiting(ledger: Ledger, run: RunKey) -> bool:
    """Whether a run waited for a person when its process died, and can wait on."""
    try:
        events = _read(ledger, run).events
    except AgentkitError:
        return False
    waiting: set[str] = set()
    for event in events:
        if isinstance(event, HumanInputRequested):
            waiting.add(event.request_id)
        elif isinstance(event, HumanAnswered):
            waiting.discard(event.request_id)
    return bool(waiting)


def is_second_time(ledger: Ledger, run: RunKey) -> bool:
    """Whether the run had gone on with another one already."""
    return _find_started(_read_events(ledger, run)).resumes != ""


def _read_events(ledger: Ledger, run: RunKey) -> list[Event]:
    """What had happened in a run, without the requests."""
    return events_of(queries.events(ledger, run.owner, run.id, with_requests=False))


def serve_recorded(look_up: LookUp, *, exact: bool = False) -> LookUp:
    """The look-up, which gives what was found before where the run goes on with another one."""

    def find(query: str) -> list[Hit]:
        recording = replay.current()
        known = None
        if recording:
            known = recording.take_hits(query, exact=exact)
        if known is None:
            return look_up(query)
        bus.emit(known)
        return [Hit.from_json(hit) for hit in known.hits]

    return find


def find_question(ledger: Ledger, run: RunKey) -> StoredMessage:
    """The message that asked what a run answers; raises ConfigError when it is gone."""
    said = ledger.find_run_messages(run.owner, run.id)
    if (question := find_first(said, lambda one: one.role == "user")) and question.content:
        return question
    raise ConfigError("The question of this answer is not there any more; ask it again.")


def is_complete(events: list[Event]) -> bool:
    """Whether each reply says what was asked for it."""
    replies = pick_kind(events, ModelReplied)
    return all(one.asked for one in replies if one.purpose == "chat" and one.status == "ok")


def find_root(ledger: Ledger, owner: str, events: list[Event]) -> str:
    """The id of the first of the runs that went on with, or began from, one another; empty for one
    that began by itself.
    """
    started = _find_started(events)
    root = started.resumes or started.repeats
    while root and (before := queries.find_resumed(ledger, owner, root)):
        root = before
    return root


def _find_started(events: list[Event]) -> RunStarted:
    return pick_kind(events, RunStarted)[0]
