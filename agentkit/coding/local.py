"""Runs code on this machine with the rights of this program, after a look for commands that
destroy.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from types import SimpleNamespace

from agentkit.coding.base import CodeBlock
from agentkit.coding.command_line import SHELLS, CommandLineExecutor
from agentkit.coding.functions import Function
from agentkit.coding.process import run_command
from agentkit.core.bus import emit
from agentkit.errors import WrongArgument
from agentkit.events import Noted

NO_ISOLATION = (
    "code runs on this machine without isolation: it can read, change and send all that you can."
    " For code that a model wrote, prefer SandboxCommandLineCodeExecutor or"
    " DockerCommandLineCodeExecutor."
)
COMMAND = re.compile(r"[^\n;&|]++")
DANGEROUS = [
    (re.compile(program), [re.compile(argument) for argument in arguments], reason)
    for program, arguments, reason in (
        (
            r"(?<![\w-])rm",
            [r"\s-(?:\w*[rR]|-recursive)", r"\s-(?:\w*f|-force)"],
            "Use of 'rm -rf' command is not allowed.",
        ),
        (r"(?<![\w-])mv\b", [r"\s/dev/null(?!\S)"], "Moving files to /dev/null is not allowed."),
        (r"(?<![\w.-])dd(?=\s)", [r"\b[io]f="], "Use of 'dd' command is not allowed."),
        (r"(?<![\w-])mkfs(?:\.\w+)?\s", [], "Use of 'mkfs' command is not allowed."),
    )
]
"""A program, the arguments that are dangerous together behind it in one command, and what is said
then.
"""
DANGEROUS_SIGNS = [
    (
        re.compile(r">\s*/dev/(?:[shv]d|xvd|nvme|mmcblk)\w*"),
        "Overwriting disk blocks directly is not allowed.",
    ),
    (re.compile(r"(:|\b\w+)\s*\(\)\s*\{\s*\1\s*\|\s*\1\s*&\s*\}"), "Fork bombs are not allowed."),
]
_LONGEST_SHOWN = 1_000


class LocalCommandLineCodeExecutor(CommandLineExecutor):
    """Runs shell and Python blocks as child processes of this program; nothing isolates them.

    A look for destructive shell commands precedes the run. It stops accidents, not an attacker.
    Output is stdout with stderr as they came, at most 1 MiB of a block. A timeout or a stop kills
    all that a block started.
    """

    def __init__(
        self,
        timeout: float = 60,
        virtual_env_context: SimpleNamespace | None = None,
        work_dir: Path | str = Path(),
        functions: Sequence[Function] = (),
        functions_module: str = "functions",
        execution_policies: Mapping[str, bool] | None = None,
    ) -> None:
        """`virtual_env_context` is what `create_virtual_env` gave: its Python and its programs come
        first.
        """
        super().__init__(timeout, work_dir, functions, functions_module, execution_policies)
        self._virtual_env_context = virtual_env_context and _make_absolute(virtual_env_context)
        warnings.warn(f"LocalCommandLineCodeExecutor: {NO_ISOLATION}", UserWarning, stacklevel=2)

    @staticmethod
    def sanitize_command(lang: str, code: str) -> None:
        """Raise WrongArgument for shell code with a command that destroys files or the machine."""
        if lang.lower() not in SHELLS:
            return
        for found, reason in _find_dangers(code):
            raise WrongArgument(
                f"Potentially dangerous command detected: {reason} It was"
                f" {found[:_LONGEST_SHOWN]!r}; do without it, or run it yourself."
            )

    def _begin(self, code_blocks: Sequence[CodeBlock]) -> None:
        super()._begin(code_blocks)
        for block in code_blocks:
            self.sanitize_command(block.language, block.code)
        emit(Noted(type(self).__name__, NO_ISOLATION))

    def _python(self) -> str:
        if self._virtual_env_context is None:
            return super()._python()
        return str(self._virtual_env_context.env_exe)

    def _run(self, command: list[str], work_dir: Path, timeout: float) -> tuple[int, str]:
        return run_command(command, work_dir, timeout, environment=self._environment())

    def _environment(self) -> dict[str, str]:
        """Ours, with the programs of the virtual environment first; Python writes at once, so that
        lines keep their order.
        """
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        context = self._virtual_env_context
        if context is not None:
            others = environment.get("PATH", os.defpath)
            environment["VIRTUAL_ENV"] = str(context.env_dir)
            environment["PATH"] = os.pathsep.join([str(context.bin_path), others])
        return environment


def _make_absolute(context: SimpleNamespace) -> SimpleNamespace:
    """A virtual environment by its whole paths: code runs in a folder of its own."""
    made = SimpleNamespace(**vars(context))
    for name in ("env_dir", "env_exe", "bin_path"):
        setattr(made, name, os.path.abspath(getattr(context, name)))
    return made


def _find_dangers(code: str) -> Iterator[tuple[str, str]]:
    """What destroys, and why it is refused; of a program the first call in a command has all
    arguments behind it.
    """
    commands = COMMAND.findall(code.replace("\\\n", " "))
    for (program, arguments, reason), command in product(DANGEROUS, commands):
        called = program.search(command)
        if called is None:
            continue
        start = called.end()
        if all(argument.search(command, start) for argument in arguments):
            yield command[called.start() :], reason
    for sign, reason in DANGEROUS_SIGNS:
        if found := sign.search(code):
            yield found[0], reason
