"""What agents do is announced twice: as an event to whoever listens, and, unless it is silent, on
the console.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from agentkit.conversation.agent import Agent
from agentkit.core import bus
from agentkit.core.io import IOStream, OutputStream
from agentkit.events import Event, MessageSent, Noted
from agentkit.messages import (
    AnyMessage,
    FunctionCall,
    ToolCall,
    ToolResponse,
    call_fields,
    calls_of,
    content_of,
    new_id,
    responses_of,
    text_of,
)
from agentkit.reasons import EndReason

_RULE = "-" * 80
_last_id: ContextVar[list[str | None] | None] = ContextVar("agentkit_thread", default=None)


@contextmanager
def following(parent_id: str | None) -> Iterator[Callable[[], str | None]]:
    """Messages that are announced in the block follow one another, the first of them `parent_id`;
    gives the id of the last.
    """
    last: list[str | None] = [parent_id]
    token = _last_id.set(last)
    try:
        yield lambda: last[0]
    finally:
        _last_id.reset(token)


def announce_message(message: AnyMessage, sender: Agent, recipient: Agent, silent: bool) -> None:
    """Announce as an event that `sender` said this to `recipient`."""
    _emit(message, sender.name, recipient.name, silent)


def announce_spoken(message: AnyMessage, sender: str, listeners: str, silent: bool) -> None:
    """Announce, as an event and on the console, what is said to several or to nobody in particular;
    they are named in words.
    """
    _emit(message, sender, listeners, silent)
    _find_console(silent).print(_format_page(message, sender, listeners), flush=True)


def announce_streamed(texts: Iterable[str], sender: str, listeners: str, silent: bool) -> None:
    """The same of words as they come: `texts` are, again and again, all that was said so far."""
    console, said = _find_console(silent), ""
    console.print(f"{sender} (to {listeners}):\n", flush=True)
    for text in texts:
        console.print(text.removeprefix(said), end="", flush=True)
        said = text
    console.print(f"\n\n{_RULE}", flush=True)
    _emit({"role": "assistant", "content": said}, sender, listeners, silent)


class _Silence:
    """The console of what is silent."""

    def print(self, *objects: object, sep: str = " ", end: str = "\n", flush: bool = False) -> None:
        """Print nothing."""


_SILENCE = _Silence()


def _find_console(silent: bool) -> OutputStream:
    if silent:
        return _SILENCE
    return IOStream.get_default()


def print_message(message: AnyMessage, sender: Agent, recipient: Agent) -> None:
    """Print a message on the console."""
    IOStream.get_default().print(_format_page(message, sender.name, recipient.name), flush=True)


def announce(event: Event, line: str, silent: bool = False) -> None:
    """Announce something else, with the line that stands for it on the console."""
    bus.emit(event)
    _find_console(silent).print(line, flush=True)


def note(agent: str, text: str, silent: bool = False, end: EndReason | None = None) -> None:
    """Announce a remark; `end` goes with it where it says why something is over."""
    announce(Noted(agent, text, end), f">>>> {agent}: {text}", silent)


def _emit(message: AnyMessage, sender: str, recipient: str, silent: bool) -> None:
    if not bus.has_listeners():
        return
    extra: dict[str, Any] = {"inner": True, **call_fields(message)}
    metadata = message.get("metadata")
    if metadata:
        extra["metadata"] = metadata
    last = _last_id.get() or [None]
    role = str(message.get("role") or "assistant")
    text = display_text(message)
    event = MessageSent(new_id(), last[0], sender, recipient, role, text, extra=extra)
    if silent:
        extra["silent"] = True
    else:
        last[0] = event.id
    bus.emit(event)


def display_text(message: AnyMessage) -> str:
    """The text of a message for people: what a content function gives, and the results of tools."""
    content = content_of(message)
    if message.get("role") == "function" and content is not None:
        return str(content)
    return text_of(content)


def _format_page(message: AnyMessage, sender: str, recipient: str) -> str:
    """A message as it stands on the console."""
    lines = [f"{sender} (to {recipient}):", ""]
    responses = responses_of(message)
    for response in responses:
        lines += _format_response(response)
    if not responses:
        lines += filter(None, [display_text(message)])
    for call in calls_of(message):
        lines += _format_call(call)
    return "\n".join([*lines, "", _RULE])


def _format_response(response: ToolResponse) -> list[str]:
    label = response.get("tool_call_id") or response.get("name") or response.get("role", "tool")
    return [f"***** Response from {label} *****", str(response.get("content")), "*" * 40]


def _format_call(call: ToolCall) -> list[str]:
    function: FunctionCall = call.get("function") or {}
    label = call.get("id") or "no id"
    return [
        f"***** Suggested call of {function.get('name')} ({label}) *****",
        f"Arguments: {function.get('arguments')}",
        "*" * 40,
    ]
