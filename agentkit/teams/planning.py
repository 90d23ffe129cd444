"""The team that plans first (ReWOO): a plan of look-ups and computations, run as a graph, then one
answer from its evidence.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from typing import Annotated

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
from agentkit.agents.rewoo.graph import Approve
from agentkit.agents.rewoo.inputs import Arguments
from agentkit.agents.rewoo.mistakes import Mistake
from agentkit.agents.rewoo.plan import fill
from agentkit.core import bus
from agentkit.core.tools import effects, to_text
from agentkit.errors import AgentkitError, ResponseParsingError, Stopped
from agentkit.events import Noted, PlanMade, ReplyEnd, Thinking
from agentkit.llm.calls.client import call
from agentkit.llm.calls.ends import cut_by
from agentkit.llm.model import Reply
from agentkit.llm.offline import question as questions
from agentkit.llm.tokens.counting import count_text
from agentkit.messages import Message, message, new_id, text_of
from agentkit.reasons import ANSWERED, STOPPED, EndReason
from agentkit.teams.answer import answer_from, complete_question
from agentkit.teams.approval import NOT_REPEATED, Approval, describe_rejection
from agentkit.teams.findings import FIND, SEARCH, Findings
from agentkit.teams.memory.long_memory import tell_turns
from agentkit.teams.planning_calculator import calculate
from agentkit.teams.planning_prompts import CALCULATE, PROMPTS, Prompts
from agentkit.teams.planning_review import ONE_PLAN, OPTIONS, Review, find_excess
from agentkit.teams.planning_settings import READ, READER
from agentkit.teams.task import Answer, Computed, Note, Task, Team


def build_tools(task: Task, found: Findings) -> list[BaseAction]:
    """The tools for plans of this task; without a language model there is none to read results
    with.
    """
    told = _find_prompts(task)
    tools: list[BaseAction] = [FunctionAction(found.search_documents, SEARCH, told.search)]
    if task.find is not None:
        tools.append(FunctionAction(found.find_exact, FIND, told.find))
    if task.model.is_language_model:
        tools.append(FunctionAction(_make_reader(task), READ, told.read))
    return [*tools, FunctionAction(calculate, CALCULATE, told.calculate)]


def _find_prompts(task: Task) -> Prompts:
    """In the language of the question, or the one that was chosen."""
    return PROMPTS[task.planning.speaks(task.question)]


def _make_reader(task: Task) -> Callable[[str], str]:
    reading = _find_prompts(task).reading

    @effects("none")
    def read_result(
        question: Annotated[str, "What to read out, and the results to read it from."],
    ) -> str:
        reply = call(
            task.model, [message("system", reading), message("user", question)], agent=READER
        )
        if reply.stopped:
            raise Stopped("stopped by the user")
        return reply.text.strip()

    return read_result


PLANNER, SOLVER = "Planner", "Solver"
TRIES = 2
STEP_S = 120.0


def work(task: Task) -> Answer:
    """Plan, gather the evidence, answer from it. Without a language model: see `_quoted`."""
    found = Findings(task)
    executor = ActionExecutor([*build_tools(task, found), *task.tools])
    return (
        _solve(task, found, executor)
        if task.model.is_language_model
        else _quote(task, found, executor)
    )


def _quote(task: Task, found: Findings, executor: ActionExecutor) -> Answer:
    """Look each part of the question up on its own, one after the other, and quote from all that
    was found.
    """
    plan, plan_id = _propose_lookups(task, executor), new_id()
    bus.emit(PlanMade(PLANNER, plan_id, 1, [step.to_json() for step in plan.steps]))
    evidence = execute(
        plan, ActionCall(executor, PLANNER), at_once=1, agent=PLANNER, plan_id=plan_id
    )
    failed = [each.error for each in evidence.values() if not each.ok]
    if failed and not found.hits:
        raise AgentkitError(f"Nothing could be looked up: {failed[0]}")
    return answer_from(task, found.hits, SOLVER)


def _propose_lookups(task: Task, executor: ActionExecutor) -> Plan:
    """The plan without a language model, as the person wants it; there is no other one."""
    plan = plan_lookups(complete_question(task))
    if not task.planning.seen_first:
        return plan
    wanted = _make_review(task, executor).ask(plan)
    if isinstance(wanted, Refusal):
        raise AgentkitError(
            "Without a language model there is no other plan, so nothing was looked up. Ask again"
            " and change the plan, or choose a language model."
        )
    return wanted


def _make_review(task: Task, executor: ActionExecutor) -> Review:
    """What puts plans to the person, with what is known of what they take."""
    told = [_find_prompts(task).solver, *(text_of(turn.get("content")) for turn in task.history)]
    asked = "\n".join([*told, task.question, task.question])
    tokens = {
        "look_up": task.look_up_tokens,
        "answer": count_text(asked, task.model.name)[0],
    }
    options = OPTIONS if task.model.is_language_model else ONE_PLAN
    return Review(PLANNER, executor.tool_names(), task.planning, tokens, options)


def plan_lookups(question: str) -> Plan:
    """One look-up for each part of the question, at most four; a part that leans on the one before
    is looked up with it.
    """
    steps: list[Step] = []
    query = ""
    for number, part in enumerate(questions.parse(question), start=1):
        query = f"{query} {part.text}" if part.borrowed else part.text
        steps.append(_look_up(f"#E{number}", part.text, query))
    return Plan(tuple(steps))


def _look_up(label: str, thought: str, query: str) -> Step:
    arguments = json.dumps({"query": query}, ensure_ascii=False)
    return Step(
        label, thought, SEARCH, arguments.replace("#", "\\u0023")
    )  # a question that says #E2 means no step


def _solve(task: Task, found: Findings, executor: ActionExecutor) -> Answer:
    model, protocol, computed = _TaskModel(task), _Protocol(task), Computed()
    review = _make_review(task, executor)
    planner = ReWOO(
        model,
        executor,
        protocol,
        TRIES,
        name=PLANNER,
        timeout_s=STEP_S,
        replans=task.planning.replans,
        on_plan=review.ask if task.planning.seen_first else None,
        approve=_ask_before(task),
        names={"planner": PLANNER, "solver": SOLVER},
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


def _ask_before(task: Task) -> Approve:
    """Ask the person about a step's call before it is made."""
    approval = Approval(PLANNER, task.allowed)

    def approve(tool: str, arguments: Arguments) -> Arguments | Refusal:
        shown = arguments if isinstance(arguments, str) else to_text(arguments)
        decision = approval.of_call(None, tool, shown)
        if not decision.approved:
            return Refusal(describe_rejection("this call", decision))
        made = fill(decision.draft, {}) if decision.changed else arguments
        if not approval.may_repeat(None, tool, to_text(made)):
            return Refusal(NOT_REPEATED)
        return made

    return approve


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
        SOLVER,
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

    def __init__(self, task: Task) -> None:
        self.answer = ""
        """What the solver wrote, or had written when it was stopped."""
        self.cut: ReplyEnd | None = None
        """What cut it."""
        self.thinking: Thinking | None = None
        """What the model thought before it."""
        self._model = task.model

    def create(self, *, messages: list[Message], agent: str) -> Reply:
        """The reply; raises what the model raises, and Stopped."""
        solves = agent == SOLVER
        reply = call(self._model, messages, agent=agent)
        self.answer, self.cut = (reply.text, cut_by(reply.end)) if solves else ("", None)
        self.thinking = reply.thinking if solves else None
        if reply.stopped:
            raise Stopped("stopped by the user")
        return reply

    def extract_text_or_completion_object(self, reply: Reply) -> list[str]:
        """Its text."""
        return [reply.text]


class _Protocol(ReWOOProtocol):
    """Where no plan can run, the question is looked up as it stands, and the person is told."""

    def __init__(self, task: Task) -> None:
        told = _find_prompts(task)
        planner = told.plan_within(task.planning)
        super().__init__(
            planner, told.worker, told.solver, told.reformat, replan_prompt=told.replan
        )
        self.notes: list[Note] = []
        self._question, self._limits, self._left = task.question, task.planning, TRIES

    def parse_plan(
        self, message: str, tools: Collection[str] | None = None, known: Collection[str] = ()
    ) -> Plan:
        """The plan in the reply; the last wrong one gives way to a single look-up. Raises
        ResponseParsingError before.
        """
        try:
            return self._read_within_limits(message, tools, known)
        except ResponseParsingError as error:
            self._left -= 1
            if self._left or known:
                raise
            told = "No plan could be made, so the question was looked up as it stands."
            self.notes.append(Note(text=told, detail=error.message))
            bus.emit(Noted(PLANNER, **self.notes[-1]))
            return Plan((_look_up("#E1", "Look the question up as it stands", self._question),))

    def _read_within_limits(
        self, message: str, tools: Collection[str] | None, known: Collection[str]
    ) -> Plan:
        plan = super().parse_plan(message, tools, known)
        limits = self._limits
        if problems := find_excess(plan, limits.most_steps, limits.most_lookups):
            raise ResponseParsingError(Mistake.join_all(problems), message)
        return plan


TEAM = Team(
    "plan",
    "Plan first",
    "Plans what to look up and compute, does it step by step or at once, and answers from all"
    " of it.",
    (PLANNER, SOLVER),
    work,
    calls_tools=True,
    goes_on=True,
    plans=True,
)
