"""The assistant with tools and code: a runner does what it asks for, after the person has approved
it.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Literal

from agentkit import coding
from agentkit.agents import AssistantAgent
from agentkit.coding.announcing import announce_stops
from agentkit.coding.chat_kernel.kernel import is_available
from agentkit.conversation import ConversableAgent, register_function
from agentkit.core import bus, replay
from agentkit.core.tools import effects, to_text
from agentkit.errors import ExecutionError, NoIsolation, WrongArgument
from agentkit.events import CodeRan, Noted
from agentkit.messages import AnyMessage, has_calls, text_of
from agentkit.options import InputMode
from agentkit.teams import findings
from agentkit.teams.answer import shorten_result
from agentkit.teams.approval import (
    NOT_REPEATED,
    Allowed,
    Approval,
    asks_itself,
    describe_rejection,
    format_arguments,
)
from agentkit.teams.cells import ChatCells, explain_cells
from agentkit.teams.conversing import (
    converse,
    make_opening,
    recall_talk,
    remember,
)
from agentkit.teams.ending import is_ending
from agentkit.teams.findings import Findings
from agentkit.teams.memory import long_memory
from agentkit.teams.roster import ASSISTANT, RUNNER, WITH_TOOLS
from agentkit.teams.task import Answer, Note, Task

STEPS = 12
CODE_S = 60
LONGEST = 30_000
"""Characters of a result that the model is sent, however large its window: each step pays again.
The run's events have all of it.
"""
RUNNABLE = {"python": "Python", "py": "Python", "sh": "shell", "bash": "shell", "shell": "shell"}
"""Languages of code that is run; code in other blocks is only shown."""

PROGRAMS = """\
- To compute, to transform data or to check something, send one whole program in a block marked \
python (or sh), and print
  what you need; its output comes back to you. It runs in isolation, without network. Put code \
that is only meant to be read
  into a block marked text."""
"""What is told of code where no kernel keeps what it made."""
CODE = "{code}"
INSTRUCTIONS = f"""You are an assistant who solves tasks with tools and code. The user has a \
collection of documents.
- What may stand in the documents you look up with {findings.SEARCH}, once for each thing that is \
asked.
{CODE}
- The user sees code, and tools that may change something, before they run, and may change or
  reject them. Take a rejection as it is: do not ask for the same
  again, use the reason, or go on without.
{findings.CITE}
When you are done, give the answer in full, without code to run, and write TERMINATE on the last \
line.
Be brief and exact. Answer in the language of the question."""


@effects("none")
def todays_date() -> str:
    """The date of today with weekday and local time."""
    return datetime.now().astimezone().strftime("%A, %Y-%m-%d %H:%M %Z")


class Runner(ConversableAgent):
    """Executes tool calls and code blocks of others: harmless tools at once, all else once the
    person has approved it.

    Code runs in isolation only.
    """

    asks_by: type[Approval] = Approval

    def __init__(
        self,
        name: str,
        allowed: Allowed,
        cells: ChatCells | None = None,
        human_input_mode: InputMode = "NEVER",
        *,
        last_n_messages: int | Literal["auto"] = "auto",
        timeout_s: float = CODE_S,
    ) -> None:
        super().__init__(
            name,
            is_termination_msg=_is_final,
            human_input_mode=human_input_mode,
            code_execution_config={"last_n_messages": last_n_messages},
            llm_config=False,
            max_consecutive_auto_reply=STEPS,
        )
        self._timeout_s = timeout_s
        self.begin(allowed, cells)

    def begin(self, allowed: Allowed, cells: ChatCells | None) -> None:
        """Know nothing but this, for the next question."""
        self.reset()
        self.notes: list[Note] = []
        """What the person should know, such as why no code was run."""
        self._approval = self.asks_by(self.name, allowed)
        self._executor: Any = None
        self._cells = cells

    def execute_function(
        self, func_call: Mapping[str, object], verbose: bool = False
    ) -> tuple[bool, dict[str, Any]]:
        """Execute a call when the person agrees, with the arguments that they want; a rejection is
        the result.
        """
        name = str(func_call.get("name") or "")
        arguments = format_arguments(func_call.get("arguments"))
        if arguments is None or not self.can_execute_function(name):
            # an error for the model to read; nothing runs
            return super().execute_function(func_call, verbose)
        tool = self._function_map[name]
        if asks_itself(tool):
            return super().execute_function(func_call, verbose)
        decision = self._approval.of_call(tool, name, arguments)
        if not decision.approved:
            return _refuse(name, describe_rejection("this call", decision))
        made = dict(func_call)
        if decision.changed:
            made["arguments"] = decision.draft
        told = to_text(made.get("arguments"))
        if not self._approval.may_repeat(tool, name, told):
            return _refuse(name, NOT_REPEATED)
        ok, result = super().execute_function(made, verbose)
        content = shorten_result(str(result["content"]), LONGEST)
        if decision.changed:
            content = f"The user changed the arguments to {decision.draft}\n{content}"
        return ok, {**result, "content": content}

    def execute_code_blocks(self, code_blocks: list[tuple[str, str]]) -> tuple[int, str]:
        """Run the blocks that can be run, each as the person approves it, until one fails or is
        rejected.
        """
        exit_code, output = 0, ""
        for language, code in _runnable(code_blocks):
            exit_code, said = self._run_approved(language, code)
            output += said
            if exit_code != 0:
                break
        return exit_code, output

    def _run_approved(self, language: str, code: str) -> tuple[int, str]:
        if self._kernel_for(language) is None and not self._can_isolate():
            return (
                1,
                (
                    "No code can be run on this machine, because there is nothing to isolate it. Go"
                    " on without code.\n"
                ),
            )
        decision = self._approval.of_code(
            f"May this {RUNNABLE[language]} code run?", code, language
        )
        if not decision.approved:
            return 1, describe_rejection("this code", decision) + "\n"
        exit_code, output = self._run(language, decision.draft)
        changed = ""
        if decision.changed:
            changed = f"The user changed the code to:\n{decision.draft}\nIts output:\n"
        return exit_code, f"{changed}{shorten_result(output, LONGEST)}\n"

    def _kernel_for(self, language: str) -> ChatCells | None:
        """The chat's kernel, if code of this language runs in it."""
        if RUNNABLE[language] == "Python":
            return self._cells
        return None

    def _tell_again(self, known: CodeRan) -> tuple[int, str]:
        """What code gave in the run that this one goes on with; its kernel may be gone since."""
        bus.emit(known)
        if self._cells is not None and known.cell is not None:
            self._cells.ran.append(known)
        return known.exit_code, known.output

    def _run(self, language: str, code: str) -> tuple[int, str]:
        known = replay.find_recording().take_code(self.name, language, code)
        if known is not None:
            return self._tell_again(known)
        cells = self._kernel_for(language)
        if cells:
            ran = cells.run(self.name, code)
            return ran.exit_code, ran.output
        began, where = time.monotonic(), type(self._executor).__name__
        block = coding.CodeBlock(code, language)
        try:
            with announce_stops(self.name, language, code, where):
                result = self._executor.execute_code_blocks([block])
        except (
            ExecutionError,
            WrongArgument,
        ) as error:  # such as a file name outside of its folder: for the model to mend
            result = coding.CodeResult(1, str(error))
        done = CodeRan(
            self.name,
            language,
            code,
            result.exit_code,
            result.output,
            where,
            seconds=time.monotonic() - began,
        )
        bus.emit(done)
        return result.exit_code, result.output

    def _can_isolate(self) -> bool:
        """Whether there is a place to run code in, made on first use; if not, the person is told
        how to get one.
        """
        if self._executor is not None:
            return True
        if self.notes:
            return False
        try:
            self._executor = coding.isolated_executor(timeout=self._timeout_s)
        except NoIsolation as error:
            told = "Code was not run, because nothing on this machine can isolate it."
            note = Note(text=told, detail=str(error))
            self.notes.append(note)
            bus.emit(Noted(self.name, **note))
            return False
        return True

    def close(self) -> None:
        """Let go of the place where code ran."""
        if hasattr(self._executor, "stop"):
            self._executor.stop()


def _refuse(name: str, content: str) -> tuple[bool, dict[str, Any]]:
    """What a call gives that is not made, for the model to read."""
    result = {
        "name": name,
        "role": "function",
        "content": content,
    }
    return False, result


def work(task: Task) -> Answer:
    """Let the assistant and the runner work until there is an answer."""
    cells = find_cells(task)
    made_of, gather = (*task.made_of, *task.tools), partial(_gather, task)
    with task.session.crew(WITH_TOOLS, made_of, gather) as (assistant, runner, found):
        found.begin(task)
        runner.begin(task.allowed, cells)
        assistant.update_system_message(explain_code(INSTRUCTIONS, cells))
        remember(assistant, runner, recall_talk(task), ASSISTANT)
        try:
            return converse(
                task,
                lambda: runner.initiate_chat(
                    assistant, message=make_opening(task), clear_history=False, summary_method=None
                ),
                ASSISTANT,
                found,
                runner.notes,
            )
        finally:
            runner.close()


def _gather(task: Task) -> tuple[AssistantAgent, Runner, Findings]:
    """Two agents who know nothing yet, with all tools, and what they find."""
    found = Findings(task)
    assistant = AssistantAgent(ASSISTANT, INSTRUCTIONS, task.llm_config)
    runner = Runner(RUNNER, task.allowed, human_input_mode=task.human_input)
    found.offer(assistant, runner)
    long_memory.keep_short(assistant, task.model)
    for tool in (todays_date, *task.tools):
        register_function(
            tool, caller=assistant, executor=runner, description=str(inspect.getdoc(tool))
        )
    return assistant, runner, found


def find_cells(task: Task) -> ChatCells | None:
    """The chat's kernel, where it can run."""
    if task.cells and is_available():
        return task.cells
    return None


def explain_code(instructions: str, cells: ChatCells | None) -> str:
    """The instructions with what is to be known of where code runs in place of {code}."""
    if cells is None:
        return instructions.replace(CODE, PROGRAMS)
    told = instructions.replace(CODE, explain_cells())
    state = cells.describe()
    if not state:
        return told
    return f"{told}\n{state}"


def _is_final(message: AnyMessage) -> bool:
    """Whether a message leaves nothing to run: the assistant says that it is done, or asks for
    nothing.
    """
    if has_calls(message):
        return False
    text = text_of(message.get("content"))
    if is_ending(text):
        return True
    return not _runnable(_blocks(text))


def _blocks(text: str) -> list[tuple[str, str]]:
    """(language, code) of the fenced blocks; the language as the fence names it."""
    from agentkit.coding.legacy import extract_code

    return extract_code(text)


def _runnable(blocks: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Those whose language says that they are meant to run; what names no language may be anything,
    such as an output.
    """
    runnable: list[tuple[str, str]] = []
    for language, code in blocks:
        known = language.lower()
        if known in RUNNABLE:
            runnable.append((known, code))
    return runnable
