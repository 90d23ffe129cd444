"""The functions of AutoGen's first way to run code; agents without an executor still use them."""

from __future__ import annotations

import os
import re
import venv
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from agentkit.coding.base import CodeExecutor
from agentkit.coding.code_blocks import UNKNOWN, content_str, find_fenced_blocks, infer_lang
from agentkit.coding.command_line import (
    CommandLineExecutor,
    file_name_for,
    inside,
    make_folder,
    program,
    write_file,
)
from agentkit.coding.docker import DockerCommandLineCodeExecutor
from agentkit.coding.isolation import isolated_executor
from agentkit.coding.local import NO_ISOLATION, LocalCommandLineCodeExecutor
from agentkit.coding.probe import bubblewrap_works, docker_works, how_to_isolate, without_docker
from agentkit.coding.process import TIMEOUT_EXIT_CODE, TIMEOUT_MSG, run_command
from agentkit.core.bus import emit
from agentkit.core.given import coalesce, to_list
from agentkit.errors import NoIsolation, WrongArgument
from agentkit.events import Noted

__all__ = [
    "CODE_BLOCK_PATTERN",
    "DEFAULT_TIMEOUT",
    "PYTHON_VARIANTS",
    "TIMEOUT_MSG",
    "UNKNOWN",
    "WORKING_DIR",
    "check_can_use_docker_or_throw",
    "content_str",
    "create_virtual_env",
    "decide_use_docker",
    "execute_code",
    "extract_code",
    "infer_lang",
    "is_docker_running",
]

# The models that AutoGen means where none is named; nothing here asks them.
DEFAULT_MODEL = "gpt-4"
FAST_MODEL = "gpt-3.5-turbo"
DEFAULT_TIMEOUT = 600
"""Seconds."""
WORKING_DIR = "coding"
PYTHON_VARIANTS = ["python", "Python", "py"]
CODE_BLOCK_PATTERN = r"`{3}[ \t]*(\w*)[ \t]*\r?\n(.*?)\r?\n[ \t]*`{3}"
OPENING = re.compile(r"`{3}[ \t]*+(\w*+)[ \t]*+\r?\n")
CLOSING = re.compile(r"\n(?=[ \t]*+`{3})")
IN_LINE = re.compile(r"`{1,3}([^`]++)`{1,3}")
USE_DOCKER = {
    **dict.fromkeys(("1", "true", "yes", "t"), True),
    **dict.fromkeys(("0", "false", "no", "f"), False),
    "none": None,
}

RUNNABLE = set(CommandLineExecutor.SUPPORTED_LANGUAGES) - {"html", "css"}

UseDocker = Sequence[str] | str | bool | None


def extract_code(
    text: str | Sequence[Mapping[str, object]] | None,
    pattern: str = CODE_BLOCK_PATTERN,
    detect_single_line_code: bool = False,
) -> list[tuple[str, str]]:
    """(language, code) of every fenced block; the language is empty when the fence names none.

    Without a block: the whole text with the language `unknown`. Another `pattern` gives what
    `re.findall` gives for it. `detect_single_line_code` also takes code within a line, and is empty
    without code.
    """
    text = content_str(text)
    if detect_single_line_code:
        return [(language, code.strip()) for language, code in _blocks_and_lines(text)]
    if pattern == CODE_BLOCK_PATTERN:
        found = find_fenced_blocks(text)
    else:
        found = re.findall(pattern, text, flags=re.DOTALL)
    return found or [(UNKNOWN, text)]


def _blocks_and_lines(text: str) -> Iterator[tuple[str, str]]:
    """Fenced blocks and what stands between backticks, in order; where a block closes is looked up,
    not searched for anew.
    """
    closings = list(map(re.Match.start, CLOSING.finditer(text)))
    at = text.find("`")
    while at >= 0:
        opening = OPENING.match(text, at)
        closing = bisect_left(closings, opening.end()) if opening else len(closings)
        if opening and closing < len(closings):
            end = closings[closing]
            yield opening[1], text[opening.end() : end].removesuffix("\r")
            at = text.index("```", end) + 3
        elif in_line := IN_LINE.match(text, at):
            yield "", in_line[1]
            at = in_line.end()
        else:
            at += 1
        at = text.find("`", at)


def is_docker_running() -> bool:
    """Whether the Docker engine answers."""
    return docker_works()


def decide_use_docker(use_docker: UseDocker) -> UseDocker:
    """The argument, or for None what the environment variable AUTOGEN_USE_DOCKER says;
    WrongArgument when it is nonsense.
    """
    if use_docker in ("", []):
        raise WrongArgument(
            f"{use_docker=} names no image; give one, or False to run without isolation."
        )
    if use_docker is not None:
        return use_docker
    said = os.environ.get("AUTOGEN_USE_DOCKER", "none")
    if said.lower() not in USE_DOCKER:
        raise WrongArgument(
            f"Invalid value for AUTOGEN_USE_DOCKER: {said!r}. Set it to 1/True/yes, 0/False/no, or"
            " None."
        )
    return USE_DOCKER[said.lower()]


def check_can_use_docker_or_throw(use_docker: UseDocker) -> None:
    """Raise NoIsolation when code shall run isolated and this machine offers neither Docker nor
    bubblewrap.

    An image needs Docker.
    """
    if use_docker is False or docker_works():
        return
    if not isinstance(use_docker, bool | None):
        raise NoIsolation(
            f"use_docker={use_docker!r} names an image, which needs Docker, and none answers."
            f" {without_docker()}"
        )
    if not bubblewrap_works():
        raise NoIsolation(
            f"use_docker={use_docker!r}, but nothing here isolates code. {how_to_isolate()}"
        )


def execute_code(
    code: str | None = None,
    timeout: float | None = None,
    filename: str | None = None,
    work_dir: str | Path | None = None,
    use_docker: UseDocker = None,
    lang: str = "python",
) -> tuple[int, str, str | None]:
    """Run code, or a file that is there: exit code, all output (stdout and stderr), the Docker
    image if one was used.

    Without a file name the code's file is removed again. `timeout` is seconds (600 when None or 0);
    running over it gives exit code 1 and `Timeout`. `use_docker`: False runs on this machine, an
    image's name in Docker,
        None and True in any
    isolation there is. Raises WrongArgument without code and file, NoIsolation when there is none,
    NotImplementedError for a language that we cannot run.
    """
    if code is None and filename is None:
        raise WrongArgument(f"{code=} and {filename=}: Either code or filename must be provided.")
    language = _parse_language(lang)
    use_docker = decide_use_docker(use_docker)
    folder = make_folder(work_dir or WORKING_DIR).resolve()
    try:
        file = _place_code(folder, filename, code, language)
        if use_docker is False:
            _check_harmless(file, language)
    except WrongArgument as error:
        return 1, str(error), None
    seconds = timeout or DEFAULT_TIMEOUT
    try:
        exit_code, logs, image = _run(language, file, folder, seconds, use_docker)
    finally:
        if filename is None:
            file.unlink(missing_ok=True)
    ran_out_of_time = exit_code == TIMEOUT_EXIT_CODE and logs.endswith(TIMEOUT_MSG)
    if ran_out_of_time:
        return 1, logs.lstrip("\n"), image
    return exit_code, logs, image


def _place_code(folder: Path, filename: str | None, code: str | None, language: str) -> Path:
    """The file to run, with the code in it unless it is there already."""
    text = coalesce(code, "")
    name = filename or file_name_for(text, language)
    if code is None:
        return inside(folder, name)
    return write_file(folder, name, text)


def _check_harmless(file: Path, language: str) -> None:
    """Raise WrongArgument for what must not run on this machine."""
    if file.is_file():
        text = file.read_text(errors="replace")
        LocalCommandLineCodeExecutor.sanitize_command(language, text)


def _parse_language(lang: str) -> str:
    language = lang.lower()
    if language.startswith("py"):
        language = "python"
    if language not in RUNNABLE:
        raise NotImplementedError(
            f"{lang} not recognized in code execution; use python, sh, bash, pwsh or javascript."
        )
    return language


def _run(
    language: str, file: Path, folder: Path, timeout: float, use_docker: UseDocker
) -> tuple[int, str, str | None]:
    if use_docker is False:
        emit(Noted("execute_code", NO_ISOLATION))
        command = [*program(language), str(file.relative_to(folder))]
        exit_code, logs = run_command(
            command, folder, timeout, environment={**os.environ, "PYTHONUNBUFFERED": "1"}
        )
        return exit_code, logs.replace(f"{folder}{os.sep}", ""), None
    executor, image = _make_isolated(folder, timeout, use_docker)
    closing: AbstractContextManager[Any] = (
        executor if isinstance(executor, AbstractContextManager) else nullcontext()
    )
    with closing:
        return *cast("CommandLineExecutor", executor).run_file(language, file), image


def _make_isolated(
    folder: Path, timeout: float, use_docker: UseDocker
) -> tuple[CodeExecutor, str | None]:
    if isinstance(use_docker, bool | None):
        executor = isolated_executor(timeout=timeout, work_dir=folder)
        return executor, getattr(executor, "image", None)
    image, *_ = to_list(use_docker, str)
    return DockerCommandLineCodeExecutor(image=image, timeout=timeout, work_dir=folder), image


def create_virtual_env(dir_path: str | Path, **env_args: Any) -> SimpleNamespace:
    """Make a virtual environment, with pip unless said otherwise; its context is for
    `LocalCommandLineCodeExecutor`.
    """
    builder = venv.EnvBuilder(**{"with_pip": True, **env_args})
    builder.create(dir_path)
    return builder.ensure_directories(dir_path)
