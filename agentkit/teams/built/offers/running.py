"""Python that runs in the kernel of a chat as a tool: code of a model, and functions of a team."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from agentkit import coding
from agentkit.core.tools import Effects, make_tool, read_function
from agentkit.errors import ExecutionError
from agentkit.teams.answer import shorten_result
from agentkit.teams.built.agents import WrittenFunction
from agentkit.teams.built.tools import CODE_IN
from agentkit.teams.cells import ChatCells

_SECONDS = 60
LONGEST = 30_000
"""Characters of a result that a model is told."""
_EFFECTS: Mapping[Literal["harmless", "dangerous"], Effects] = {
    "harmless": "none",
    "dangerous": "some",
}


def make_runner(cells: ChatCells, agent: str) -> Callable[..., Any]:
    """`run_python` in the chat's kernel."""

    def run_python(
        code: Annotated[str, "A whole program; print what you need."],
    ) -> str:
        """Run Python in the kernel of this chat, in isolation and without network: variables and
        files live on. What it prints and the value of its last line come back.
        """
        return shorten_result(cells.run(agent, code).output, LONGEST) or "(it printed nothing)"

    vars(run_python)[CODE_IN] = "code"
    return run_python


def run_isolated(code: Annotated[str, "A whole program; print what you need."]) -> str:
    """Run Python in isolation and without network; what it prints comes back."""
    executor = coding.isolated_executor(timeout=_SECONDS)
    try:
        result = executor.execute_code_blocks([coding.CodeBlock(code, "python")])
    finally:
        if hasattr(executor, "stop"):
            executor.stop()
    return shorten_result(result.output, LONGEST) or "(it printed nothing)"


def make_written(function: WrittenFunction, cells: ChatCells, agent: str) -> Callable[..., Any]:
    """A function that stands in the team; raises WrongArgument for code other than one function."""
    told = read_function(function.code, function.name)

    def call(given: dict[str, Any]) -> str:
        ran = cells.run(agent, write_call(function, given))
        output = shorten_result(ran.output, LONGEST)
        if ran.exit_code:
            raise ExecutionError(f"{function.name} did not end well. {output.strip()}")
        return output.strip()

    return make_tool(
        told.name,
        told.description,
        told.parameters,
        call,
        effects=_EFFECTS[function.marked],
        allowed_as=name_permit(function),
    )


def write_call(function: WrittenFunction, given: Mapping[str, Any]) -> str:
    """The cell that calls it: its code, and a line that prints what it gives."""
    arguments = ", ".join(f"{name}={value!r}" for name, value in given.items())
    return f"{function.code.rstrip()}\n\nprint({function.name}({arguments}))"


def name_permit(function: WrittenFunction) -> str:
    """Under which name a permission counts: for this code alone, whatever team it stands in."""
    digest = hashlib.sha256(function.code.encode()).hexdigest()[:12]
    return f"{function.name} ({digest})"
