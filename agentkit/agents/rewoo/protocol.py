"""How ReWOO speaks with its model: the prompts filled in, and the planner's reply read."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from agentkit.agents.rewoo.executor import ActionExecutor
from agentkit.agents.rewoo.mistakes import Mistake, choose_language
from agentkit.agents.rewoo.plan import Plan, Step
from agentkit.agents.rewoo.prompts import (
    PLANNER_PROMPT_EN,
    REFORMAT_PROMPT_EN,
    REPLAN_PROMPT_EN,
    SOLVER_PROMPT_EN,
    WORKER_PROMPT_EN,
)
from agentkit.agents.rewoo.reading import parse_plan
from agentkit.agents.rewoo.schema import ActionReturn
from agentkit.errors import ResponseParsingError, WrongArgument, explain

ChatMessage = dict[str, Any]
_PLACEHOLDERS = {
    "planner_prompt": ("tool_description",),
    "worker_prompt": ("thought", "action_resp"),
    "solver_prompt": ("question", "worker_log"),
    "reformat_prompt": ("err_msg",),
    "replan_prompt": ("worker_log",),
}


class ReWOOProtocol:
    """The prompts of planner, workers and solver, templates of `str.format` with lagent's
    placeholders.
    """

    def __init__(
        self,
        planner_prompt: str = PLANNER_PROMPT_EN,
        worker_prompt: str = WORKER_PROMPT_EN,
        solver_prompt: str = SOLVER_PROMPT_EN,
        reformat_prompt: str = REFORMAT_PROMPT_EN,
        *,
        replan_prompt: str = REPLAN_PROMPT_EN,
    ) -> None:
        """Placeholders: `tool_description`; `thought`, `action_resp`; `question`, `worker_log`;
        `err_msg`; `worker_log`.

        Raises WrongArgument for a template that cannot be filled.
        """
        self.planner_prompt = planner_prompt
        self.worker_prompt = worker_prompt
        self.solver_prompt = solver_prompt
        self.reformat_prompt = reformat_prompt
        self.replan_prompt = replan_prompt
        for name, placeholders in _PLACEHOLDERS.items():
            _check_template(name, getattr(self, name), placeholders)

    def format_planner(
        self,
        chat_history: Sequence[ChatMessage],
        inner_step: Sequence[ChatMessage],
        action_executor: ActionExecutor,
        reformat_request: str | None = "",
    ) -> list[ChatMessage]:
        """The messages for the planner: its task with the tools, earlier chats, this one, and what
        was wrong with its plan.
        """
        system = self.planner_prompt.format(tool_description=action_executor.get_actions_info())
        asked: list[ChatMessage] = [
            {"role": "system", "content": system},
            *chat_history,
            *inner_step,
        ]
        if reformat_request:
            wrong = choose_language(self.reformat_prompt, reformat_request)
            asked.append({"role": "system", "content": self.reformat_prompt.format(err_msg=wrong)})
        return asked

    def parse_worker(self, message: str) -> tuple[list[str], list[str], list[str]]:
        """Thoughts, actions and their inputs in a planner's reply, in the order in which they stand
        there.

        Raises ResponseParsingError that tells all that is wrong.
        """
        thoughts: list[str] = []
        tools: list[str] = []
        inputs: list[str] = []
        for step in parse_plan(message).steps:
            thoughts.append(step.thought)
            tools.append(step.tool)
            inputs.append(step.arguments)
        return thoughts, tools, inputs

    def parse_plan(
        self, message: str, tools: Collection[str] | None = None, known: Collection[str] = ()
    ) -> Plan:
        """The reply as a plan, see `reading.parse_plan`; to be overridden for planners that write
        in another form.

        Where a subclass has a `parse_worker` of its own, as in lagent, that is what reads the
            reply: its first action is #E1, and
        so on, and whatever it raises is told to the planner.
        """
        if type(self).parse_worker is ReWOOProtocol.parse_worker:
            return parse_plan(message, tools, known)
        try:
            parts = zip(*self.parse_worker(message), strict=True)
            steps = [
                Step(f"#E{number}", str(thought), str(tool), str(arguments))
                for number, (thought, tool, arguments) in enumerate(parts, start=1)
            ]
        except Exception as error:
            raise ResponseParsingError(explain(error), message) from error
        plan = Plan(tuple(steps))
        if problems := plan.problems(tools, known):
            raise ResponseParsingError(Mistake.join_all(problems), message)
        return plan

    def format_solver(
        self, question: str, thought_list: Sequence[str], action_return_list: Sequence[ActionReturn]
    ) -> tuple[str, str]:
        """The prompt for the solver, and the log of the workers in it; failed actions stand there
        as `[failed: why]`.
        """
        log = "".join(
            self.worker_prompt.format(thought=thought, action_resp=_to_evidence(given))
            for thought, given in zip(thought_list, action_return_list, strict=False)
        )
        return self.solver_prompt.format(question=question, worker_log=log), log

    def format_replan(self, worker_log: str) -> list[ChatMessage]:
        """What the planner is told after steps failed: what is known by now."""
        return [{"role": "user", "content": self.replan_prompt.format(worker_log=worker_log)}]


def _to_evidence(given: ActionReturn) -> str:
    if given.succeeded:
        return given.format_result()
    return f"[failed: {given.problem}]"


def _check_template(name: str, template: str, placeholders: Sequence[str]) -> None:
    values: Mapping[str, str] = dict.fromkeys(placeholders, "")
    try:
        str.format(template, **values)
    except (KeyError, IndexError, ValueError, TypeError, AttributeError) as error:
        known = ", ".join(f"{{{each}}}" for each in placeholders)
        raise WrongArgument(
            f"{name} cannot be filled in ({type(error).__name__}: {error}); its placeholders are"
            f" {known}, and other braces are doubled: {{{{ }}}}."
        ) from error
