"""Tools and calls for the scenarios: messages that ask for calls, functions to call, an agent that
describes them.
"""

from __future__ import annotations

import asyncio
import functools
import warnings
from collections.abc import Callable
from typing import Annotated, Any

from tests.differential.actors import config_for
from tests.differential.kit import Kit


def call_of(name: str, arguments: Any = '{"x": 2}', call_id: str | None = "1") -> dict[str, Any]:
    """One entry of tool_calls."""
    call: dict[str, Any] = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return call if call_id is None else {"id": call_id, **call}


def asking(*calls: dict[str, Any]) -> dict[str, Any]:
    """A message that asks for these calls."""
    return {"content": None, "role": "assistant", "tool_calls": list(calls)}


def answer(kit: Kit, functions: dict[str, Any], message: dict[str, Any]) -> Any:
    """What an agent with these functions replies to the message."""
    agent = kit.agent("runner")
    agent.register_function(functions)
    return kit.call(agent, "generate_reply", messages=[message], sender=kit.agent("caller"))


def contents(reply: Any) -> list[Any]:
    """The texts of the tool results, or "error" for the ones that tell of an error."""
    texts = [response["content"] for response in reply["tool_responses"]]
    return ["error" if text.startswith("Error") else text for text in texts]


def tools_of(kit: Kit) -> tuple[Any, Any]:
    """A plain and an async function that double; made afresh, for the oracle marks the functions
    that it registers.
    """

    def double(x: Annotated[int, "a number"]) -> str:
        return str(2 * x)

    async def slow_double(x: int) -> str:
        await asyncio.sleep(0)
        return str(2 * x)

    return double, slow_double


class Described:
    """An agent with a model's config, and what it tells the model of its tools."""

    def __init__(self, kit: Kit, **options: Any) -> None:
        self.agent = kit.agent("thinker", **{"llm_config": config_for(), **options})

    def tools(self) -> Any:
        return self.agent.llm_config.get("tools")

    def functions(self) -> Any:
        return self.agent.llm_config.get("functions")


def unwarned(play: Callable[[Kit], Any]) -> Callable[[Kit], Any]:
    """The scenario without the warnings that it calls for, such as that a tool is replaced."""

    @functools.wraps(play)
    def quietly(kit: Kit) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return play(kit)

    return quietly
