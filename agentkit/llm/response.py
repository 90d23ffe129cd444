"""The shape of a reply as OpenAI's chat API gives it, for clients that build their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol, cast

from agentkit.core.given import coalesce
from agentkit.events import ReplyEnd
from agentkit.messages import FunctionCall, Message, ToolCall, call_fields


class ModelResponse(Protocol):
    """What `ModelClient.create` returns; the official SDK's `ChatCompletion` is one."""

    @property
    def choices(self) -> Any:
        """Choices, each with a `message` and a `finish_reason`."""

    @property
    def model(self) -> str:
        """The model that answered, as the server names it."""


@dataclass(slots=True)
class ResponseMessage:
    """The message of a choice."""

    content: str | None
    tool_calls: list[ToolCall] | None = None
    role: str = "assistant"
    function_call: FunctionCall | None = None
    """The only call, in the form that OpenAI had before tools."""
    reasoning_content: str | None = None
    """What the model thought before."""

    def model_dump(self) -> dict[str, Any]:
        """The message as a dict, as the SDK's own messages give it."""
        return asdict(self)


@dataclass(slots=True)
class Choice:
    """One of the replies."""

    message: ResponseMessage
    finish_reason: str | None = "stop"
    index: int = 0


@dataclass
class Response:
    """A whole reply with the server's own usage figures (empty: it sent none); OpenAIWrapper adds
    further attributes.
    """

    choices: list[Choice]
    model: str
    usage: Mapping[str, Any] = field(default_factory=dict)
    reply_end: ReplyEnd | None = None
    """How the first reply ended, where its `finish_reason` cannot say it."""


def to_response(
    message: Message, model: str, usage: Mapping[str, Any], end: ReplyEnd | None
) -> Response:
    """A response whose one choice is this message of a history."""
    calls = cast(dict[str, Any], call_fields(message))
    content, thinking = cast("str | None", message.get("content")), message.get("reasoning_content")
    choice = Choice(ResponseMessage(content, reasoning_content=thinking, **calls))
    return Response([choice], model, usage, end)


def text_response(text: str, model: str, usage: Mapping[str, object] | None = None) -> Response:
    """A response with one choice that is plain text."""
    return Response([Choice(ResponseMessage(text))], model, coalesce(usage, {}))
