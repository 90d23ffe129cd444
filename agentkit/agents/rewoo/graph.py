"""Running a plan: every step once, as soon as its evidence is there, several at a time."""

from __future__ import annotations

import contextvars
import json
import math
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from graphlib import TopologicalSorter
from operator import attrgetter
from typing import NamedTuple

from agentkit.agents.rewoo.evidence import Cache, Evidence, Known, still_known
from agentkit.agents.rewoo.inputs import Arguments
from agentkit.agents.rewoo.plan import Plan, Step, fill
from agentkit.agents.rewoo.schema import ActionReturn
from agentkit.core import bus, stopping
from agentkit.core.given import coalesce, list_missing
from agentkit.core.stopping import StopSignal
from agentkit.core.tools import Effects, Given, collecting, to_text
from agentkit.core.twin import takes_long
from agentkit.errors import Stopped, WrongArgument, WrongType, explain
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
_GRACE_S = 0.2
"""How long steps that were told to stop are waited for, so that they can let go of files and
connections.
"""


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
    limits = Limits(at_once, timeout_s, retries)
    given = still_known(plan, coalesce(known, {}))
    problems = plan.problems(known=given)
    if problems and plan.steps:
        raise WrongArgument(f"The plan cannot run: {'; '.join(problems)}.")
    policy = _Policy(coalesce(effects, _suspect), coalesce(approve, _let_pass))
    execution = _Execution(plan, call, limits, policy, given, coalesce(cache, {}))
    execution.agent, execution.plan_id = agent, plan_id
    return execution.run()


def _suspect(tool: str) -> Effects:
    """What a tool may change of which nothing is known."""
    return "some"


def _let_pass(tool: str, arguments: Arguments) -> Arguments | Refusal:
    """Approve of every call."""
    return arguments


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
        are_possible = (self.at_once >= 1, self.retries >= 0, self.longest_s > 0)
        if not all(are_possible):
            raise WrongArgument(f"{told} >= 1, >= 0, and > 0 or None.")

    @property
    def longest_s(self) -> float:
        """Seconds that an attempt gets, perhaps without end."""
        return coalesce(self.timeout_s, math.inf)


@dataclass(frozen=True, slots=True)
class _Policy:
    """Which calls may be made."""

    effects: EffectsOf
    approve: Approve

    def find_reviewer(self, tool: str) -> Approve:
        """Who looks at calls of the tool before they are made."""
        if self.approve is _let_pass or self.effects(tool) == "none":
            return _let_pass
        return self.approve

    def find_obstacle(self, step: Step, evidence: Mapping[str, Evidence]) -> str:
        """Why the step does not run on its evidence; nothing when it may."""
        if step.anyway:
            return ""
        if self.effects(step.tool) == "none":
            return ""
        failed = [need for need in step.needs if not evidence[need].ok]
        if not failed:
            return ""
        return f"not run, because {' and '.join(failed)} failed"


class _Failure(NamedTuple):
    """Why an attempt failed, and whether another one may help."""

    problem: str
    may_help: bool


@dataclass(eq=False, slots=True)
class _Attempt:
    """A step that runs, in one of its attempts."""

    step: Step
    arguments: Arguments
    key: str
    began: float
    reviewer: Approve
    """Who has to approve the call."""
    number: int = 1
    due: float = math.inf
    """Monotonic seconds: when it starts, if it waits to be tried again; then when its time ends."""
    ending: StopSignal = field(default_factory=StopSignal, init=False)
    thread: threading.Thread | None = field(default=None, init=False)
    result: object = field(default=None, init=False)
    passages: list[Given] = field(default_factory=list, init=False)
    """Those in the result."""
    error: BaseException | None = field(default=None, init=False)

    def work(self, call: Call, limit_s: float, done: _Done) -> None:
        """Let the call be approved, and make it; its time begins after that."""
        with stopping.stoppable(self.ending):
            try:
                self.result = self._review_and_call(call, limit_s, done)
            except BaseException as error:  # noqa: BLE001
                # A tool may raise anything; the step tells it.
                self.error = error
        done.put(self)

    def _review_and_call(self, call: Call, limit_s: float, done: _Done) -> object:
        reviewed = self.reviewer(self.step.tool, self.arguments)
        if isinstance(reviewed, Refusal):
            return reviewed
        self.arguments, self.reviewer = reviewed, _let_pass
        self.due = time.monotonic() + limit_s
        done.put(None)  # so that the deadline is seen
        with collecting() as self.passages:
            return call(self.step.tool, self.arguments)

    def find_failure(self) -> _Failure | None:
        """Why it failed; None when it did not."""
        error, result = self.error, self.result
        if error is not None:
            is_bad_call = isinstance(error, WrongArgument | WrongType)
            return _Failure(explain(error), may_help=not is_bad_call)
        if isinstance(result, Refusal):
            return _Failure(result.reason, may_help=False)
        if isinstance(result, ActionReturn) and not result.succeeded:
            return _Failure(result.problem, may_help=not result.is_bad_call)
        return None

    def format_result(self) -> str:
        """What it gave, as those read it that need its evidence."""
        if isinstance(self.result, ActionReturn):
            return self.result.format_result()
        return to_text(self.result)

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

    agent = plan_id = ""
    """As events name them."""

    def __init__(
        self,
        plan: Plan,
        call: Call,
        limits: Limits,
        policy: _Policy,
        known: dict[str, Evidence],
        cache: Cache,
    ) -> None:
        self.call, self.limits, self.policy, self.cache = call, limits, policy, cache
        self.labels = dict.fromkeys([*known, *plan.labels])
        self.steps = {step.label: step for step in plan.steps_without(known)}
        self.evidence = dict(known)
        self.done: _Done = queue.SimpleQueue()
        self.active: list[_Attempt] = []
        """Steps that run or wait to be tried again."""
        self.alike: dict[str, list[tuple[Step, str]]] = {}
        """Steps that wait for one of the same tool and arguments, which runs."""
        self.order = TopologicalSorter[str](dict.fromkeys(self.steps, ()))
        for step in self.steps.values():
            self.order.add(step.label, *list_missing(step.needs, known))
        self.order.prepare()
        self.ready = deque(self.order.get_ready())

    def run(self) -> dict[str, Evidence]:
        with self._stoppable():
            while self.order.is_active():
                stopping.check()
                self._begin_ready()
                if self.active:
                    self._wait()
        in_order = (self.evidence[each] for each in self.labels)
        return dict(zip(self.labels, in_order, strict=True))

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
            for thread in filter(None, map(attrgetter("thread"), self.active)):
                thread.join(max(0.0, until - time.monotonic()))

    def _begin_ready(self) -> None:
        while self.ready and len(self.active) < self.limits.at_once:
            self._begin(self.steps[self.ready.popleft()])

    def _begin(self, step: Step) -> None:
        """Start the step, or find its evidence without running it."""
        texts = {need: self.evidence[need].text for need in step.needs}
        arguments = fill(step.arguments, texts)
        key = json.dumps([step.tool, arguments], sort_keys=True)
        if problem := self.policy.find_obstacle(step, self.evidence):
            failed = Evidence.of_failure(step.label, problem, to_text(arguments))
            self._settle(failed)
        elif key in self.cache:
            self._settle(self.cache[key].copy_for(step.label, to_text(arguments)))
        elif key in self.alike:
            self.alike[key].append((step, to_text(arguments)))
        else:
            self.alike[key] = []
            reviewer = self.policy.find_reviewer(step.tool)
            attempt = _Attempt(step, arguments, key, time.monotonic(), reviewer)
            self.active.append(attempt)
            self._start(attempt)

    def _start(self, attempt: _Attempt) -> None:
        attempt.due = math.inf
        context = contextvars.copy_context()
        attempt.thread = threading.Thread(
            target=context.run,
            args=(attempt.work, self.call, self.limits.longest_s, self.done),
            name=f"agentkit-step-{attempt.step.label}",
            daemon=True,
        )
        attempt.thread.start()

    def _wait(self) -> None:
        """Until an attempt ends, one is late, one is to begin again, or the run is stopped."""
        first = min(map(attrgetter("due"), self.active))
        timeout = max(0.0, min(first - time.monotonic(), threading.TIMEOUT_MAX))
        try:
            ended = self.done.get(timeout=timeout)
        except queue.Empty:
            self._look_at_clock()
            return
        if ended is not None and ended in self.active:
            self._end(ended)

    def _look_at_clock(self) -> None:
        now = time.monotonic()
        for attempt in [each for each in self.active if each.due <= now]:
            if attempt.thread is None:
                self._start(attempt)
                continue
            attempt.end()
            late = f"no result within {self.limits.timeout_s:g} s"
            self._fail(attempt, _Failure(late, may_help=True))

    def _end(self, attempt: _Attempt) -> None:
        if isinstance(attempt.error, Stopped):
            raise attempt.error
        failure = attempt.find_failure()
        if failure is None:
            self._finish(attempt, True, attempt.format_result())
        else:
            self._fail(attempt, failure)

    def _fail(self, attempt: _Attempt, failure: _Failure) -> None:
        """Try the step again where that may help, else let its failure be its evidence."""
        if not failure.may_help or attempt.number > self.limits.retries:
            self._finish(attempt, False, f"[failed: {failure.problem}]", failure.problem)
            return
        wait = min(_FIRST_WAIT_S * 2 ** (attempt.number - 1), _LONGEST_WAIT_S)
        again = replace(attempt, number=attempt.number + 1, due=time.monotonic() + wait)
        self.active[self.active.index(attempt)] = again

    def _finish(self, attempt: _Attempt, ok: bool, text: str, error: str = "") -> None:
        self.active.remove(attempt)
        made = Evidence(
            attempt.step.label,
            ok=ok,
            text=text,
            seconds=time.monotonic() - attempt.began,
            attempts=attempt.number,
            error=error,
            arguments=to_text(attempt.arguments),
            value=attempt.result,
            passages=tuple(attempt.passages),
        )
        if ok:
            self.cache[attempt.key] = made
        self._settle(made)
        for step, arguments in self.alike.pop(attempt.key):
            self._settle(made.copy_for(step.label, arguments))

    def _settle(self, made: Evidence) -> None:
        """Keep the evidence, announce it, and make ready what waited for it."""
        self.evidence[made.label] = made
        bus.emit(
            StepDone(
                self.agent,
                self.plan_id,
                made.label,
                self.steps[made.label].tool,
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
        self.order.done(made.label)
        self.ready.extend(self.order.get_ready())
