"""Running the code that stands in messages: by an executor, or by AutoGen's older settings."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from itertools import islice, takewhile
from typing import Any, Literal

from agentkit import coding
from agentkit.coding import legacy
from agentkit.coding.announcing import announce_stops
from agentkit.conversation.agent import ChatAgent
from agentkit.conversation.checks import redact
from agentkit.core import bus
from agentkit.core.given import coalesce, list_known
from agentkit.core.lenient import is_number
from agentkit.core.twin import Mode
from agentkit.errors import WrongArgument
from agentkit.events import CodeRan
from agentkit.messages import Stored, content_of, without_keys

CodeConfig = dict[str, Any] | Literal[False]
"""A `code_execution_config`: with an `executor`, or AutoGen's older settings; False for no code."""
_FILE_NAME = re.compile(r"# filename: (.*)")
_OF_EXECUTORS = ("use_docker", "work_dir", "timeout")
"""Settings that an executor has itself."""
_SHELLS, _PYTHONS = ("bash", "shell", "sh"), ("python", "Python", "py")


class Coder:
    """Where and how an agent runs code; `config` is False when it runs none.

    With an `executor` in the config that runs it. Else AutoGen's older settings count:
    `use_docker=False` runs code on this machine, an image's name in Docker; otherwise code runs
    isolated, in a sandbox or in Docker, whichever is there.
    """

    def __init__(self, owner: str, config: CodeConfig | None) -> None:
        """Raises WrongArgument for settings that cannot be, NoIsolation when `use_docker` is asked
        for and cannot be had.
        """
        self.owner = owner
        self.config: CodeConfig = False
        self.executor: coding.CodeExecutor | None = None
        if config is False:
            return
        if not isinstance(config, dict | None):
            raise WrongArgument(
                f"{owner}: code_execution_config must be a dict or False, not {redact(config)}."
            )
        self.config = dict(coalesce(config, {}))
        parse_last_n(owner, self.config)
        self._prepare(self.config)

    def _prepare(self, config: dict[str, Any]) -> None:
        if config.get("executor") is not None:
            clash = list_known(_OF_EXECUTORS, config)
            if clash:
                raise WrongArgument(
                    f"{self.owner}: {', '.join(clash)} in code_execution_config does not go with"
                    " executor, which has its own; leave one of them out."
                )
            self.executor = coding.CodeExecutorFactory.create(config)
            return
        wanted = legacy.decide_use_docker(config.get("use_docker"))
        if wanted is not None:
            legacy.check_can_use_docker_or_throw(wanted)
        # If nobody asked for it, it is looked for when code comes.
        config["use_docker"] = coalesce(wanted, True)

    @property
    def settings(self) -> dict[str, Any]:
        """The config as it is now; empty when no code is run."""
        return self.config or {}

    @property
    def use_docker(self) -> bool | str | None:
        """The setting; None when no code is run."""
        return self.settings.get("use_docker")

    def reply(
        self, agent: ChatAgent, messages: list[Stored], config: CodeConfig | None
    ) -> tuple[bool, str | None]:
        """Run the blocks of the newest message that has any, as far back as `last_n_messages`
        says.
        """
        settings = coalesce(config, self.config)
        if not isinstance(settings, dict):
            return False, None
        looked_through = _select_newest(messages, parse_last_n(self.owner, settings))
        for message in filter(_has_content, looked_through):
            result = self._run_message(agent, content_of(message))
            if result is not None:
                exit_code, output = result
                outcome = "execution succeeded"
                if exit_code:
                    outcome = "execution failed"
                return True, f"exitcode: {exit_code} ({outcome})\nCode output: {output}"
        return False, None

    def _run_message(self, agent: ChatAgent, content: Any) -> tuple[int, str] | None:
        if self.executor is not None:
            return self._run_by_executor(self.executor, content)
        blocks = legacy.extract_code(content)
        if [language for language, _ in blocks] == [legacy.UNKNOWN]:
            return None
        exit_code, logs = agent.execute_code_blocks(blocks)
        return exit_code, logs

    def _run_by_executor(
        self, executor: coding.CodeExecutor, content: Any
    ) -> tuple[int, str] | None:
        found = executor.code_extractor.extract_code_blocks(content)
        if not found:
            return None
        began, code = time.monotonic(), "\n\n".join(block.code for block in found)
        language, place = found[0].language, type(executor).__name__
        try:
            with announce_stops(self.owner, language, code, place):
                result = executor.execute_code_blocks(found)
        except WrongArgument as error:
            # an executor that refuses dangerous code: for the model to read, no end of the chat
            result = coding.CodeResult(1, str(error))
        self._announce(language, code, result.exit_code, result.output, place, began)
        return result.exit_code, result.output

    def run_blocks(self, agent: ChatAgent, blocks: Sequence[tuple[str, str]]) -> tuple[int, str]:
        """Run blocks of (language, code) by the older settings until one fails; the exit code and
        all output.
        """
        exit_code, logs = 0, ""
        for language, code in blocks:
            language = language or legacy.infer_lang(code)
            began = time.monotonic()
            place = _place(self.use_docker)
            with announce_stops(self.owner, language, code, place):
                exit_code, output = self._run_block(agent, language, code)
            self._announce(language, code, exit_code, output, place, began)
            logs += "\n" + output
            if exit_code != 0:
                break
        return exit_code, logs

    def _run_block(self, agent: ChatAgent, language: str, code: str) -> tuple[int, str]:
        options = without_keys(self.settings, ["last_n_messages"])
        if language in _PYTHONS:
            named = _FILE_NAME.match(code)
            options |= {"lang": "python", "filename": named and named[1].strip()}
        elif language in _SHELLS:
            options["lang"] = language
        else:
            return 1, f"unknown language {language}"
        exit_code, output, image = agent.run_code(code, **options)
        if image is not None:
            self.settings["use_docker"] = image
        return exit_code, output

    def _announce(
        self, language: str, code: str, exit_code: int, output: str, executor: str, began: float
    ) -> None:
        seconds = time.monotonic() - began
        bus.emit(CodeRan(self.owner, language, code, exit_code, output, executor, seconds))


def _place(use_docker: object) -> str:
    if use_docker is False:
        return "this machine"
    return "isolated"


async def code_reply(
    mode: Mode, agent: ChatAgent, coder: Coder, messages: list[Stored], config: CodeConfig | None
) -> tuple[bool, str | None]:
    """The reply with the output of code; in async mode the code runs on a thread."""
    return await mode.block(coder.reply, agent, messages, config)


def parse_last_n(owner: str, settings: dict[str, Any]) -> int | Literal["auto"]:
    """How many messages are looked through; raises WrongArgument for anything else."""
    value = settings.get("last_n_messages", "auto")
    if value == "auto":
        return "auto"
    if is_number(value) and value >= 0:
        return int(value)
    raise WrongArgument(f"{owner}: last_n_messages must be 0 or more, or 'auto', not {value!r}.")


def _select_newest(messages: list[Stored], last_n: int | Literal["auto"]) -> Iterator[Stored]:
    """The messages to look through, newest first: the last so many, or all since the agent itself
    last spoke.
    """
    newest_first = reversed(messages)
    if last_n == "auto":
        return takewhile(lambda message: message.get("role") == "user", newest_first)
    return islice(newest_first, last_n)


def _has_content(message: Stored) -> bool:
    return bool(message.get("content"))
