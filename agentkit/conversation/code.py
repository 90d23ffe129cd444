"""Running the code that stands in messages: by an executor, or by AutoGen's older settings."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Literal

from agentkit import coding
from agentkit.coding import legacy
from agentkit.coding.announcing import announce_stops
from agentkit.conversation.agent import ChatAgent
from agentkit.conversation.checks import discreet
from agentkit.core import bus
from agentkit.core.twin import Mode
from agentkit.errors import WrongArgument
from agentkit.events import CodeRan
from agentkit.messages import Stored, content_of

CodeConfig = dict[str, Any] | Literal[False]
"""A `code_execution_config`: with an `executor`, or AutoGen's older settings; False for no code."""
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
        if config is not False and config is not None and not isinstance(config, dict):
            raise WrongArgument(
                f"{owner}: code_execution_config must be a dict or False, not {discreet(config)}."
            )
        self.owner = owner
        self.config: CodeConfig = False if config is False else dict(config or {})
        self.executor: coding.CodeExecutor | None = None
        if isinstance(self.config, dict):
            _last_n(owner, self.config)
            self._prepare(self.config)

    def _prepare(self, config: dict[str, Any]) -> None:
        if config.get("executor") is not None:
            if clash := [key for key in ("use_docker", "work_dir", "timeout") if key in config]:
                raise WrongArgument(
                    f"{self.owner}: {', '.join(clash)} in code_execution_config does not go with"
                    " executor, which has its own; leave one of them out."
                )
            self.executor = coding.CodeExecutorFactory.create(config)
            return
        wanted = legacy.decide_use_docker(config.get("use_docker"))
        if wanted is not None:
            legacy.check_can_use_docker_or_throw(wanted)
        config["use_docker"] = (
            True if wanted is None else wanted
        )  # if nobody asked for it, it is looked for when code comes

    @property
    def use_docker(self) -> bool | str | None:
        """The setting; None when no code is run."""
        return self.config.get("use_docker") if isinstance(self.config, dict) else None

    def reply(
        self, agent: ChatAgent, messages: list[Stored], config: CodeConfig | None
    ) -> tuple[bool, str | None]:
        """Run the blocks of the newest message that has any, as far back as `last_n_messages`
        says.
        """
        settings = self.config if config is None else config
        if not isinstance(settings, dict):
            return False, None
        for message in reversed(_scanned(messages, _last_n(self.owner, settings))):
            if not message.get("content"):
                continue
            result = self._run_message(agent, content_of(message))
            if result is not None:
                return True, "exitcode: {} ({})\nCode output: {}".format(
                    result[0],
                    "execution succeeded" if result[0] == 0 else "execution failed",
                    result[1],
                )
        return False, None

    def _run_message(self, agent: ChatAgent, content: Any) -> tuple[int, str] | None:
        if self.executor is None:
            blocks = legacy.extract_code(content)
            if len(blocks) == 1 and blocks[0][0] == legacy.UNKNOWN:
                return None
            exit_code, logs = agent.execute_code_blocks(blocks)
            return exit_code, logs
        found = self.executor.code_extractor.extract_code_blocks(content)
        if not found:
            return None
        began, code = time.monotonic(), "\n\n".join(block.code for block in found)
        language, place = found[0].language, type(self.executor).__name__
        try:
            with announce_stops(self.owner, language, code, place):
                result = self.executor.execute_code_blocks(found)
        except WrongArgument as error:
            # an executor that refuses dangerous code: for the model to read, no end of the chat
            result = coding.CodeResult(1, str(error))
        self._told(language, code, result.exit_code, result.output, place, began)
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
            self._told(language, code, exit_code, output, place, began)
            logs += "\n" + output
            if exit_code != 0:
                break
        return exit_code, logs

    def _run_block(self, agent: ChatAgent, language: str, code: str) -> tuple[int, str]:
        settings = {
            key: value for key, value in self._settings().items() if key != "last_n_messages"
        }
        if language in _SHELLS:
            exit_code, output, image = agent.run_code(code, lang=language, **settings)
        elif language in _PYTHONS:
            name = (
                code.split("\n", 1)[0].removeprefix("# filename: ").strip()
                if code.startswith("# filename: ")
                else None
            )
            exit_code, output, image = agent.run_code(
                code, lang="python", filename=name, **settings
            )
        else:
            exit_code, output, image = 1, f"unknown language {language}", None
        if image is not None and isinstance(self.config, dict):
            self.config["use_docker"] = image
        return exit_code, output

    def _settings(self) -> dict[str, Any]:
        return self.config if isinstance(self.config, dict) else {}

    def _told(
        self, language: str, code: str, exit_code: int, output: str, executor: str, began: float
    ) -> None:
        bus.emit(
            CodeRan(
                self.owner, language, code, exit_code, output, executor, time.monotonic() - began
            )
        )


def _place(use_docker: object) -> str:
    return "this machine" if use_docker is False else "isolated"


async def code_reply(
    mode: Mode, agent: ChatAgent, coder: Coder, messages: list[Stored], config: CodeConfig | None
) -> tuple[bool, str | None]:
    """The reply with the output of code; in async mode the code runs on a thread."""
    return await mode.block(coder.reply, agent, messages, config)


def _last_n(owner: str, settings: dict[str, Any]) -> int | str:
    value = settings.get("last_n_messages", "auto")
    if value == "auto" or (
        isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
    ):
        return value if value == "auto" else int(value)
    raise WrongArgument(f"{owner}: last_n_messages must be 0 or more, or 'auto', not {value!r}.")


def _scanned(messages: list[Stored], last_n: int | str) -> list[Stored]:
    """The messages to look through: the last so many, or all since the agent itself last spoke."""
    if last_n == "auto":
        last_n = 0
        for message in reversed(messages):
            if message.get("role") != "user":
                break
            last_n += 1
    return messages[len(messages) - min(int(last_n), len(messages)) :]
