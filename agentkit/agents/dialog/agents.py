"""DialogAgent says what its model says, DictDialogAgent thinks, says and remembers in fields,
UserAgent asks a person.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent import futures
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimedOut
from contextvars import copy_context
from typing import Any, Literal, cast

from agentkit import runs
from agentkit.agents.dialog.base import AgentBase
from agentkit.agents.dialog.configs import is_known
from agentkit.agents.dialog.msg import Msg, as_text
from agentkit.agents.dialog.structured_reply import Wish, ask
from agentkit.core import stopping
from agentkit.core.given import to_list
from agentkit.core.twin import Mode, faces
from agentkit.errors import (
    HumanTimedOut,
    NoModelConfig,
    ResponseParsingError,
    WrongArgument,
    WrongType,
)
from agentkit.messages import Stored, call_fields, text_of
from agentkit.parsers import DictFilterMixin, ModelResponse, ParserBase

_WITHDRAWN_S = 5.0
"""That a question is waited for at most until it is withdrawn."""


class DialogAgent(AgentBase):
    """Replies with what its model says."""

    def __init__(
        self,
        name: str,
        sys_prompt: str | None = None,
        model_config_name: str | None = None,
        use_memory: bool = True,
        *,
        llm_config: dict[str, Any] | Literal[False] | None = None,
        **kwargs: Any,
    ) -> None:
        """The arguments of AgentBase; with only two, the second may be the model's name. Raises
        NoModelConfig without a model.
        """
        names_model = (model_config_name, llm_config) == (None, None) and _is_model_name(sys_prompt)
        if names_model:
            sys_prompt, model_config_name = None, sys_prompt
        if model_config_name is None and not llm_config:
            raise NoModelConfig(
                f"{name} has no model; give the model_config_name, or an llm_config."
            )
        super().__init__(
            name, sys_prompt, model_config_name, use_memory, llm_config=llm_config, **kwargs
        )


def _is_model_name(text: str | None) -> bool:
    """Whether a second argument is rather the name of a model than a prompt."""
    if not text:
        return False
    if is_known(text):
        return True
    return " " not in text


class DictDialogAgent(DialogAgent):
    """Replies in the structure that its parser asks for, which can be exchanged at any time by
    `set_parser`.

    The parser's filters say what of it others hear (`content`), what the agent remembers (`memory`)
    and what the program gets (`metadata`). Source: AgentScope's DictDialogAgent, and the design
    note of its flexible parsers.
    """

    def __init__(
        self,
        name: str,
        sys_prompt: str | None = None,
        model_config_name: str | None = None,
        use_memory: bool = True,
        max_retries: int | None = 3,
        *,
        llm_config: dict[str, Any] | Literal[False] | None = None,
        fault_handler: Callable[[ModelResponse], Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """`max_retries`: how often the model is asked again, with what was wrong, after a reply
        that cannot be read.

        Then `fault_handler(response)` gives what counts as parsed; without one the parser's error
        is raised. Raises NoModelConfig without a model.
        """
        if max_retries is not None and max_retries < 0:
            raise WrongArgument(
                f"{name}: max_retries is {max_retries}; give how often the model may be asked"
                " again, 0 for never."
            )
        super().__init__(
            name, sys_prompt, model_config_name, use_memory, llm_config=llm_config, **kwargs
        )
        self.parser: ParserBase | None = None
        self.max_retries = max_retries
        self.fault_handler = fault_handler

    def set_parser(self, parser: ParserBase) -> None:
        """Reply in another structure from now on; raises WrongType for anything else."""
        if not isinstance(parser, ParserBase):
            raise WrongType(f"{self.name}: a parser must be a ParserBase, not {parser!r:.200}.")
        self.parser = parser
        # The last message ends with it; here it is counted by what keeps histories within a limit.
        self._oai_system_message[1:] = [{"role": "system", "content": parser.format_instruction}]

    async def _ask_model(self, mode: Mode, client: Any, asked: list[Stored]) -> Any:
        """What could be read of the model's reply, as a message; or a message with calls of
        tools.
        """
        parser = self.parser
        if parser is None:
            raise WrongArgument(
                f"{self.name} has no parser; call set_parser(...) first, or use a DialogAgent for"
                " plain replies."
            )
        kept: list[Msg] = []

        def parse(response: ModelResponse) -> ModelResponse:
            """The filters belong to it: a field that they want and that is missing is told to the
            model.
            """
            made = parser.parse(response)
            kept[:] = [self._make_message(parser, made.parsed)]
            return made

        wish = Wish(
            parse,
            type(parser).__name__,
            parser.format_instruction,
            parser.api_format(),
            self.max_retries or 0,
            self.fault_handler,
            lambda parsed: as_text(kept[0].content),
        )
        reply = await ask(mode, self, client, asked, wish)
        if not isinstance(reply, ModelResponse):
            return self._to_call_message(parser, reply)
        if kept:
            return kept[0]
        return self._make_message(parser, reply.parsed, allow_missing=True)

    def _to_call_message(self, parser: ParserBase, reply: Stored) -> Stored:
        """A message with calls: what stands beside them is remembered, and others hear of it what
        the parser lets them.
        """
        if not (text := text_of(reply.get("content"))):
            return reply
        try:
            said = self._make_message(parser, parser.parse(text).parsed, allow_missing=True)
        except ResponseParsingError:
            said = Msg(self.name, "", "assistant")
        said.memory = text
        said.update(call_fields(reply))
        return cast(Stored, said)

    def _make_message(self, parser: ParserBase, parsed: Any, *, allow_missing: bool = False) -> Msg:
        if not isinstance(parser, DictFilterMixin) or not isinstance(parsed, dict):
            return Msg(self.name, parsed, "assistant")
        content = parser.to_content(parsed, allow_missing=allow_missing)
        said = Msg(
            self.name, content, "assistant", parser.to_metadata(parsed, allow_missing=allow_missing)
        )
        said.memory = as_text(parser.to_memory(parsed, allow_missing=allow_missing))
        return said


class UserAgent(AgentBase):
    """A person: each call asks them, at the console or in the app, and says what they answered."""

    def __init__(
        self, name: str = "User", input_hint: str = "User Input: ", require_url: bool = False
    ) -> None:
        """With `require_url` each call asks for the address of a picture, too."""
        super().__init__(name)
        self.input_hint = input_hint
        self.require_url = require_url

    async def _reply(
        self,
        mode: Mode,
        /,
        x: Msg | Sequence[Msg] | None = None,
        required_keys: str | Sequence[str] | None = None,
        timeout: float | None = None,  # noqa: ASYNC109  # AgentScope's
    ) -> Msg:
        """Hear `x` and ask the person; with `required_keys` also for these, which become the
        metadata.

        `timeout`: seconds for each answer. Raises HumanTimedOut (a TimeoutError) after it,
            NobodyToAsk (an EOFError) where
        nobody can be asked.
        """
        self.observe(x)

        async def ask_person(prompt: str) -> str:
            if timeout is None:
                return cast(str, await mode.peer(self, "get_human_input", prompt))
            return cast(str, await mode.block(self._ask_in_time, prompt, timeout))

        text = await ask_person(self.input_hint)
        values: dict[str, str] = {}
        for key in to_list(required_keys, str):
            values[key] = await ask_person(f"{key}: ")
        url = ""
        if self.require_url:
            url = await ask_person("URL (or Enter to skip): ")
        said = Msg(self.name, text, "user", values or None, url=url)
        self.observe(said)
        self.speak(said)
        return said

    reply, a_reply = faces(_reply)

    def _ask_in_time(self, prompt: str, seconds: float) -> str:
        """The person's answer; the question is withdrawn when none comes. At a console, the next
        line is still taken for it.
        """
        ending, answer = stopping.StopSignal(), Future[str]()

        def work() -> None:
            try:
                with stopping.stoppable(ending):
                    answer.set_result(self.get_human_input(prompt))
            except BaseException as error:  # noqa: BLE001  # raised where the answer is waited for
                answer.set_exception(error)

        threading.Thread(target=copy_context().run, args=(work,), daemon=True).start()
        with stopping.current().on_stop(ending.set):
            try:
                return answer.result(seconds)
            except FutureTimedOut:
                if answer.done():
                    raise
                ending.set()
                # Until the question has been withdrawn; at a console its line is read on.
                if runs.current():
                    futures.wait([answer], _WITHDRAWN_S)
                raise HumanTimedOut(
                    f"{self.name} was asked ({prompt.strip()!r}), and gave no answer in"
                    f" {seconds:g} s."
                ) from None
