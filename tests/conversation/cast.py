"""Who plays in the tests of the engine: agents with lines, scripted models, a console, an executor;
and what was heard.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from agentkit import Agent, ChatResult, ConversableAgent
from agentkit.coding import CodeBlock, CodeResult, MarkdownCodeExtractor
from agentkit.core import bus
from agentkit.core.io import IOStream
from agentkit.events import Event
from agentkit.llm.calls.scripted import ScriptedClient, scripted_model

CALL_ADD = {
    "id": "1",
    "type": "function",
    "function": {"name": "add", "arguments": '{"a": 1, "b": 2}'},
}


class Console(IOStream):
    """A terminal whose person types these answers in turn; EOFError when there are no more, as with
    a closed one.
    """

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.printed: list[str] = []
        self.asked: list[str] = []

    def print(self, *objects: Any, sep: str = " ", end: str = "\n", flush: bool = False) -> None:
        """Keep it."""
        self.printed.append(sep.join(map(str, objects)) + end)

    def input(self, prompt: str = "", *, password: bool = False) -> str:
        """The next answer."""
        self.asked.append(prompt)
        if not self.answers:
            raise EOFError("nobody is there")
        return self.answers.pop(0)

    @property
    def text(self) -> str:
        """All that was printed."""
        return "".join(self.printed)


class Executor:
    """Runs no code: gives these results (or raises them) in turn, and keeps what it was given."""

    code_extractor = MarkdownCodeExtractor()

    def __init__(self, *results: CodeResult | Exception) -> None:
        self.results = list(results)
        self.ran: list[CodeBlock] = []

    def execute_code_blocks(self, code_blocks: Sequence[CodeBlock]) -> CodeResult:
        """The next result."""
        self.ran += code_blocks
        result = self.results.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    def restart(self) -> None:
        """There is no state."""


def agent(name: str, **settings: Any) -> ConversableAgent:
    """An agent that asks nobody."""
    return ConversableAgent(name, **{"human_input_mode": "NEVER", **settings})


def speaker(name: str, *lines: Any, **settings: Any) -> ConversableAgent:
    """An agent that says these lines in turn, then nothing; an exception is raised. Asked last."""
    made, left = agent(name, **settings), list(lines)

    def say(
        recipient: Any, messages: Any = None, sender: Any = None, config: Any = None
    ) -> tuple[bool, Any]:
        line = left.pop(0) if left else None
        if isinstance(line, BaseException):
            raise line
        return True, line

    made.register_reply([Agent, None], say, position=len(made._reply_func_list))
    return made


def modelled(name: str, *replies: Any, **settings: Any) -> tuple[ConversableAgent, ScriptedClient]:
    """An agent whose model gives these replies in turn, and the client that keeps the requests."""
    model = scripted_model(list(replies))
    made = agent(
        name,
        llm_config={"config_list": [{"model": model}], "cache_seed": None, "max_retries": 0},
        **settings,
    )
    client = model.client
    assert isinstance(client, ScriptedClient)
    return made, client


@contextmanager
def hearing(console: IOStream | None = None) -> Iterator[list[Event]]:
    """The events of the block; what is printed there goes to the console, by default to one that
    nobody reads.
    """
    events: list[Event] = []
    with bus.listening(events.append), IOStream.set_default(console or Console()):
        yield events


def said(one: ConversableAgent, other: Any) -> list[Any]:
    """The contents of the conversation as `one` keeps it."""
    return [message.get("content") for message in one.chat_messages.get(other, [])]


def call(is_async: bool, owner: Any, method: str, *args: Any, **kwargs: Any) -> Any:
    """Call one face of a method (or of a function of a module)."""
    function: Callable[..., Any] = getattr(owner, f"a_{method}" if is_async else method)
    return asyncio.run(function(*args, **kwargs)) if is_async else function(*args, **kwargs)


def chat(
    is_async: bool,
    one: ConversableAgent,
    other: ConversableAgent,
    message: Any = "hi",
    **settings: Any,
) -> ChatResult:
    """A silent chat by one of the faces."""
    result: ChatResult = call(
        is_async, one, "initiate_chat", other, message=message, **{"silent": True, **settings}
    )
    return result
