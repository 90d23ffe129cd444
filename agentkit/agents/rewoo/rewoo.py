"""ReWOO: plan first, gather the evidence in parallel, answer once. Source: Xu et al. 2023,
arXiv:2305.18323.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from agentkit.agents.rewoo.calling import ActionCall, to_action_return
from agentkit.agents.rewoo.evidence import Cache, Evidence, Known, still_known
from agentkit.agents.rewoo.executor import Action, ActionExecutor
from agentkit.agents.rewoo.graph import Approve, Limits, Refusal, execute
from agentkit.agents.rewoo.model_call import ask, check_model
from agentkit.agents.rewoo.plan import Plan
from agentkit.agents.rewoo.protocol import ChatMessage, ReWOOProtocol
from agentkit.agents.rewoo.schema import ActionReturn, AgentReturn, AgentStatusCode
from agentkit.conversation.checks import check_kind
from agentkit.core import bus, stopping
from agentkit.core.given import coalesce, is_list_of
from agentkit.core.twin import ASYNC, finish
from agentkit.errors import ResponseParsingError, Stopped, WrongArgument, WrongType
from agentkit.events import Noted, PlanMade
from agentkit.messages import new_id, text_of, without_keys

Question = str | ChatMessage | list[ChatMessage]
"""A text, a message, or a conversation whose last message is the question."""
Role = Literal["planner", "solver"]
"""What a call of the model is for."""
OnPlan = Callable[[Plan], Plan | Refusal | Awaitable[Plan | Refusal | None] | None]
"""Looks at a plan before it runs, and gives another one to run that instead, or a Refusal, with
which the planner plans again; sync, or async in an event loop of its own.
"""


class BaseAgent:
    """What agents in lagent's style have in common: a model, actions and a protocol; `chat` is for
    the subclass.
    """

    def __init__(self, llm: object, action_executor: ActionExecutor, protocol: Any) -> None:
        self._llm = llm
        self._action_executor = action_executor
        self._protocol = protocol

    def add_action(self, action: Action) -> None:
        """Let the agent use this action, too; raises WrongArgument for anything else."""
        self._action_executor.add_action(action)

    def del_action(self, name: str) -> None:
        """Let it no longer use the action of this name."""
        self._action_executor.del_action(name)

    def chat(self, message: Any, **kwargs: Any) -> AgentReturn:
        """Answer; raises NotImplementedError here."""
        raise NotImplementedError(f"{type(self).__name__} has no method chat; write one.")


class ReWOO(BaseAgent):
    """Two calls of a model for a question: one writes a plan, one answers from what the plan's
    steps gave.

    It keeps nothing of a chat, so that several threads may use it.
    """

    _protocol: ReWOOProtocol

    def __init__(
        self,
        llm: object,
        action_executor: ActionExecutor,
        protocol: ReWOOProtocol | None = None,
        max_turn: int = 2,
        *,
        name: str = "ReWOO",
        at_once: int = 10,
        timeout_s: float | None = None,
        retries: int = 0,
        replans: int = 0,
        on_plan: OnPlan | None = None,
        approve: Approve | None = None,
        names: Mapping[Role, str] | None = None,
    ) -> None:
        """`llm`: a Model, an OpenAIWrapper, an object with `chat(messages)`, or a function of the
        messages that gives a text.

        `max_turn`: how often the planner is asked for a plan that can run; `at_once`, `timeout_s`
            (seconds) and `retries` as
        in `execute`; `replans`: how often the planner may plan again when steps have failed;
        `on_plan` gets every plan that can run, and may give a changed one; `approve` looks at every
        call of an action that has effects;
        `names`: in whose names the model is asked, by default those of `name` with the role behind
            it.
        Raises WrongType, WrongArgument.
        """
        check_model(llm)
        if not isinstance(action_executor, ActionExecutor):
            raise WrongType(
                f"{name}: give an ActionExecutor with the actions, not {action_executor!r:.200}."
            )
        Limits(at_once, timeout_s, retries)
        _check_settings(name, protocol, max_turn, replans, on_plan, approve)
        self.name = name
        self.max_turn = max_turn
        self.at_once = at_once
        self.timeout_s = timeout_s
        self.retries = retries
        self.replans = replans
        self._on_plan = coalesce(on_plan, _keep_plan)
        self._approve = approve
        self._names = {role: f"{name} ({role})" for role in get_args(Role)}
        self._names.update(coalesce(names, {}))
        super().__init__(llm, action_executor, coalesce(protocol, ReWOOProtocol()))

    def chat(self, message: Question, **kwargs: object) -> AgentReturn:
        """Answer; `kwargs` are parameters for the model.

        A plan that cannot run goes back to the planner with what is wrong. When none of `max_turn`
        can, the answer is made without evidence, and `errmsg` says why; when the model fails,
        `state` is SERVER_ERR. Raises WrongType for another kind of message, and Stopped.
        """
        talk = _Talk.about(message)

        def work() -> AgentReturn:
            problem = self._carry_out(talk, kwargs)
            return self._answer(talk, problem, kwargs)

        return talk.try_to(work)

    def answer(self, message: Question, **kwargs: object) -> AgentReturn:
        """`chat`, which raises what its model or `on_plan` raises instead of telling it in the
        result.
        """
        talk = _Talk.about(message)
        return self._answer(talk, self._carry_out(talk, kwargs), kwargs)

    async def a_chat(self, message: Question, **kwargs: object) -> AgentReturn:
        """`chat` on a thread, so that the event loop goes on; cancelling the task stops it."""
        return await ASYNC.block(self.chat, message, **kwargs)

    def plan(self, message: Question, **kwargs: object) -> Plan:
        """A plan that can run, to be shown, changed and run.

        Raises ResponseParsingError when none of `max_turn` plans can, what the model raises, and
        Stopped.
        """
        return self._make_plan(_Talk.about(message), (), kwargs)[1]

    def run(
        self, plan: Plan, message: Question, *, known: Known | None = None, **kwargs: object
    ) -> AgentReturn:
        """Run a plan and answer from it; `known` is evidence, or texts, by label: these steps do
        not run.

        Failed steps in it do, with all that need them, see `still_known`. `nodes` of the result is
        the evidence by label.
        Raises WrongType, WrongArgument for a plan that cannot run, and Stopped.
        """
        if not isinstance(plan, Plan):
            raise WrongType(
                f"{self.name}: give a Plan to run, not {plan!r:.200}; Plan.from_json reads what"
                " to_json gave."
            )
        known = still_known(plan, coalesce(known, {}))
        self._check_can_run(plan, known, "the plan")
        talk, plan_id = _Talk.about(message), new_id()
        self._announce(plan, plan_id, 1)
        talk.follow(plan, self._gather(plan, plan_id, known, talk.cache))

        def work() -> AgentReturn:
            self._replan(talk, kwargs)
            return self._answer(talk, "", kwargs)

        return talk.try_to(work)

    def _carry_out(self, talk: _Talk, options: Mapping[str, object]) -> str:
        """Plan and gather evidence; why there is no plan, in words, or nothing."""
        try:
            plan_id, plan = self._make_plan(talk, (), options)
        except ResponseParsingError as error:
            problem = (
                f"No plan could be made in {self.max_turn} tries, so the answer has no evidence."
                f" The last one: {error}"
            )
            bus.emit(Noted(self.name, problem))
            return problem
        talk.follow(plan, self._gather(plan, plan_id, {}, talk.cache))
        self._replan(talk, options)
        return ""

    def _replan(self, talk: _Talk, options: Mapping[str, object]) -> None:
        """While steps have failed and it is allowed: plan anew with what is known; what succeeded
        is kept.
        """
        for _ in range(self.replans):
            known = talk.successes
            if len(known) == len(talk.evidence):
                return
            _, log = self._format_solver(talk)
            talk.messages += self._protocol.format_replan(log)
            try:
                plan_id, fresh = self._make_plan(talk, known, options)
            except ResponseParsingError as error:
                problem = f"No better plan could be made in {self.max_turn} tries: {error}"
                bus.emit(Noted(self.name, problem))
                return
            known = without_keys(known, fresh.labels)
            kept = [step for step in talk.plan.steps if step.label in known]
            plan = Plan((*kept, *fresh.steps))
            talk.follow(plan, self._gather(plan, plan_id, known, talk.cache))

    def _make_plan(
        self, talk: _Talk, known: Collection[str], options: Mapping[str, object]
    ) -> tuple[str, Plan]:
        """The plan's id and the first plan that can run and is wanted."""
        wrong = ""
        while True:
            plan_id = new_id()
            attempt, plan = self._write_plan(talk, plan_id, known, options, wrong)
            wanted = self._let_change(plan, plan_id, attempt, known)
            if isinstance(wanted, Plan):
                return plan_id, wanted
            wrong = wanted.reason
            self._announce(Plan(), plan_id, attempt, wrong)

    def _write_plan(
        self,
        talk: _Talk,
        plan_id: str,
        known: Collection[str],
        options: Mapping[str, object],
        wrong: str,
    ) -> tuple[int, Plan]:
        """The first plan that can run, and at which try; each stays in the talk's messages.

        `wrong` is what was wrong with the one before.
        """
        tools = self._action_executor.tool_names()
        for attempt in range(1, self.max_turn + 1):
            asked = self._protocol.format_planner([], talk.messages, self._action_executor, wrong)
            reply = self._ask(asked, "planner", options)
            talk.messages.append({"role": "assistant", "content": reply})
            try:
                plan = talk.plan.redo(self._protocol.parse_plan(reply, tools, known), known)
            except ResponseParsingError as error:
                wrong = error.message
                self._announce(Plan(), plan_id, attempt, str(wrong))
                continue
            self._announce(plan, plan_id, attempt)
            return attempt, plan
        raise ResponseParsingError(wrong, reply)

    def _let_change(
        self, plan: Plan, plan_id: str, attempt: int, known: Collection[str]
    ) -> Plan | Refusal:
        """The plan as `on_plan` wants it, told once more where that changed it."""
        wanted = coalesce(finish(self._on_plan(plan)), plan)
        if isinstance(wanted, Refusal):
            return wanted
        if not isinstance(wanted, Plan):
            raise WrongType(f"{self.name}: on_plan must give a Plan or None, not {wanted!r:.200}.")
        if wanted == plan:
            return plan
        self._check_can_run(wanted, known, "the plan that on_plan gave")
        self._announce(wanted, plan_id, attempt)
        return wanted

    def _check_can_run(self, plan: Plan, known: Collection[str], called: str) -> None:
        if problems := plan.problems(self._action_executor.tool_names(), known):
            raise WrongArgument(f"{self.name}: {called} cannot run: {'; '.join(problems)}.")

    def _announce(self, plan: Plan, plan_id: str, attempt: int, problem: str = "") -> None:
        steps = [step.to_json() for step in plan.steps]
        bus.emit(PlanMade(self.name, plan_id, attempt, steps, problem))

    def _gather(
        self, plan: Plan, plan_id: str, known: Mapping[str, Evidence], cache: Cache
    ) -> dict[str, Evidence]:
        return execute(
            plan,
            ActionCall(self._action_executor, self.name),
            at_once=self.at_once,
            timeout_s=self.timeout_s,
            retries=self.retries,
            known=known,
            cache=cache,
            agent=self.name,
            plan_id=plan_id,
            effects=self._action_executor.effects_of,
            approve=self._approve,
        )

    def _format_solver(self, talk: _Talk) -> tuple[str, str]:
        thoughts = [step.thought for step in talk.plan.steps]
        return self._protocol.format_solver(talk.question, thoughts, talk.actions)

    def _answer(self, talk: _Talk, problem: str, options: Mapping[str, object]) -> AgentReturn:
        prompt, log = self._format_solver(talk)
        talk.messages.append({"role": "system", "content": log})
        talk.answer = self._ask(
            [*talk.earlier, {"role": "user", "content": prompt}], "solver", options
        )
        talk.messages.append({"role": "assistant", "content": talk.answer})
        return talk.result(problem)

    def _ask(self, messages: list[ChatMessage], role: Role, options: Mapping[str, object]) -> str:
        stopping.check()
        return ask(self._llm, messages, self._names[role], options)


@dataclass(slots=True)
class _Talk:
    """One question on its way to the answer."""

    question: str
    earlier: list[ChatMessage]
    """The conversation before the question."""
    messages: list[ChatMessage]
    """What the planner is told, and after that all that was said."""
    given: int
    """How many of them came with the question."""
    plan: Plan = field(default_factory=Plan)
    evidence: dict[str, Evidence] = field(default_factory=dict)
    cache: Cache = field(default_factory=dict)
    answer: str = ""

    @classmethod
    def about(cls, message: object) -> _Talk:
        messages = message
        if isinstance(message, str):
            messages = [{"content": message}]
        elif isinstance(message, Mapping):
            messages = [message]
        if not messages or not is_list_of(messages, Mapping):
            raise WrongType(
                "A message must be a text, a dict or a non-empty list of dicts, but it is"
                f" {message!r:.200}."
            )
        kept = [{"role": "user", **each} for each in messages]
        *earlier, last = kept
        question = last.get("content")
        if not isinstance(question, str | list):
            raise WrongType(
                f"The last message is the question, but its content is not a text: {last!r:.200}."
            )
        return cls(text_of(question), earlier, kept, len(kept))

    @property
    def actions(self) -> list[ActionReturn]:
        return [to_action_return(step, self.evidence[step.label]) for step in self.plan.steps]

    @property
    def successes(self) -> dict[str, Evidence]:
        return {label: each for label, each in self.evidence.items() if each.ok}

    def follow(self, plan: Plan, evidence: dict[str, Evidence]) -> None:
        self.plan, self.evidence = plan, {label: evidence[label] for label in plan.labels}

    def result(
        self, problem: str = "", state: AgentStatusCode = AgentStatusCode.END
    ) -> AgentReturn:
        needs = {step.label: list(step.needs) for step in self.plan.steps}
        return AgentReturn(
            state=state,
            actions=self.actions,
            response=self.answer,
            inner_steps=self.messages[self.given :],
            nodes=dict(self.evidence) or None,
            adjacency_list=needs or None,
            errmsg=problem or None,
        )

    def try_to(self, work: Callable[[], AgentReturn]) -> AgentReturn:
        """What the work gives; whatever a model raises is told in the result. Raises Stopped."""
        try:
            return work()
        except Stopped:
            raise
        except Exception as error:  # noqa: BLE001
            # Models of others raise anything; a chat gives a result.
            problem = f"{type(error).__name__}: {error}"
            return self.result(problem, AgentStatusCode.SERVER_ERR)


def _check_settings(
    name: str, protocol: object, max_turn: object, replans: object, on_plan: object, approve: object
) -> None:
    if isinstance(protocol, type):
        raise WrongType(f"{name}: give a protocol such as ReWOOProtocol(), not {protocol!r}.")
    check_kind(name, "on_plan", on_plan, Callable | None, "a function of a plan")
    asks = "a function of a tool's name and its arguments"
    check_kind(name, "approve", approve, Callable | None, asks)
    for least, value in ((1, max_turn), (0, replans)):
        if not isinstance(value, int) or value < least:
            raise WrongArgument(
                f"{name}: max_turn={max_turn!r} and replans={replans!r}, but they must be integers"
                " >= 1 and >= 0."
            )


def _keep_plan(plan: Plan) -> Plan:
    return plan
