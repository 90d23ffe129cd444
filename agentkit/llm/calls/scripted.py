"""A model that says what a script tells it: for tests and demonstrations."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from agentkit.core import stopping
from agentkit.core.lenient import text_under
from agentkit.errors import BadModelReply, Stopped
from agentkit.llm.calls.requests import find_tools
from agentkit.llm.calls.stream import delta, thought
from agentkit.llm.calls.usage import estimate_usage
from agentkit.llm.model import Model
from agentkit.llm.response import Choice, Response, ResponseMessage
from agentkit.messages import THINKING, as_dict, call_fields

Scripted = str | Mapping[str, Any] | Exception
Script = Scripted | Callable[[Mapping[str, Any]], Scripted]


class ScriptedClient:
    """Replies in the order of the script: a text, a message, an error to raise, or a function of
    the request.

    A message may say how it ends by `finish_reason` and `reply_end`, and what was thought before
    by `reasoning_content`.
    A single function instead of a list answers every request. `delay_s` is the pause before each
    streamed word; a stop ends it at once. What was asked is kept in `requests`.
    """

    def __init__(
        self,
        replies: Sequence[Script] | Callable[[Mapping[str, Any]], Scripted],
        *,
        delay_s: float = 0.0,
    ) -> None:
        self.requests: list[dict[str, Any]] = []
        self._replies = replies
        self._delay_s = delay_s
        self._lock = threading.Lock()

    def create(self, params: Mapping[str, Any]) -> Response:
        """The next reply; BadModelReply when the script is at its end, Stopped when the run was
        stopped.
        """
        reply = self._next(params)
        if callable(reply):
            reply = reply(params)
        if isinstance(reply, Exception):
            raise reply
        message = as_dict("a scripted model", reply)
        text, thinking = text_under(message, "content"), text_under(message, THINKING)
        if params.get("stream"):
            self._stream(thinking, thought)
            self._stream(text, delta)
        usage = estimate_usage(
            params["messages"], thinking + text, str(params.get("model", "")), find_tools(params)
        )
        counted = {"prompt_tokens": usage.prompt, "completion_tokens": usage.completion}
        said = ResponseMessage(
            message.get("content"),
            reasoning_content=thinking or None,
            **call_fields(message),
        )
        choice = Choice(said, message.get("finish_reason", "stop"))
        return Response(
            [choice], str(params.get("model", "scripted")), counted, message.get("reply_end")
        )

    def message_retrieval(self, response: Response) -> list[ResponseMessage]:
        """The messages of the choices."""
        return list(map(attrgetter("message"), response.choices))

    def cost(self, response: Response) -> float:
        """Nothing: it runs here."""
        return 0.0

    @staticmethod
    def get_usage(response: Response) -> Mapping[str, Any]:
        """Tokens as counted here."""
        return response.usage

    def _next(self, params: Mapping[str, object]) -> Script:
        with self._lock:
            self.requests.append(dict(params))
            if callable(self._replies):
                return self._replies
            if len(self.requests) > len(self._replies):
                raise BadModelReply(
                    f"The script has {len(self._replies)} replies, but was asked"
                    f" {len(self.requests)} times; add more."
                )
            return self._replies[len(self.requests) - 1]

    def _stream(self, text: str, send: Callable[[str], None]) -> None:
        signal = stopping.current()
        for word in re.findall(r"\s*\S+\s*\Z|\s*\S+|\s+", text):
            if self._delay_s:
                signal.wait(self._delay_s)
            if signal.is_set:
                raise Stopped("stopped by the user")
            send(word)


def scripted_model(
    replies: Sequence[Script] | Callable[[Mapping[str, Any]], Scripted], *, delay_s: float = 0.0
) -> Model:
    """A model over a ScriptedClient; it passes for a language model."""
    return Model(
        "scripted", "Scripted", ScriptedClient(replies, delay_s=delay_s), "scripted", "scripted"
    )
