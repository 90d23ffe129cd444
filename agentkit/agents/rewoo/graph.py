"""Running a plan: every step once, as soon as its evidence is there, several at a time."""

from __future__ import annotations

import contextvars
import json
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

from agentkit.agents.rewoo.inputs import Arguments
from agentkit.agents.rewoo.plan import LABEL, Plan, Step, fill
from agentkit.agents.rewoo.schema import ActionReturn, ActionStatusCode, ActionValidCode
from agentkit.core import bus, stopping
from agentkit.core.stopping import StopSignal
from agentkit.core.tools import Effects, Given, collecting, to_text
from agentkit.core.twin import takes_long
from agentkit.errors import Stopped, WrongArgument, WrongType
from agentkit.events import StepDone

Call = Callable[[str, Arguments], object]
"""Runs a tool by its name with arguments in which the evidence stands; gives an ActionReturn, or
anything else.
"""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a call is not to be made."""

    reason: str


Approve = Callable[[str, Arguments], Arguments | Refusal]
"""Looks at a call before it is made; gives the arguments to make it with, or a Refusal. It may take
its time.
"""
EffectsOf = Callable[[str], Effects]
"""What calling the tool of this name may change."""

_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.1, 2.0
_NOT_STORED = ("value", "passages")
_GRACE_S = 0.2
"""How long steps that were told to stop are waited for, so that they can let go of files and
connections.
"""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a step gave, or why it failed."""

    label: str
    ok: bool
    text: str
    """What dependents and the solver read; of a failed step `[failed: why]`."""
    seconds: float = 0.0
    """Over all attempts."""
    attempts: int = 1
    cached: bool = False
    """Whether another step with the same tool and arguments gave it."""
    error: str = ""
    arguments: str = ""
    """As the tool got them, with the evidence of other steps put in."""
    value: object = field(default=None, compare=False, repr=False)
    """What the call returned; not stored."""
    passages: tuple[Given, ...] = field(default=(), compare=False, repr=False)
    """The passages in `text`, as the tool told them; not stored."""

    def to_json(self) -> dict[str, object]:
        """As it can be stored, without `value` and `passages`."""
        return {name: getattr(self, name) for name in self.__slots__ if name not in _NOT_STORED}

    @classmethod
    def from_json(cls, data: object) -> Evidence:
        """The evidence that `to_json` gave, or as much of it as label, ok and text; raises
        WrongArgument for less.
        """
        if not isinstance(data, Mapping) or not data.keys() >= {"label", "ok", "text"}:
            raise WrongArgument(
                f"Evidence is an object with at least label, ok and text, but it is {data!r:.200}."
            )
        names = [name for name in cls.__slots__ if name not in _NOT_STORED]
        return cls(**{name: data[name] for name in names if name in data})


Known = Mapping[str, Evidence | str]
"""What is known by label, as evidence or as a text that somebody gives for it."""
Cache = MutableMapping[str, Evidence]
"""Evidence of successful steps by tool and arguments."""


@takes_long
def execute(
    plan: Plan,
    call: Call,
    *,
    at_once: int = 10,
    timeout_s: float | None = None,
    retries: int = 0,
    known: Known | None = None,
    cache: Cache | None = None,
    agent: str = "",
    plan_id: str = "",
    effects: EffectsOf | None = None,
    approve: Approve | None = None,
) -> dict[str, Evidence]:
    """Run the plan and give the evidence of every step by label, in the plan's order, `known` ones
    first.

    At most `at_once` steps run at the same time, on threads with copies of this context. An attempt
    gets `timeout_s` seconds and is told to stop after that; a step is tried again up to `retries`
    times unless its arguments are what is wrong. Steps that are in `known` and did not fail do not
    run, see `still_known`, nor those whose tool and arguments have evidence in `cache`, which is
    filled. A failed step is evidence, too.

    Tools have effects unless `effects` says that they have none. A call of one that has is looked
    at by `approve`, and is not made when a step that it needs failed, unless the step is to run
    `anyway`. Emits StepDone. Raises WrongType, WrongArgument for a plan that cannot run, and
    Stopped.
    """
    given = still_known(plan, known or {})
    if problems := [] if not plan.steps else plan.problems(known=given):
        raise WrongArgument(f"The plan cannot run: {'; '.join(problems)}.")
    limits = Limits(at_once, timeout_s, retries)
    policy = _Policy(effects or (lambda tool: "some"), approve)
    return _Execution(
        plan, call, limits, policy, given, {} if cache is None else cache, agent, plan_id
    ).run()


def still_known(
    plan: Plan, evidence: Known, changed: str | Iterable[str] = ()
) -> dict[str, Evidence]:
    """The evidence that stays when steps have failed, or are changed or to run again: of all that
    do not depend on them.

    Given as `known`, the run begins again from there. A text stands for the evidence of a step that
    succeeded. Raises WrongArgument for a label that is not in the plan or cannot be one, and
    WrongType for what is neither evidence nor text.
    """
    if not isinstance(evidence, Mapping):
        raise WrongType(
            "What is known must be evidence or texts by label, such as {'#E1': 'text'}, not"
            f" {evidence!r:.200}."
        )
    given = {label: _as_evidence(label, each) for label, each in evidence.items()}
    again = {changed} if isinstance(changed, str) else set(changed)
    again |= {label for label in plan.labels if label in given and not given[label].ok}
    lost = {label for each in again for label in plan.after(each)}
    return {label: each for label, each in given.items() if label not in lost}


def _as_evidence(label: object, given: object) -> Evidence:
    if not isinstance(label, str) or not LABEL.fullmatch(label):
        raise WrongArgument(
            f"Evidence is known by labels such as #E1, but this is given for {label!r:.80}."
        )
    if isinstance(given, str):
        return Evidence(label, True, given, attempts=0)
    if not isinstance(given, Evidence):
        raise WrongType(
            f"What is known of {label} must be evidence or a text, but it is {given!r:.200}; see"
            " Evidence.from_json."
        )
    return given if given.label == label else replace(given, label=label)


@dataclass(frozen=True, slots=True)
class Limits:
    """How steps may run; raises WrongType and WrongArgument for what cannot be."""

    at_once: int
    timeout_s: float | None
    retries: int

    def __post_init__(self) -> None:
        given: tuple[object, ...] = (self.at_once, self.retries, self.timeout_s)
        told = "at_once={!r}, retries={!r}, timeout_s={!r}: must be".format(*given)
        if not all(map(isinstance, given, (int, int, int | float | None))):
            raise WrongType(f"{told} an integer, an integer, and a number or None.")
        if (
            self.at_once < 1
            or self.retries < 0
            or not (self.timeout_s is None or self.timeout_s > 0)
        ):
            raise WrongArgument(f"{told} >= 1, >= 0, and > 0 or None.")


@dataclass(frozen=True, slots=True)
class _Policy:
    """Which calls may be made."""

    effects: EffectsOf
    approve: Approve | None

    def asks(self, tool: str) -> bool:
        """Whether somebody looks at calls of the tool before they are made."""
        return self.approve is not None and self.effects(tool) == "some"

    def blocked(self, step: Step, evidence: Mapping[str, Evidence]) -> str:
        """Why the step does not run on its evidence; nothing when it may."""
        failed = [need for need in step.needs if not evidence[need].ok]
        if not failed or step.anyway or self.effects(step.tool) == "none":
            return ""
        return f"not run, because {' and '.join(failed)} failed"


@dataclass(eq=False, slots=True)
class _Attempt:
    """A step that runs, in one of its attempts."""

    step: Step
    arguments: Arguments
    key: str
    began: float
    number: int = 1
    starts_at: float = 0.0
    """Monotonic seconds; later than now while it waits to be tried again."""
    deadline: float | None = None
    ending: StopSignal = field(default_factory=StopSignal)
    thread: threading.Thread | None = None
    approved: bool = False
    """Whether it may run as it stands."""
    result: object = None
    passages: list[Given] = field(default_factory=list)
    """Those in the result."""
    error: BaseException | None = None

    def work(self, call: Call, approve: Approve | None, limit_s: float | None, done: _Done) -> None:
        """Let the call be approved, and make it; its time begins after that."""
        with stopping.stoppable(self.ending):
            try:
                if not self.approved and approve is not None:
                    given = approve(self.step.tool, self.arguments)
                    if isinstance(given, Refusal):
                        self.result = given
                        done.put(self)
                        return
                    self.arguments, self.approved = given, True
                if limit_s is not None:
                    self.deadline = time.monotonic() + limit_s
                    done.put(None)  # so that the deadline is seen
                with collecting() as self.passages:
                    self.result = call(self.step.tool, self.arguments)
            except BaseException as error:  # noqa: BLE001
                # A tool may raise anything; the step tells it.
                self.error = error
        done.put(self)

    def end(self) -> None:
        """Tell the step to stop; if what its tool does then fails, that changes nothing for the
        others.
        """
        with suppress(Exception):
            self.ending.set()


_Done = queue.SimpleQueue[_Attempt | None]
"""Attempts that ended; None wakes up the thread that waits for them."""


class _Execution:
    """One run of a plan; only the thread that runs it touches its state."""

    def __init__(
        self,
        plan: Plan,
        call: Call,
        limits: Limits,
        policy: _Policy,
        known: dict[str, Evidence],
        cache: Cache,
        agent: str,
        plan_id: str,
    ) -> None:
        self.plan, self.call, self.limits, self.policy, self.cache = (
            plan,
            call,
            limits,
            policy,
            cache,
        )
        self.agent, self.plan_id = agent, plan_id
        self.given = known
        self.evidence = dict(known)
        self.tools = {step.label: step.tool for step in plan.steps}
        self.done: _Done = queue.SimpleQueue()
        self.active: list[_Attempt] = []
        """Steps that run or wait to be tried again."""
        self.alike: dict[str, list[tuple[Step, str]]] = {}
        """Steps that wait for one of the same tool and arguments, which runs."""
        todo = [step for step in plan.steps if step.label not in known]
        self.missing = {
            step.label: {need for need in step.needs if need not in known} for step in todo
        }
        self.users: dict[str, list[Step]] = {}
        for step in todo:
            for need in self.missing[step.label]:
                self.users.setdefault(need, []).append(step)
        self.ready = deque(step for step in todo if not self.missing[step.label])

    def run(self) -> dict[str, Evidence]:
        with self._stoppable():
            while self.ready or self.active:
                stopping.check()
                self._start_ready()
                if self.active:
                    self._wait()
        order = dict.fromkeys([*self.given, *self.plan.labels])
        return {label: self.evidence[label] for label in order}

    @contextmanager
    def _stoppable(self) -> Iterator[None]:
        """A stop of the run wakes up the waiting; whatever ends the run early ends the steps."""
        try:
            with stopping.current().on_stop(lambda: self.done.put(None)):
                yield
        finally:
            for attempt in self.active:
                attempt.end()
            until = time.monotonic() + _GRACE_S
            for attempt in self.active:
                if attempt.thread is not None:
                    attempt.thread.join(max(0.0, until - time.monotonic()))

    def _start_ready(self) -> None:
        while self.ready and len(self.active) < self.limits.at_once:
            step = self.ready.popleft()
            texts = {need: self.evidence[need].text for need in step.needs}
            arguments = fill(step.arguments, texts)
            shown = (
                arguments
                if isinstance(arguments, str)
                else json.dumps(arguments, ensure_ascii=False)
            )
            key = json.dumps([step.tool, arguments], sort_keys=True)
            if problem := self.policy.blocked(step, self.evidence):
                text = f"[failed: {problem}]"
                self._settle(
                    Evidence(step.label, False, text, attempts=0, error=problem, arguments=shown)
                )
            elif key in self.cache:
                self._settle(self._again(step, self.cache[key], shown))
            elif key in self.alike:
                self.alike[key].append((step, shown))
            else:
                self.alike[key] = []
                now = time.monotonic()
                self._start(_Attempt(step, arguments, key, began=now, starts_at=now))

    def _start(self, attempt: _Attempt) -> None:
        if attempt not in self.active:
            self.active.append(attempt)
        approve = self.policy.approve if self.policy.asks(attempt.step.tool) else None
        given = (self.call, approve, self.limits.timeout_s, self.done)
        context = contextvars.copy_context()
        name = f"agentkit-step-{attempt.step.label}"
        attempt.thread = threading.Thread(
            target=context.run, args=(attempt.work, *given), name=name, daemon=True
        )
        attempt.thread.start()

    def _wait(self) -> None:
        """Until an attempt ends, one is late, one is to begin again, or the run is stopped."""
        now = time.monotonic()
        moments = [each.starts_at if each.thread is None else each.deadline for each in self.active]
        first = min((moment for moment in moments if moment is not None), default=None)
        try:
            ended = self.done.get(
                timeout=None if first is None else min(max(0.0, first - now), threading.TIMEOUT_MAX)
            )
        except queue.Empty:
            self._look_at_clock()
            return
        if ended is not None and ended in self.active:
            self._ended(ended)

    def _look_at_clock(self) -> None:
        now = time.monotonic()
        for attempt in list(self.active):
            if attempt.thread is None and attempt.starts_at <= now:
                self._start(attempt)
            elif (
                attempt.deadline is not None
                and attempt.thread is not None
                and attempt.deadline <= now
            ):
                attempt.end()
                self._failed(
                    attempt, f"no result within {self.limits.timeout_s:g} s", may_help=True
                )

    def _ended(self, attempt: _Attempt) -> None:
        error, result = attempt.error, attempt.result
        if isinstance(error, Stopped):
            raise error
        if error is not None:
            self._failed(
                attempt,
                str(error) or type(error).__name__,
                not isinstance(error, WrongArgument | WrongType),
            )
        elif isinstance(result, Refusal):
            self._failed(attempt, result.reason, may_help=False)
        elif isinstance(result, ActionReturn) and result.state != ActionStatusCode.SUCCESS:
            useless = (
                result.state == ActionStatusCode.ARGS_ERROR
                or result.valid == ActionValidCode.INVALID
            )
            self._failed(
                attempt, str(result.errmsg or "the action gives no reason"), may_help=not useless
            )
        else:
            self._finish(
                attempt,
                True,
                result.format_result() if isinstance(result, ActionReturn) else to_text(result),
            )

    def _failed(self, attempt: _Attempt, problem: str, may_help: bool) -> None:
        if not may_help or attempt.number > self.limits.retries:
            self._finish(attempt, False, f"[failed: {problem}]", problem)
            return
        wait = min(_FIRST_WAIT_S * 2 ** (attempt.number - 1), _LONGEST_WAIT_S)
        again = _Attempt(
            attempt.step,
            attempt.arguments,
            attempt.key,
            attempt.began,
            attempt.number + 1,
            time.monotonic() + wait,
            approved=attempt.approved,
        )
        self.active[self.active.index(attempt)] = again

    def _finish(self, attempt: _Attempt, ok: bool, text: str, error: str = "") -> None:
        self.active.remove(attempt)
        shown = (
            attempt.arguments
            if isinstance(attempt.arguments, str)
            else json.dumps(attempt.arguments, ensure_ascii=False)
        )
        seconds = time.monotonic() - attempt.began
        made = Evidence(
            attempt.step.label,
            ok,
            text,
            seconds,
            attempt.number,
            False,
            error,
            shown,
            attempt.result,
            tuple(attempt.passages),
        )
        if ok:
            self.cache[attempt.key] = made
        self._settle(made)
        for step, arguments in self.alike.pop(attempt.key):
            self._settle(self._again(step, made, arguments))

    @staticmethod
    def _again(step: Step, evidence: Evidence, arguments: str) -> Evidence:
        """The same evidence for another step."""
        return replace(
            evidence, label=step.label, seconds=0.0, attempts=0, cached=True, arguments=arguments
        )

    def _settle(self, made: Evidence) -> None:
        """Keep the evidence, tell it, and make ready what waited for it."""
        self.evidence[made.label] = made
        if bus.heard():
            tool = self.tools[made.label]
            bus.emit(
                StepDone(
                    self.agent,
                    self.plan_id,
                    made.label,
                    tool,
                    made.arguments,
                    made.ok,
                    made.text,
                    made.seconds,
                    made.attempts,
                    made.cached,
                    list(made.passages),
                    made.error,
                )
            )
        for step in self.users.get(made.label, ()):
            missing = self.missing[step.label]
            missing.discard(made.label)
            if not missing:
                self.ready.append(step)
