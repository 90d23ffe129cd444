"""The functions an agent may execute, and those its model is told about."""

from __future__ import annotations

import functools
import inspect
import re
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, TypeVar

from agentkit.conversation.agent import Agent, Remembering
from agentkit.conversation.checks import check_agent, check_kind, check_messages
from agentkit.core import bus, replay, tools
from agentkit.core.given import coalesce, to_list
from agentkit.core.io import IOStream
from agentkit.core.lenient import find_below
from agentkit.core.twin import Mode
from agentkit.errors import NoModelConfig, Stopped, WrongArgument, explain
from agentkit.events import ToolCalled, ToolReturned
from agentkit.messages import (
    AnyMessage,
    Stored,
    ToolCall,
    ToolResponse,
    check_calls,
    copy_message,
    function_call_of,
    join_responses,
    new_id,
    tool_calls_of,
)

F = TypeVar("F", bound=Callable[..., object])
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class Toolbox:
    """The functions that an agent executes, by the names under which models ask for them."""

    def __init__(
        self, owner: str, functions: Mapping[str, Callable[..., object]] | None = None
    ) -> None:
        self.owner = owner
        self.functions: dict[str, Callable[..., object]] = {}
        self.register(coalesce(functions, {}))

    def register(self, functions: Mapping[str, Callable[..., object] | None]) -> None:
        """Add, replace or (None) remove functions; raises WrongArgument for bad names, WrongType
        for another object.
        """
        check_kind(self.owner, "function_map", functions, Mapping, "a dict of names and functions")
        for name, function in functions.items():
            check_name(self.owner, name)
            check_kind(
                self.owner,
                f"the function {name!r}",
                function,
                Callable | None,
                "callable or None",
            )
        for name, function in functions.items():
            if function is None:
                self._remove(name)
            else:
                self._add(name, function)

    def _add(self, name: str, function: Callable[..., object]) -> None:
        if name in self.functions:
            warnings.warn(
                f"{self.owner}: function {name!r} is being replaced.", UserWarning, stacklevel=4
            )
        self.functions[name] = function

    def _remove(self, name: str) -> None:
        if self.functions.pop(name, None) is None:
            warnings.warn(
                f"{self.owner} has no function {name!r} to remove.", UserWarning, stacklevel=4
            )

    async def execute(
        self, mode: Mode, call: Mapping[str, Any], verbose: bool
    ) -> tuple[bool, dict[str, Any]]:
        """Run one call and give whether it went well, and the result as a message; errors become
        its content.
        """
        name, arguments = str(coalesce(call.get("name"), "")), call.get("arguments")
        known = self._find_recorded(name, arguments)
        if known is not None:
            return known.ok, {"name": name, "role": "function", "content": known.content}
        ok, content = await self._run_announced(mode, name, arguments)
        if verbose:
            IOStream.get_default().print(
                f"\nInput arguments: {arguments}\nOutput:\n{content}", flush=True
            )
        return ok, {"name": name, "role": "function", "content": content}

    async def _run_announced(self, mode: Mode, name: str, arguments: Any) -> tuple[bool, Any]:
        """Run one call, and tell whoever listens when it begins and when it is over."""
        call_id, began = new_id(), time.monotonic()
        if bus.has_listeners():
            bus.emit(ToolCalled(call_id, self.owner, name, tools.to_text(arguments)))
        ok, content, passages = False, "", list[tools.Given]()
        try:
            with tools.collecting() as passages:
                ok, content = await self._run(mode, name, arguments)
        except BaseException as error:
            # A stop or a cancellation: the call is over for those who listen, too.
            content = _describe(error)
            raise
        finally:
            if bus.has_listeners():
                seconds = time.monotonic() - began
                shown = tools.to_text(content)
                bus.emit(ToolReturned(call_id, self.owner, name, ok, shown, seconds, passages))
        return ok, content

    def _find_recorded(self, name: str, arguments: object) -> ToolReturned | None:
        """What the call gave before the run broke off with which this one goes on."""
        if replay.is_run_again(self.functions.get(name)):
            return None
        return replay.tell_result(self.owner, name, tools.to_text(arguments))

    async def _run(
        self, mode: Mode, name: str, arguments: str | Mapping[str, Any] | None
    ) -> tuple[bool, Any]:
        function = self.functions.get(name)
        if function is None:
            known = ", ".join(sorted(self.functions)) or "none"
            told = f"Functions that {self.owner} can execute: {known}."
            return False, f"Error: Function {name} not found. {told}"
        try:
            given = tools.parse_arguments(arguments)
            if replay.is_run_again(function):  # ours, which looks whether it is to stop
                return True, await mode.invoke(function, **given)
            return True, await mode.invoke_or_leave(function, **given)
        except Stopped:
            raise
        except Exception as error:  # noqa: BLE001 (whatever a tool raises is for the model to read)
            return False, _describe(error)

    def can_execute(self, names: list[str] | str) -> bool:
        """Whether all of the functions are there."""
        return self.functions.keys() >= set(to_list(names, str))


def _describe(error: BaseException) -> str:
    """An error as the model reads it."""
    return f"Error: {explain(error)}"


async def tool_calls_reply(mode: Mode, agent: Agent, message: Stored) -> tuple[bool, Stored | None]:
    """Execute all calls of the message, in async mode side by side, and answer with one tool
    message.
    """
    check_calls(agent.name, message)
    calls = tool_calls_of(message)
    if not calls:
        return False, None
    returns = await mode.gather(*(_execute_tool(mode, agent, call) for call in calls))
    return True, join_responses(returns)


async def _execute_tool(mode: Mode, agent: Agent, call: ToolCall) -> ToolResponse:
    called = coalesce(call.get("function"), {})
    result = await _execute(mode, agent, dict(called))
    response: ToolResponse = {"role": "tool", "content": result["content"]}
    if call.get("id") is None:
        return response
    return {"tool_call_id": call["id"], **response}


async def _execute(mode: Mode, agent: Agent, call: Mapping[str, Any]) -> Stored:
    """The result of a call as a message, which has some content."""
    _, returned = await mode.peer(agent, "execute_function", call)
    result = copy_message(returned)
    if result.get("content") is None:
        result["content"] = ""
    return result


async def function_call_reply(
    mode: Mode, agent: Agent, message: Stored
) -> tuple[bool, Stored | None]:
    """Execute the call of the older form, `function_call`."""
    check_calls(agent.name, message)
    call = function_call_of(message)
    if not call:
        return False, None
    return True, await _execute(mode, agent, call)


def check_name(owner: str, name: object) -> str:
    """The name, if the APIs take it for a function; raises WrongArgument."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise WrongArgument(
            f"{owner}: {name!r} cannot be the name of a function; use 1 to 64 letters, digits, '_'"
            " and '-'."
        )
    return name


def normalize_name(name: str) -> str:
    """The name with what the APIs do not take replaced by `_`, at most 64 characters."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64]


def wrap(function: F) -> F:
    """The function with its JSON arguments made into objects before and its result made into text
    after.
    """
    loaded = tools.load_arguments(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> str:
        return tools.to_text(loaded(*args, **kwargs))

    @functools.wraps(function)
    async def a_call(*args: Any, **kwargs: Any) -> str:
        result = loaded(*args, **kwargs)
        if inspect.isawaitable(result):
            result = await result
        return tools.to_text(result)

    chosen: Any = call
    if tools.is_async(function):
        chosen = a_call
    chosen._origin = function  # AutoGen's way back to the function
    made: F = chosen
    return made


class Signatures:
    """What an agent's model is told about functions: `tools` and `functions` of its
    `llm_config`.
    """

    def __init__(self, owner: str, config: dict[str, Any] | bool) -> None:
        self.owner = owner
        self.config = config

    def update(self, key: str, signature: Any, is_remove: bool | None) -> None:
        """Add, replace or remove a signature under `tools` or `functions`.

        Raises NoModelConfig without an llm_config, WrongArgument for a signature or name that
        cannot be.
        """
        config = self.config
        if not isinstance(config, dict) or not config:
            raise NoModelConfig(
                f"{self.owner} needs an llm_config before its model can be told about a function."
            )
        known = coalesce(config.get(key), [])
        if is_remove:
            config[key] = self._remove(key, known, signature)
        else:
            config[key] = self._add(key, known, signature)
        if not config[key]:
            del config[key]

    def _add(self, key: str, known: list[dict[str, Any]], signature: Any) -> list[dict[str, Any]]:
        name = self._find_name(key, signature)
        others = [each for each in known if _name_of(key, each) != name]
        if len(others) < len(known):
            warnings.warn(
                f"{self.owner}: function {name!r} is being overridden.", UserWarning, stacklevel=5
            )
        return [*others, signature]

    def _remove(self, key: str, known: list[dict[str, Any]], name: Any) -> list[dict[str, Any]]:
        check_kind(self.owner, "the name of a function to remove", name, str | dict, "a text")
        if not known:
            raise WrongArgument(
                f"{self.owner}: there is no function {name!r} to remove from its {key}."
            )
        return [each for each in known if _name_of(key, each) != name]

    def _find_name(self, key: str, signature: object) -> str:
        if not isinstance(signature, dict):
            raise WrongArgument(
                f"{self.owner}: the signature of a function must be a dict, not {signature!r:.80}."
            )
        name = _name_of(key, signature)
        if name is None:
            raise WrongArgument(f"{self.owner}: the signature has no name: {signature!r:.200}.")
        return check_name(self.owner, name)


def _name_of(key: str, signature: Mapping[str, Any]) -> Any:
    if key == "tools":
        return find_below(signature, "function", "name")
    return signature.get("name")


def describe(
    function: Callable[..., object], name: str | None, description: str | None
) -> tuple[str, str]:
    """The name and the description of a function for the model: those given now, else those of an
    earlier decorator.

    They are remembered on the function where it takes attributes. Raises WrongArgument when nobody
    described it.
    """
    own = name_of(function, name)
    text = description or getattr(function, "_description", None)
    if text is None:
        raise WrongArgument(
            f"The function {own!r} needs a description; the first decorator must give one."
        )
    remember(function, own, text)
    return own, text


def name_of(function: Callable[..., object], name: str | None) -> str:
    """The name given now, else that of an earlier decorator, else the function's own; raises
    WrongArgument without any.
    """
    own_name = getattr(function, "__name__", None)
    own: str | None = name or getattr(function, "_name", own_name)
    if not own:
        raise WrongArgument(f"{function!r} has no name of its own; give it one by name=.")
    return own


def remember(function: Callable[..., object], name: str, description: str | None = None) -> None:
    """Keep the name and the description for the next decorator; bound methods and built-ins cannot
    keep any.
    """
    if not isinstance(function, FunctionType | functools.partial):
        return
    function._name = name  # type: ignore[union-attr]
    if description is not None:
        function._description = description  # type: ignore[union-attr]


def conversation(
    agent: Remembering, messages: Sequence[AnyMessage] | None, sender: Agent | None
) -> list[Stored]:
    """The messages that a reply function works on: those given, else the conversation with the
    sender.
    """
    if messages is not None:
        check_messages(agent.name, messages)
        return messages  # type: ignore[return-value]  # a `cast` would be a call for each message
    check_agent(agent.name, "sender", sender)
    if sender is None:
        return []
    return agent.chat_messages[sender]
