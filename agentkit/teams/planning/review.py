"""A plan that the person sees before it runs: what they are shown, what is wrong with a changed
one, what it will take.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentkit import runs
from agentkit.agents.rewoo import Plan, Refusal, Step
from agentkit.agents.rewoo.mistakes import Mistake
from agentkit.agents.rewoo.reading import MOST_STEPS, find_forward
from agentkit.core.given import list_missing
from agentkit.errors import AgentkitError, WrongArgument
from agentkit.events import Event, StepDone
from agentkit.options import PLAN, OptionKey, read_choice
from agentkit.teams.findings import FIND, SEARCH
from agentkit.teams.planning.prompts import CALCULATE
from agentkit.teams.planning_settings import READ, Planning

OPTIONS: tuple[OptionKey, ...] = ("approve", "edit", "reject")
ONE_PLAN: tuple[OptionKey, ...] = ("approve", "edit")
"""Where nobody could make another plan."""
_ASKED = "Is this plan to run?"
_ASKED_AGAIN = "Is this plan to run? It cannot as you changed it: {problems}."
LOOKUPS = (SEARCH, FIND)
"""Tools that look something up."""
_NEED_INPUT = (*LOOKUPS, READ, CALCULATE)
_VALUE_TOKENS, _READER_TOKENS, _ANSWER_TOKENS = 30, 120, 300
"""About what a value takes, a request to the reader besides its results, and an answer."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a plan will take, about."""

    lookups: int
    calls: int
    """Of models, the answer included."""
    tokens: int


@dataclass(frozen=True, slots=True)
class Proposal:
    """A plan as it is put to the person, with what they need to change it."""

    plan: Plan
    tools: tuple[str, ...] = ()
    """The names of what its steps may use."""
    known: tuple[str, ...] = ()
    """Steps of an earlier plan whose results may be used."""
    most_steps: int | None = None
    most_lookups: int | None = None
    tokens: Mapping[str, int] = field(default_factory=dict)
    """About how many `look_up` gives and `answer` is told besides results."""

    def to_draft(self) -> str:
        """As it travels in a request to the person."""
        beside = {
            "tools": list(self.tools),
            "known": list(self.known),
            "most_steps": self.most_steps,
            "most_lookups": self.most_lookups,
            "tokens": dict(self.tokens),
        }
        return json.dumps({**self.plan.to_json(), **beside}, ensure_ascii=False, indent=1)

    @classmethod
    def from_draft(cls, draft: str) -> Proposal:
        """What `to_draft` made; raises WrongArgument for anything else."""
        try:
            data = json.loads(draft)
        except ValueError as error:
            raise WrongArgument(f"The plan is not JSON: {error}.") from error
        plan = Plan.from_json(data)
        return cls(
            plan,
            tuple(data.get("tools", ())),
            tuple(data.get("known", ())),
            data.get("most_steps"),
            data.get("most_lookups"),
            data.get("tokens", {}),
        )

    def find_problems(self, plan: Plan) -> list[str]:
        """Why a plan cannot run in place of this one; empty when it can."""
        return [
            *plan.problems(self.tools, self.known),
            *find_forward(plan, self.known),
            *find_excess(plan, self.most_steps, self.most_lookups),
            *_find_blank(plan),
        ]

    def estimate(self, plan: Plan) -> Estimate:
        """What a plan will take, about; retries and planning again are not in it."""
        look_up = self.tokens.get("look_up", 0)
        given = {step.label: _weigh(step, look_up) for step in plan.steps}
        readers = [step for step in plan.steps if step.tool == READ]
        read = len(readers) * _READER_TOKENS
        read += sum(_sum_needs(step, given) for step in readers)
        answer = self.tokens.get("answer", 0) + _ANSWER_TOKENS
        answer += sum(given.values())
        return Estimate(
            lookups=count_lookups(plan),
            calls=len(readers) + 1,
            tokens=read + answer,
        )


def _weigh(step: Step, look_up: int) -> int:
    if step.tool in LOOKUPS:
        return look_up
    return _VALUE_TOKENS


def _sum_needs(step: Step, given: Mapping[str, int]) -> int:
    return sum(given.get(need, _VALUE_TOKENS) for need in step.needs)


def count_lookups(plan: Plan) -> int:
    """How many of its steps look something up."""
    return sum(step.tool in LOOKUPS for step in plan.steps)


def find_excess(plan: Plan, most_steps: int | None, most_lookups: int | None) -> list[str]:
    """The limits that a plan goes beyond, in words for a planner or a person."""
    problems: list[str] = []
    steps = len(plan.steps)
    most = most_steps or MOST_STEPS
    if steps > most:
        told = Mistake.of("too many", steps=steps, most=most)
        problems.append(told)
    if not most_lookups:
        return problems
    lookups = count_lookups(plan)
    if lookups > most_lookups:
        told = Mistake.of("too many lookups", lookups=lookups, most=most_lookups)
        problems.append(told)
    return problems


def _find_blank(plan: Plan) -> Iterator[str]:
    """Steps of our own tools without an input, which all of them need."""
    for step in plan.steps:
        is_blank = not step.arguments.strip()
        if is_blank and step.tool in _NEED_INPUT:
            yield Mistake.of("no input", label=step.label)


class Review:
    """Puts each plan to the person before it runs, in the name of an agent.

    It listens to what happens, to know which results a further plan may use.
    """

    def __init__(
        self,
        agent: str,
        tools: Collection[str],
        limits: Planning,
        tokens: Mapping[str, int],
        options: Sequence[OptionKey] = OPTIONS,
    ) -> None:
        self._agent, self._limits, self._tokens = agent, limits, tokens
        self._options = options
        self._tools = tuple(tools)
        self._done: dict[str, bool] = {}

    def __call__(self, event: Event) -> None:
        """Note how a step ended."""
        if isinstance(event, StepDone):
            self._done[event.label] = event.ok

    def ask(self, plan: Plan) -> Plan | Refusal:
        """The plan that the person wants, or why they want another one.

        Raises Stopped, and AgentkitError when nobody answers in time.
        """
        shown, prompt = plan, _ASKED
        known = self._list_known(plan)
        while True:
            proposal = Proposal(
                shown,
                self._tools,
                known,
                self._limits.most_steps,
                self._limits.most_lookups,
                self._tokens,
            )
            answer = runs.ask_human(
                self._agent,
                prompt,
                options=self._options,
                draft=proposal.to_draft(),
                language=PLAN,
            )
            choice, rest = read_choice(answer)
            if choice != "edit":
                return _decide(shown, answer)
            shown, problems = _read_change(proposal, rest)
            if not problems:
                return shown
            prompt = _ASKED_AGAIN.format(problems="; ".join(problems))

    def _list_known(self, plan: Plan) -> tuple[str, ...]:
        """Steps before a plan that gave something; its own stand in it."""
        given = [label for label, ok in self._done.items() if ok]
        return tuple(list_missing(given, plan.labels))


def _decide(plan: Plan, answer: str) -> Plan | Refusal:
    """What comes of an answer that changes nothing in the plan."""
    choice, rest = read_choice(answer)
    if choice == "approve":
        return plan
    if isinstance(answer, runs.Unanswered):
        raise AgentkitError(
            f"Nobody said within {answer.waited_s:g} seconds whether the plan is to run, so nothing"
            " of it was done. Ask again, or let plans run unseen."
        )
    said = answer  # any other answer is a refusal
    if choice == "reject":
        said = rest
    reason = said.strip()
    if not reason:
        return Refusal(Mistake.of("refused without reason"))
    return Refusal(Mistake.of("refused", reason=reason))


def _read_change(proposal: Proposal, text: str) -> tuple[Plan, Sequence[str]]:
    """The changed plan, and what is wrong with it; one that cannot be read changes nothing."""
    try:
        plan = Proposal.from_draft(text).plan
    except WrongArgument as error:
        return proposal.plan, [str(error).rstrip(".")]
    return plan, proposal.find_problems(plan)


def list_steps(draft: str) -> str:
    """The steps of a draft, each with what it is for, as people read them."""
    try:
        plan = Proposal.from_draft(draft).plan
    except WrongArgument:
        return draft
    lines: list[str] = []
    for step in plan.steps:
        lines.append(f"{step.label} {step.thought}")
        lines.append(f"    {step.tool}[{step.arguments}]")
    return "\n".join(lines)


def write_change(steps: Sequence[Mapping[str, Any]]) -> str:
    """The answer of a person who changed the plan to these steps."""
    return f"edit\n{json.dumps({'steps': list(steps)}, ensure_ascii=False)}"
