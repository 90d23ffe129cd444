"""The one door through which the app, the command line and the tests run anything that emits
events.
"""

from __future__ import annotations

import contextvars
import logging
import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Generic, TypeVar

from agentkit.core import bus, replay, stopping
from agentkit.core.replay import Recording
from agentkit.core.stopping import StopSignal, stoppable
from agentkit.errors import AgentkitError, NotFound, Stopped, explain
from agentkit.events import (
    Event,
    HumanAnswered,
    HumanInputRequested,
    Recorded,
    RunFailed,
    RunFinished,
    RunStarted,
    RunStopped,
    WantedCall,
)
from agentkit.ledger import Keeper, LedgerWriter, RunKey
from agentkit.messages import new_id
from agentkit.options import Moment

T = TypeVar("T")
Hear = Callable[[Recorded], None]
log = logging.getLogger(__name__)
_ENDS = (RunFinished, RunFailed, RunStopped)
_KEPT = 100  # ended runs that a page may still ask for


class Unanswered(str):
    """The empty answer of a person who did not answer in time."""

    waited_s: float

    def __new__(cls, waited_s: float) -> Unanswered:
        """After so many seconds."""
        made = super().__new__(cls, "")
        made.waited_s = waited_s
        return made


class Run(Generic[T]):
    """A piece of work on a thread of its own: iterate it for its events as they come."""

    def __init__(
        self, kind: str, title: str, owner: str, chat_id: str | None, size: int = 0
    ) -> None:
        self.id = new_id()
        self.kind = kind
        self.title = title
        self.owner = owner
        self.chat_id = chat_id
        self.size = size
        """How many things it works on, such as documents; 0 when that means nothing."""
        self.message_id = new_id()
        """The id that the answer of a chat run will carry; its model calls are booked under it."""
        self.started_at = time.time()
        self.resumes = ""
        """The id of the run that broke off and that this one goes on with."""
        self.team = ""
        """The id of the team that is asked; empty for none."""
        self.recording: Recording | None = None
        """What that one had completed."""
        self.kept = False
        """Whether its events go to a ledger; runs around it leave them out of theirs."""
        self.waiting_for: HumanInputRequested | None = None
        self.answer_s: float | None = None
        """Seconds that a question waits for the person; None for as long as it takes."""
        self._stop = StopSignal()
        self._left, self._has_told_end = False, False
        self.flush: Callable[[], None] = lambda: None
        """Stores now what has happened and waits to be stored; raises StoreError."""
        self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._said: list[str] = []
        self._asking = threading.Lock()
        self._history = bus.History()
        self._changed = threading.Condition()
        self._ended = False
        self._result: T | None = None
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None  # until it is started on one of its own

    def __iter__(self) -> Iterator[Recorded]:
        """Every event from the first on, waiting for those to come, until the run has ended.

        Of many documents' progress only the latest may be there; see `bus.History`.
        """
        seen = 0
        while fresh := self._fresh(seen):
            yield from fresh
            seen = fresh[-1].seq

    def events(self, after: int = 0) -> list[Recorded]:
        """The events so far whose `seq` is greater than `after`, as iterating gives them."""
        with self._changed:
            return self._history.after(after)

    @property
    def told(self) -> int:
        """The `seq` of the last event so far."""
        return self._history.last

    @property
    def key(self) -> RunKey:
        """What the ledger knows it by, and what its messages and calls are for."""
        message_id = self.message_id if self.chat_id else None
        return RunKey(self.id, self.owner, self.chat_id, message_id)

    @property
    def root(self) -> str:
        """The id of the first of the runs that went on with one another, this one included."""
        if self.recording:
            return self.recording.root
        return self.id

    @property
    def ended(self) -> bool:
        """Whether the work is over and all its events are in."""
        return self._ended

    @property
    def error(self) -> BaseException | None:
        """What ended the work; None while it goes on, and when it came to its end."""
        return self._error

    @property
    def stopping(self) -> bool:
        """Whether the run was told to stop."""
        return self._stop.is_set

    def stop(self) -> None:
        """End the run early; what was done so far is kept."""
        self._stop.set()

    def leave(self) -> None:
        """End the work here as if this process had died: what was done is kept, without an end, so
        that another run can go on with it.
        """
        self.flush()
        self._left = True
        self._stop.set()

    def answer(self, text: str, request_id: str = "") -> None:
        """Answer what the run asked; raises NotFound when it asks nothing, or something else than
        the request of that id.
        """
        with self._changed:
            asked = self.waiting_for
            if asked is None or request_id not in ("", asked.request_id):
                raise NotFound(
                    f"Run {self.id} asks nothing (else) at the moment; the question was answered"
                    " already."
                )
            self.waiting_for = None  # a second answer must not reach the next question
        self._answers.put(text)

    def say(self, text: str) -> None:
        """Say something to those at work, who hear it before the next of them speaks; raises
        NotFound when the run has ended.
        """
        with self._changed:
            if self._ended:
                raise NotFound(f"Run {self.id} has ended; nobody there hears what is said now.")
            self._said.append(text)

    @property
    def unheard(self) -> list[str]:
        """What was said to those at work and nobody has heard so far."""
        return list(self._said)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end; False when it did not come in time."""
        with self._changed:
            ended = self._changed.wait_for(lambda: self._ended, seconds)
        if ended and self._thread and self._thread is not threading.current_thread():
            # Its last steps are to let go of its database cursor; a process that exits meanwhile
            # would crash.
            self._thread.join()
        return ended

    def result(self) -> T:
        """What the work returned, waiting for it; re-raises the work's own error, Stopped
        included.
        """
        self.wait()
        if self._error is not None:
            raise self._error
        # Set before the end whenever there is no error.
        return self._result  # type: ignore[return-value]

    def _fresh(self, seen: int) -> list[Recorded]:
        """The events after number `seen`, waiting for one; empty when the run has ended without
        any.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._ended or self._history.last > seen)
            return self._history.after(seen)

    def _record(self, event: Event) -> Recorded:
        with self._changed:
            recorded = self._history.add(event)
            self._changed.notify_all()
        return recorded

    def _listener(self, hearing: Sequence[Hear]) -> bus.Listener:
        """What happens goes to the run and those who hear it, but for what a run within keeps."""
        around = _current.get()

        def listener(event: Event) -> None:
            within = _current.get()
            is_anothers = within is not None and within.kept and within not in (self, around)
            if self.kept and is_anothers:
                return
            recorded = self._record(event)
            # A function that was left behind may still tell things.
            was_left = self._left or self._ended
            if was_left:
                return
            for hear in hearing:
                hear(recorded)
            self._has_told_end = within is self and isinstance(event, _ENDS)

        return listener

    def _enter(self) -> None:
        """Make it the run in which this context works."""
        _current.set(self)

    def _work(self, work: Callable[[], T], hearing: Sequence[Hear]) -> None:
        listener = self._listener(hearing)
        self._enter()
        replayed = replay.replaying(self.recording, self.root)
        with bus.listening(listener), stoppable(self._stop), replayed:
            try:
                began = self.recording.origin if self.recording else ("", 0)
                bus.emit(RunStarted(self.kind, self.title, self.resumes, self.team, *began))
                self._result = work()
                bus.emit(RunStopped() if self._stop.is_set else RunFinished())
            except BaseException as error:  # noqa: BLE001
                # The caller gets it from result(); a thread must not lose it.
                self._error = error
                if not self._has_told_end:  # else somebody else could not hear of it
                    _emit_end(error)

    @contextmanager
    def _around(self, hearing: Sequence[Hear]) -> Iterator[None]:
        hear = self._listener(hearing)
        hear(RunStarted(self.kind, self.title))
        try:
            with bus.listening(hear):
                yield
            hear(RunFinished())
        except BaseException as error:
            self._error = error
            hear(_end_of(error))
            raise
        finally:
            self._finish()

    def _await_answer(self) -> str:
        """What the person answers; Unanswered once the time for it has passed."""
        try:
            return self._answers.get(timeout=self.answer_s)
        except queue.Empty:
            with self._changed:
                just_answered = self.waiting_for is None
                self.waiting_for = None
            if just_answered:
                return self._answers.get()
            return Unanswered(self.answer_s or 0)

    def _wake(self) -> None:
        """Let a question that waits for an answer go on without one."""
        self._answers.put("")

    def _finish(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify_all()


_current: ContextVar[Run[Any] | None] = ContextVar("agentkit_run", default=None)
_registry: OrderedDict[str, Run[Any]] = OrderedDict()
_registry_lock = threading.Lock()


def start(
    work: Callable[[], T],
    *,
    kind: str,
    title: str = "",
    owner: str = "local",
    chat_id: str | None = None,
    ledger: Keeper | None = None,
    size: int = 0,
    resumes: str = "",
    recording: Recording | None = None,
    team: str = "",
) -> Run[T]:
    """Run `work` on a worker thread with a copied context; its events go to the run and, where
    given, to the ledger.

    With the id of a run that broke off, and what that had completed, it goes on with that one.
    """
    run: Run[T] = Run(kind, title, owner, chat_id, size)
    run.resumes, run.recording, run.team = resumes, recording, team
    hearing: list[Hear] = []
    if ledger:
        writer = LedgerWriter(ledger, run.key)
        hearing.append(writer.write)
        run.flush = writer.flush
        run.kept = True
    context = contextvars.copy_context()

    def body() -> None:
        try:
            context.run(run._work, work, hearing)
        finally:
            run._finish()

    run._thread = threading.Thread(target=body, name=f"agentkit-{kind}-{run.id[:12]}", daemon=True)
    with _registry_lock:
        _registry[run.id] = run
        for old in [key for key, kept in _registry.items() if kept.ended][:-_KEPT]:
            del _registry[old]
    run._thread.start()
    return run


@contextmanager
def recording(ledger: Keeper, kind: str, title: str, owner: str) -> Iterator[Run[None]]:
    """The enclosed work, in this thread, as a run whose events go to the ledger too.

    It ends as the block does: with an error it has failed, interrupted it is stopped. Questions
    to a person reach the console as before, and nobody can stop it but the program itself.
    """
    run: Run[None] = Run(kind, title, owner, None)
    run.kept = True
    with run._around([LedgerWriter(ledger, run.key).write]):
        yield run


def get(run_id: str, owner: str) -> Run[Any]:
    """The live or lately ended run of this process; raises NotFound."""
    run = _registry.get(run_id)
    if run is None or run.owner != owner:
        raise NotFound(f"No run {run_id!r} is known to this process; look it up in the ledger.")
    return run


def find_error(run_id: str, owner: str) -> str:
    """What ended a run of this process, in words; empty for none, and for a run that goes on."""
    error = find_failure(run_id, owner)
    if error is None:
        return ""
    return explain(error)


def find_failure(run_id: str, owner: str) -> BaseException | None:
    """The error that ended a run of this process; None for none, and for a run that goes on."""
    run = _registry.get(run_id)
    if run is None or run.owner != owner or not run.ended:
        return None
    return run.error


def live(owner: str, *, kind: str | None = None, chat_id: str | None = None) -> list[Run[Any]]:
    """The owner's runs that go on, oldest first, optionally of one kind or chat."""
    with _registry_lock:
        known = list(_registry.values())
    return [run for run in known if _is_live(run, owner, kind, chat_id)]


def _is_live(run: Run[Any], owner: str, kind: str | None, chat_id: str | None) -> bool:
    if run.ended or run.owner != owner:
        return False
    if kind is not None and run.kind != kind:
        return False
    return chat_id is None or run.chat_id == chat_id


def current() -> Run[Any] | None:
    """The run in which the caller works, or None."""
    return _current.get()


def has_said() -> bool:
    """Whether the person has said something that the current run has not heard."""
    run = _current.get()
    if run is None:
        return False
    return bool(run._said) or (run.recording is not None and run.recording.has_said())


def take_said(place: int) -> list[str]:
    """What the person has said to the current run since this was asked last; `place` is how many
    messages those who hear it have by then.
    """
    run = _current.get()
    if run is None:
        return []
    said = run.recording.take_said(place) if run.recording else []
    with run._changed:
        said, run._said = [*said, *run._said], []
    for text in said:
        bus.emit(HumanAnswered("", text, place=place))
    return said


def ask_human(
    agent: str,
    prompt: str,
    *,
    options: Sequence[str] = (),
    draft: str = "",
    language: str = "",
    to: str = "",
    moment: Moment = "",
    tool: str = "",
    wants: WantedCall | None = None,
) -> str:
    """Wait for a person's answer to the current run; `options` and what follows it as in
    HumanInputRequested.

    A run asks one question at a time: others wait until it is answered. Gives Unanswered when
    nobody answers in the time that the run has for it. Raises Stopped when the run is stopped
    meanwhile, NotFound outside of runs.
    """
    run = _current.get()
    if run is None:
        raise NotFound("Nobody can be asked outside of a run.")
    if (recording := run.recording) and (known := recording.take_answer(agent, prompt, draft)):
        return _tell_again(*known)
    request = HumanInputRequested(
        new_id(), agent, prompt, list(options), draft, language, to, moment, tool=tool, wants=wants
    )
    with run._asking, stopping.current().on_stop(run._wake):
        while not run._answers.empty():  # what woke up a question that nobody waits for any more
            run._answers.get()
        stopping.check()
        if run.answer_s is not None:
            request = replace(request, until=time.time() + run.answer_s)
        run.waiting_for = request
        try:
            bus.emit(request)
            text = run._await_answer()
        finally:
            run.waiting_for = None
        stopping.check()
        bus.emit(HumanAnswered(request.request_id, text, getattr(text, "waited_s", None)))
    return text


def _tell_again(request: HumanInputRequested, answered: HumanAnswered) -> str:
    """The answer to a question that was asked in the run that this one goes on with."""
    bus.emit(request)
    bus.emit(answered)
    if answered.waited_s is None:
        return answered.text
    return Unanswered(answered.waited_s)


def _end_of(error: BaseException) -> RunFinished | RunFailed | RunStopped:
    if isinstance(error, SystemExit) and not error.code:
        return RunFinished()
    if isinstance(error, (Stopped, KeyboardInterrupt)):
        return RunStopped()
    return RunFailed(explain(error), type(error).__name__)


def _emit_end(error: BaseException) -> None:
    try:
        end = _end_of(error)
        if isinstance(end, RunFailed):
            if isinstance(error, AgentkitError):  # it says all: where it arose tells nothing more
                log.error("run failed: %s", " ".join(str(error).split()) or type(error).__name__)
            else:
                log.error("run failed", exc_info=error)
        bus.emit(end)
    except Exception:
        log.exception("the end of a run could not be stored")
