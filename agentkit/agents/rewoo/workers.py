"""What an agent's plans can use beside actions: its registered functions, its code execution, and
other agents.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from agentkit.agents.rewoo.actions import BaseAction
from agentkit.agents.rewoo.describing import Description
from agentkit.agents.rewoo.schema import ActionReturn, ActionStatusCode
from agentkit.conversation.conversable import ConversableAgent
from agentkit.core import bus, stopping
from agentkit.core.fences import read_fenced
from agentkit.core.given import coalesce, list_known
from agentkit.core.twin import Mode, faces
from agentkit.errors import AgentkitError, WrongType
from agentkit.events import CodeRan
from agentkit.messages import Stored, content_of, has_calls, text_of

if TYPE_CHECKING:
    from agentkit.coding import CodeExecutor

MOST_CALLS = 10
"""Rounds of its own calls of functions that a worker may take for one question."""
_LOOK_S = 0.05
_END = "TERMINATE"
_asked: ContextVar[frozenset[int]] = ContextVar("agentkit_asked_workers", default=frozenset())
"""The workers that are being asked around here, by their ids."""
_KINDS = {
    "string": "STRING",
    "integer": "NUMBER",
    "number": "FLOAT",
    "boolean": "BOOLEAN",
    "array": "Array",
    "object": "OBJECT",
}


class RegisteredFunction(BaseAction):
    """A function that an agent executes, described as its model is told about it."""

    def __init__(self, function: Callable[..., object], schema: Mapping[str, object]) -> None:
        """`schema` has `name`, `description` and the JSON schema `parameters`."""
        self.function = function
        super().__init__(_to_description(schema))

    def _function(self, name: str) -> Callable[..., object]:
        return self.function


class CodeAction(BaseAction):
    """Runs a block of code where its agent runs code; one block at a time. An exit code other than
    0 is a failure.
    """

    def __init__(self, agent: ConversableAgent) -> None:
        super().__init__({**self.__tool_description__, "name": "run_code"})
        self._agent = agent
        self._lock = threading.Lock()

    def run(self, code: str, language: str = "python") -> ActionReturn:
        """Runs a program and gives what it prints.

        Args:
            code (str): the whole program; it must print what is to be known.
            language (str): python or sh.
        """
        if fenced := read_fenced(code):
            language, code = fenced[0] or language, fenced[1]
        with _one_at_a_time(self._lock):
            exit_code, output = self._run(language, code)
        said = output.strip()
        if exit_code == 0:
            return ActionReturn(type=self.name, result=[{"type": "text", "content": said}])
        return ActionReturn(
            type=self.name,
            errmsg=f"exit code {exit_code}: {said}",
            state=ActionStatusCode.API_ERROR,
        )

    def _run(self, language: str, code: str) -> tuple[int, str]:
        executor: CodeExecutor | None = self._agent.code_executor
        if executor is None:  # by AutoGen's older settings, which tell the run themselves
            return self._agent.execute_code_blocks([(language, code)])
        from agentkit.coding import CodeBlock
        from agentkit.coding.announcing import announce_stops

        began, place = time.monotonic(), type(executor).__name__
        with announce_stops(self._agent.name, language, code, place):
            done = executor.execute_code_blocks([CodeBlock(code=code, language=language)])
        seconds = time.monotonic() - began
        bus.emit(
            CodeRan(self._agent.name, language, code, done.exit_code, done.output, place, seconds)
        )
        return done.exit_code, done.output


class Worker:
    """Another agent that answers questions of a plan, each in a silent chat of its own; one
    question at a time.

    Calls of functions that the worker makes are executed for it, so that the answer is the first
    message without a call.
    """

    def __init__(self, owner: str, agent: ConversableAgent) -> None:
        """Raises WrongType for anything but a ConversableAgent."""
        if not isinstance(agent, ConversableAgent):
            raise WrongType(f"{owner}: a worker must be a ConversableAgent, not {agent!r:.200}.")
        self.agent = agent
        self.name = re.sub(r"[^\w-]", "_", agent.name)
        """As plans write it."""
        self._lock = threading.Lock()
        self._asker = ConversableAgent(
            owner,
            is_termination_msg=_is_answer,
            max_consecutive_auto_reply=MOST_CALLS,
            human_input_mode="NEVER",
            default_auto_reply=None,
        )
        self._asker._function_map = agent.function_map

    async def _ask(self, mode: Mode, /, question: str) -> str:
        """The worker's answer; raises AgentkitError for none and for a circle of workers, what the
        chat raises, and Stopped.
        """
        if id(self.agent) in _asked.get():
            raise AgentkitError(
                f"{self.agent.name} waits for this answer itself; workers cannot ask one another in"
                " a circle."
            )
        with _one_at_a_time(self._lock), _within(self.agent):
            settings = {"message": question, "silent": True, "summary_method": None}
            chat = await mode.peer(self._asker, "initiate_chat", self.agent, **settings)
            messages = self.agent.chat_messages_for_summary(self._asker)
            if answer := next(filter(None, map(self._find_words, reversed(messages[1:]))), ""):
                return answer
            raise AgentkitError(f"{self.agent.name} gave no answer: {chat.stop_reason}")

    ask, a_ask = faces(_ask)

    def _find_words(self, message: Stored) -> str:
        """What the worker, or somebody in its group, said in this message."""
        if message.get("role") in ("tool", "function") or message.get("name") == self._asker.name:
            return ""
        return text_of(content_of(message)).replace(_END, "").strip()

    def action(self, mode: Mode) -> BaseAction:
        """Asking it, as an action of a plan."""
        return _Asking(self, self.a_ask if mode.is_async else self.ask)


class _Asking(BaseAction):
    def __init__(self, worker: Worker, ask: Callable[..., object]) -> None:
        about = (
            "what it is asked, complete in itself: it knows nothing of the conversation or of other"
            " steps"
        )
        question = {"name": "question", "type": "STRING", "description": about}
        said = f"Asks {worker.agent.name}: {worker.agent.description or 'another agent'}"
        super().__init__(
            {
                "name": worker.name,
                "description": said,
                "parameters": [question],
                "required": ["question"],
            }
        )
        self._ask = ask

    def run(self, question: str) -> object:
        """The answer, or what is to be waited for to get it."""
        return self._ask(question)


@contextmanager
def _one_at_a_time(lock: threading.Lock) -> Iterator[None]:
    """Hold the lock; a step that is told to stop while it waits raises Stopped."""
    while not lock.acquire(timeout=_LOOK_S):
        stopping.check()
    try:
        stopping.check()
        yield
    finally:
        lock.release()


@contextmanager
def _within(agent: ConversableAgent) -> Iterator[None]:
    token = _asked.set(_asked.get() | {id(agent)})
    try:
        yield
    finally:
        _asked.reset(token)


def _is_answer(message: Mapping[str, object]) -> bool:
    return not has_calls(message)


def _to_description(schema: Mapping[str, Any]) -> Description:
    """A function as its JSON schema describes it, in lagent's form."""
    taken = coalesce(schema.get("parameters"), {})
    properties = coalesce(taken.get("properties"), {})
    required = coalesce(taken.get("required"), ())
    return {
        "name": schema["name"],
        "description": _read_text(schema, "description"),
        "parameters": [_to_parameter(name, each) for name, each in properties.items()],
        "required": list_known(required, properties),
    }


def _to_parameter(name: str, schema: Mapping[str, Any]) -> dict[str, str]:
    kind = str(schema.get("type"))
    return {
        "name": name,
        "type": _KINDS.get(kind, "STRING"),
        "description": _read_text(schema, "description"),
    }


def _read_text(schema: Mapping[str, Any], key: str) -> str:
    return str(schema.get(key) or "")
