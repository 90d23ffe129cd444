"""ReWOOAgent: a ConversableAgent whose model plans first, gathers the evidence at once, and answers
from it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from agentkit.agents.rewoo.actions import BaseAction
from agentkit.agents.rewoo.executor import Action, ActionExecutor
from agentkit.agents.rewoo.protocol import ChatMessage, ReWOOProtocol
from agentkit.agents.rewoo.rewoo import OnPlan, ReWOO
from agentkit.agents.rewoo.schema import AgentReturn
from agentkit.agents.rewoo.workers import CodeAction, RegisteredFunction, Worker
from agentkit.conversation.agent import Agent
from agentkit.conversation.conversable import ConversableAgent
from agentkit.conversation.model import list_tools
from agentkit.conversation.replies import Verdict, asks_model
from agentkit.conversation.tooling import conversation
from agentkit.core import bus
from agentkit.core.given import coalesce
from agentkit.core.twin import Mode, core_of, faces
from agentkit.errors import WrongArgument
from agentkit.events import Noted
from agentkit.messages import AnyMessage, Stored, content_of, text_of, text_or_empty
from agentkit.options import InputMode

DESCRIPTION = (
    "Plans the steps to an answer, gathers evidence for all of them with its tools, and answers"
    " from the evidence."
)


class ReWOOAgent(ConversableAgent):
    """Replies by plan, evidence and answer: two calls of its model, however many steps there are.

    Its plans can use `tools` (functions, actions, an ActionExecutor), functions that are registered
    for its model and for execution by it, other agents as `workers`, and, with a
    `code_execution_config`, `run_code`. Code in messages is not run by itself. Evidence in the
    input of `run_code` becomes part of the program; let it run isolated.

    Without any tool, it replies as its model does. Earlier turns of the chat are told to planner
    and solver as far as they fit. A tool or a worker that fails is evidence, too; what its model
    raises ends the chat, as with other agents.
    """

    def __init__(
        self,
        name: str,
        system_message: str | None = "",
        llm_config: dict[str, Any] | Literal[False] | None = None,
        *,
        tools: ActionExecutor | Action | Sequence[Action] = (),
        workers: Sequence[ConversableAgent] = (),
        protocol: ReWOOProtocol | None = None,
        max_turn: int = 2,
        at_once: int = 10,
        timeout_s: float | None = None,
        retries: int = 0,
        replans: int = 0,
        on_plan: OnPlan | None = None,
        human_input_mode: InputMode = "NEVER",
        description: str | None = None,
        **kwargs: Any,
    ) -> None:
        """`system_message` is told to planner and solver; `protocol` to `on_plan` are ReWOO's,
        `kwargs` ConversableAgent's.

        Raises WrongType and WrongArgument for what cannot be.
        """
        role = text_or_empty(system_message)
        super().__init__(
            name,
            system_message,
            human_input_mode=human_input_mode,
            llm_config=llm_config,
            description=description or role or DESCRIPTION,
            **kwargs,
        )
        self._tools = tools if isinstance(tools, ActionExecutor) else ActionExecutor(tools)
        self._workers = [Worker(name, each) for each in workers]
        self._code = [] if self._code_execution_config is False else [CodeAction(self)]
        named: list[CodeAction | Worker] = [*self._code, *self._workers]
        _check_names(name, [*self._tools.actions, *(each.name for each in named)])
        self._settings: dict[str, Any] = {
            "protocol": protocol,
            "max_turn": max_turn,
            "name": name,
            "at_once": at_once,
            "timeout_s": timeout_s,
            "retries": retries,
            "replans": replans,
            "on_plan": on_plan,
        }
        # Raises for settings that cannot be; it is the client that will be asked.
        ReWOO(str, self._tools, **self._settings)
        self.last_return: AgentReturn | None = None
        """What the newest reply was made from: actions, evidence and what went wrong; None before
        the first.
        """
        self._reply_by_plans()

    def _reply_by_plans(self) -> None:
        """Plans take the model's place among the reply functions; code is run by steps only."""
        code = core_of(ConversableAgent.generate_code_execution_reply)
        self._reply_func_list[:] = [
            each for each in self._reply_func_list if core_of(each["reply_func"]) is not code
        ]
        self.replace_reply_func(ConversableAgent.generate_oai_reply, ReWOOAgent.generate_plan_reply)
        self.replace_reply_func(
            ConversableAgent.a_generate_oai_reply, ReWOOAgent.a_generate_plan_reply
        )

    @asks_model
    async def _generate_plan_reply(
        self,
        mode: Mode,
        /,
        messages: Sequence[AnyMessage] | None = None,
        sender: Agent | None = None,
        config: Any | None = None,
    ) -> Verdict:
        """Reply function: plan, gather the evidence, answer; `config` may be another client to
        ask.
        """
        client = coalesce(config, self.client)
        messages = conversation(self, messages, sender)
        if client is None or not messages:
            return False, None
        executor = self._make_executor(mode)
        if not executor.tool_names():
            return await self._generate_oai_reply(mode, messages, sender, config)
        asked = show_chat(messages, text_of(self.system_message))
        work = ReWOO(client, executor, **self._settings)
        options = {}
        if self.client_cache is not None:
            options = {"cache": self.client_cache}
        self.last_return = await mode.block(work.answer, asked, **options)
        return True, self.last_return.response

    generate_plan_reply, a_generate_plan_reply = faces(_generate_plan_reply)

    def _make_executor(self, mode: Mode) -> ActionExecutor:
        """All that plans can use now; a registered function replaces what has the same name."""
        given = self._tools
        actions: list[BaseAction] = [
            *given.actions.values(),
            *self._code,
            *(each.action(mode) for each in self._workers),
        ]
        special = given.invalid_action, given.no_action, given.finish_action
        return ActionExecutor([*actions, *self._wrap_registered()], *special)

    def _wrap_registered(self) -> Iterator[RegisteredFunction]:
        offered = list_tools(self.llm_config)
        tools = [each["function"] for each in offered.get("tools", ())]
        for schema in [*tools, *offered.get("functions", ())]:
            function = self.function_map.get(schema["name"])
            if function is not None:
                yield RegisteredFunction(function, schema)
                continue
            text = (
                f"Plans cannot use {schema['name']}: register it for execution by {self.name}, too."
            )
            bus.emit(Noted(self.name, text))


def _check_names(owner: str, names: Sequence[str]) -> None:
    if twice := Counter(names) - Counter(set(names)):
        raise WrongArgument(
            f"{owner}: {', '.join(twice)} is there twice among tools and workers; give each its own"
            " name."
        )


MOST_CHARACTERS = 12_000
"""Of earlier turns together; some 3,000 tokens of English."""
MOST_OF_ONE = 4_000
"""Of a single earlier turn; of a longer one beginning and end are told."""


def show_chat(messages: Sequence[Stored], role: str) -> list[ChatMessage]:
    """The role as a system message (none when it is empty), earlier turns, and the last message,
    which is never cut.

    Turns of others carry their names; calls without words are left out.
    """
    told: list[ChatMessage] = [{"role": "user", "content": text_of(content_of(messages[-1]))}]
    left = MOST_CHARACTERS
    for message in reversed(messages[:-1]):
        text = _shorten(text_of(content_of(message)).strip())
        left -= len(text)
        if left < 0:
            break
        if text:
            told.append(_to_turn(message, text))
    if role:
        told.append({"role": "system", "content": role})
    return told[::-1]


def _to_turn(message: Stored, text: str) -> ChatMessage:
    said = text
    if message.get("role") == "assistant":
        return {"role": "assistant", "content": said}
    name = message.get("name")
    if name:
        said = f"{name}: {text}"
    return {"role": "user", "content": said}


def _shorten(text: str) -> str:
    if len(text) <= MOST_OF_ONE:
        return text
    half = MOST_OF_ONE // 2
    return f"{text[:half]} [...] {text[-half:]}"
