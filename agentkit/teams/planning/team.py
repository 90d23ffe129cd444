"""The team that plans first (ReWOO): a plan of look-ups and computations, run as a graph, then one
answer from its evidence.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from agentkit.agents.rewoo import (
    ActionExecutor,
    BaseAction,
    FunctionAction,
    Plan,
    Refusal,
    ReWOO,
    ReWOOProtocol,
    Step,
    execute,
)
from agentkit.agents.rewoo.calling import ActionCall
from agentkit.agents.rewoo.executor import Action
from agentkit.agents.rewoo.inputs import Arguments
from agentkit.agents.rewoo.mistakes import Mistake
from agentkit.agents.rewoo.plan import fill
from agentkit.core import bus
from agentkit.core.tools import Origin, effects, to_text
from agentkit.errors import AgentkitError, ResponseParsingError, Stopped
from agentkit.events import Noted, PlanMade, ReplyEnd, Thinking
from agentkit.llm.calls.client import call
from agentkit.llm.calls.ends import cut_by
from agentkit.llm.model import Model, Reply
from agentkit.llm.offline import question as questions
from agentkit.llm.tokens.counting import count_text
from agentkit.messages import Message, message, new_id, text_of
from agentkit.reasons import ANSWERED, STOPPED, EndReason
from agentkit.teams.answer import answer_from, complete_question
from agentkit.teams.approval import (
    NOT_REPEATED,
    Agreement,
    Approval,
    Decision,
    describe_rejection,
    name_agreement,
)
from agentkit.teams.findings import FIND, SEARCH, Findings
from agentkit.teams.memory.long_memory import tell_turns
from agentkit.teams.planning.calculator import calculate
from agentkit.teams.planning.prompts import CALCULATE, PROMPTS, Prompts
from agentkit.teams.planning.review import ONE_PLAN, OPTIONS, Review, find_excess
from agentkit.teams.planning_settings import READ, READER, Planning
from agentkit.teams.roster import PLANNER, SOLVER
from agentkit.teams.task import Answer, Computed, Note, Task

TRIES = 2
STEP_S = 120.0
ReadOut = Callable[[list[Message]], str]
"""Asks a model for what stands in results."""


@dataclass(frozen=True, slots=True)
class Setup:
    """Who plans and answers, with what, and how long."""

    prompts: Prompts
    planning: Planning
    actions: Sequence[Action]
    """What the steps of plans may use."""
    planner: str = PLANNER
    solver: str = SOLVER
    max_turn: int = TRIES
    """How often a plan that can run is asked for."""
    at_once: int = 10
    timeout_s: float = STEP_S
    retries: int = 0
    policies: Mapping[str, str] = field(default_factory=dict)
    """When the person is asked about a tool, by its name: never, first, or always."""
    permits: Mapping[str, str] = field(default_factory=dict)
    """Under which name a permission for a tool counts, by its name, where it is another one."""
    origins: Mapping[str, Origin] = field(default_factory=dict)
    """What people are told of a tool, by its name."""
    models: Mapping[str, tuple[Model, dict[str, Any]]] = field(default_factory=dict)
    """Models with their parameters by the name of who speaks; others speak with the task's."""


@dataclass(frozen=True, slots=True)
class Material:
    """What tools of plans look into, read with and are told as."""

    prompts: Prompts
    found: Findings | None = None
    exact: bool = False
    """Whether exact words can be found, too."""
    read_out: ReadOut | None = None


def make_material(task: Task, found: Findings, prompts: Prompts) -> Material:
    """Of the task; without a language model there is none to read results with."""
    read_out = None
    if task.model.is_language_model:
        read_out = make_asker(task.model)
    return Material(prompts, found, task.find is not None, read_out)


def build_tools(material: Material) -> list[BaseAction]:
    """The tools of the ready-made team for plans."""
    told = material.prompts
    return [*build_lookups(material), FunctionAction(calculate, CALCULATE, told.calculate)]


def build_lookups(material: Material) -> list[BaseAction]:
    """The tools that look up, and that read out what was found."""
    told, tools = material.prompts, list[BaseAction]()
    found = material.found
    if found:
        search = FunctionAction(found.search_documents, SEARCH, told.search)
        tools.append(search)
    if found and material.exact:
        find = FunctionAction(found.find_exact, FIND, told.find)
        tools.append(find)
    if material.read_out:
        reader = _make_reader(material.read_out, told)
        tools.append(FunctionAction(reader, READ, told.read))
    return tools


def make_asker(model: Model, params: Mapping[str, Any] | None = None) -> ReadOut:
    """Asks this model, in the name of the reader."""

    def read_out(messages: list[Message]) -> str:
        reply = call(model, messages, agent=READER, params=params)
        if reply.stopped:
            raise Stopped("stopped by the user")
        return reply.text

    return read_out


def _make_reader(read_out: ReadOut, told: Prompts) -> Callable[[str], str]:
    @effects("none")
    def read_result(
        question: Annotated[str, "What to read out, and the results to read it from."],
    ) -> str:
        asked = [message("system", told.reading), message("user", question)]
        return read_out(asked).strip()

    return read_result


def look_up(label: str, thought: str, query: str) -> Step:
    """A step that looks something up."""
    arguments = json.dumps({"query": query}, ensure_ascii=False)
    return Step(
        label, thought, SEARCH, arguments.replace("#", "\\u0023")
    )  # a question that says #E2 means no step


class PlanProtocol(ReWOOProtocol):
    """Where no plan can run, the question is looked up as it stands, and the person is told."""

    def __init__(self, setup: Setup, question: str) -> None:
        told = setup.prompts
        planner = told.plan_within(setup.planning)
        super().__init__(
            planner, told.worker, told.solver, told.reformat, replan_prompt=told.replan
        )
        self.notes: list[Note] = []
        self._question, self._setup, self._left = question, setup, setup.max_turn

    def parse_plan(
        self, message: str, tools: Collection[str] | None = None, known: Collection[str] = ()
    ) -> Plan:
        """The plan in the reply; the last wrong one gives way to a single look-up. Raises
        ResponseParsingError before, and where nothing can be looked up.
        """
        try:
            return self._read_within_limits(message, tools, known)
        except ResponseParsingError as error:
            self._left -= 1
            has_search = SEARCH in (tools or [SEARCH])
            if self._left or known or not has_search:
                raise
            told = "No plan could be made, so the question was looked up as it stands."
            note = Note(text=told, detail=error.message)
            self.notes.append(note)
            bus.emit(Noted(self._setup.planner, **note))
            step = look_up("#E1", "Look the question up as it stands", self._question)
            return Plan((step,))

    def _read_within_limits(
        self, message: str, tools: Collection[str] | None, known: Collection[str]
    ) -> Plan:
        plan = super().parse_plan(message, tools, known)
        limits = self._setup.planning
        if problems := find_excess(plan, limits.most_steps, limits.most_lookups):
            raise ResponseParsingError(Mistake.join_all(problems), message)
        return plan


def work(task: Task) -> Answer:
    """Plan, gather the evidence, answer from it, as the ready-made team does it."""
    found = Findings(task)
    prompts = PROMPTS[task.planning.speaks(task.question)]
    material = make_material(task, found, prompts)
    actions: list[Action] = [*build_tools(material), *task.tools]
    return carry_out(task, found, Setup(prompts, task.planning, actions))


def carry_out(task: Task, found: Findings, setup: Setup) -> Answer:
    """Plan, gather the evidence, answer from it. Without a language model: see `_quote`."""
    executor = ActionExecutor(list(setup.actions))
    if task.model.is_language_model:
        return _solve(task, found, executor, setup)
    return _quote(task, found, executor, setup)


def _quote(task: Task, found: Findings, executor: ActionExecutor, setup: Setup) -> Answer:
    """Look each part of the question up on its own, one after the other, and quote from all that
    was found.
    """
    planner = setup.planner
    plan, plan_id = _propose_lookups(task, executor, setup), new_id()
    steps = [step.to_json() for step in plan.steps]
    bus.emit(PlanMade(planner, plan_id, 1, steps))
    evidence = execute(
        plan,
        ActionCall(executor, planner),
        at_once=1,
        agent=planner,
        plan_id=plan_id,
    )
    failed = [each.error for each in evidence.values() if not each.ok]
    if failed and not found.hits:
        raise AgentkitError(f"Nothing could be looked up: {failed[0]}")
    return answer_from(task, found.hits, setup.solver)


def _propose_lookups(task: Task, executor: ActionExecutor, setup: Setup) -> Plan:
    """The plan without a language model, as the person wants it; there is no other one."""
    plan = plan_lookups(complete_question(task))
    if not setup.planning.seen_first:
        return plan
    wanted = _make_review(task, executor, setup).ask(plan)
    if isinstance(wanted, Refusal):
        raise AgentkitError(
            "Without a language model there is no other plan, so nothing was looked up. Ask again"
            " and change the plan, or choose a language model."
        )
    return wanted


def _make_review(task: Task, executor: ActionExecutor, setup: Setup) -> Review:
    """What puts plans to the person, with what is known of what they take."""
    told = [setup.prompts.solver, *(text_of(turn.get("content")) for turn in task.history)]
    asked = "\n".join([*told, task.question, task.question])
    tokens = {
        "look_up": task.look_up_tokens,
        "answer": count_text(asked, task.model.name)[0],
    }
    options = OPTIONS if task.model.is_language_model else ONE_PLAN
    return Review(setup.planner, executor.tool_names(), setup.planning, tokens, options)


def plan_lookups(question: str) -> Plan:
    """One look-up for each part of the question, at most four; a part that leans on the one before
    is looked up with it.
    """
    steps: list[Step] = []
    query = ""
    for number, part in enumerate(questions.parse(question), start=1):
        query = f"{query} {part.text}" if part.borrowed else part.text
        steps.append(look_up(f"#E{number}", part.text, query))
    return Plan(tuple(steps))


def _solve(task: Task, found: Findings, executor: ActionExecutor, setup: Setup) -> Answer:
    model, computed = _TaskModel(task, setup), Computed()
    protocol = PlanProtocol(setup, task.question)
    review = _make_review(task, executor, setup)
    planner = ReWOO(
        model,
        executor,
        protocol,
        setup.max_turn,
        name=setup.planner,
        at_once=setup.at_once,
        timeout_s=setup.timeout_s,
        retries=setup.retries,
        replans=setup.planning.replans,
        on_plan=review.ask if setup.planning.seen_first else None,
        approve=_Asking(task, setup).approve,
        names={"planner": setup.planner, "solver": setup.solver},
    )
    try:
        with bus.listening(computed, review):
            returned = planner.answer(
                [dict(turn) for turn in (*tell_turns(task), message("user", task.question))]
            )
    except Stopped:
        if not model.answer.strip():
            raise
        return _conclude(task, model.answer, found, STOPPED, protocol.notes, model, computed)
    return _conclude(task, returned.response, found, ANSWERED, protocol.notes, model, computed)


class _Asking:
    """Asks the person about calls of steps, as often as the tools' policies say."""

    def __init__(self, task: Task, setup: Setup) -> None:
        self._setup, self._agreed = setup, task.agreed
        self._approval = Approval(setup.planner, task.allowed, setup.planner)

    def approve(self, tool: str, arguments: Arguments) -> Arguments | Refusal:
        """The arguments with which a call is made, or why it is not."""
        agreement = self._find_agreement(tool)
        made = arguments
        if not agreement.is_given:
            decision = self._ask(tool, arguments)
            if not decision.approved:
                return Refusal(describe_rejection("this call", decision))
            if decision.changed:
                made = fill(decision.draft, {})
            agreement.remember()
        origin = self._setup.origins.get(tool)
        if self._approval.may_repeat(None, tool, to_text(made), origin):
            return made
        return Refusal(NOT_REPEATED)

    def _ask(self, tool: str, arguments: Arguments) -> Decision:
        shown = arguments if isinstance(arguments, str) else to_text(arguments)
        permit, origin = self._find_permit(tool), self._setup.origins.get(tool)
        return self._approval.of_call(None, tool, shown, permit, origin)

    def _find_permit(self, tool: str) -> str:
        return self._setup.permits.get(tool, tool)

    def _find_agreement(self, tool: str) -> Agreement:
        policy = self._setup.policies.get(tool, "always")
        remembered = name_agreement(self._setup.planner, self._find_permit(tool))
        return Agreement(policy, remembered, self._agreed)


def _conclude(
    task: Task,
    text: str,
    found: Findings,
    end: EndReason,
    notes: Sequence[Note],
    model: _TaskModel,
    computed: Computed,
) -> Answer:
    evidence = task.evidence(text, found.hits, computed.results)
    return task.conclude(
        model.solver,
        text,
        evidence,
        end,
        status="stopped" if end == STOPPED else "complete",
        notes=notes,
        cut=model.cut,
        thinking=model.thinking,
    )


class _TaskModel:
    """The task's model, asked in the names of planner and solver, in the form that ReWOO knows an
    OpenAIWrapper by.
    """

    def __init__(self, task: Task, setup: Setup) -> None:
        self.answer = ""
        """What the solver wrote, or had written when it was stopped."""
        self.cut: ReplyEnd | None = None
        """What cut it."""
        self.thinking: Thinking | None = None
        """What the model thought before it."""
        self.solver = setup.solver
        self._chosen = (task.model, dict[str, Any]())
        self._speaks = setup.models

    def create(self, *, messages: list[Message], agent: str) -> Reply:
        """The reply; raises what the model raises, and Stopped."""
        model, params = self._speaks.get(agent, self._chosen)
        reply = call(model, messages, agent=agent, params=params)
        self.answer, self.cut, self.thinking = "", None, None
        if agent == self.solver:
            self.answer = reply.text
            self.cut = cut_by(reply.end)
            self.thinking = reply.thinking
        if reply.stopped:
            raise Stopped("stopped by the user")
        return reply

    def extract_text_or_completion_object(self, reply: Reply) -> list[str]:
        """Its text."""
        return [reply.text]
