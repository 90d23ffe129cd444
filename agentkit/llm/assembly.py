"""A streamed reply of OpenAI's chat API, put together from its pieces; the text is passed on while it comes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentkit.errors import BadModelReply
from agentkit.llm.stream import delta

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletion


def assembled(stream: Iterable[Any], model: str) -> ChatCompletion:
    """Read a stream to its end; the first choice's text is passed on. Raises BadModelReply when nothing comes."""
    from openai.types.chat import ChatCompletion

    choices: dict[int, _Choice] = {}
    whole: dict[str, Any] = {"id": "", "object": "chat.completion", "created": 0, "model": model}
    seen = False
    for chunk in stream:
        seen = True
        whole |= {key: value for key in ("id", "created", "model") if (value := getattr(chunk, key, None))}
        if getattr(chunk, "usage", None):
            whole["usage"] = chunk.usage.model_dump(exclude_none=True)
        for piece in getattr(chunk, "choices", None) or []:
            choices.setdefault(piece.index, _Choice()).add(piece, shown=piece.index == 0)
    if not seen:
        raise BadModelReply(
            f"The server ended its reply without a word from {model}; check the address, which usually ends in /v1."
        )
    whole["choices"] = [choices[index].whole(index) for index in sorted(choices)]
    return ChatCompletion.construct(**whole)


@dataclass(slots=True)
class _Choice:
    """What has come of one of the replies."""

    texts: list[str] = field(default_factory=list)
    calls: dict[int, dict[str, Any]] = field(default_factory=dict)
    function_call: dict[str, Any] | None = None
    finish_reason: str | None = None

    def add(self, piece: Any, *, shown: bool) -> None:
        self.finish_reason = piece.finish_reason or self.finish_reason
        text = piece.delta.content or piece.delta.refusal or ""
        self.texts.append(text)
        if shown:
            delta(text)
        for part in piece.delta.tool_calls or []:
            made = self.calls.setdefault(part.index, {"id": "", "type": "function", "function": _nothing()})
            made["id"] = part.id or made["id"]
            _extend(made["function"], part.function)
        if piece.delta.function_call:
            self.function_call = self.function_call or _nothing()
            _extend(self.function_call, piece.delta.function_call)

    def whole(self, index: int) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": "".join(self.texts) or None}
        if self.calls:
            message["tool_calls"] = [self.calls[number] for number in sorted(self.calls)]
        if self.function_call:
            message["function_call"] = self.function_call
        return {"index": index, "finish_reason": self.finish_reason, "message": message}


def _nothing() -> dict[str, Any]:
    return {"name": "", "arguments": ""}


def _extend(function: dict[str, Any], part: Any) -> None:
    if part is not None:
        function["name"] += part.name or ""
        function["arguments"] += part.arguments or ""
