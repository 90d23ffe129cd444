"""The one way to a model: `call` sends messages, streams the reply as events, retries, stops and
counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from agentkit.core import bus, stopping
from agentkit.errors import BadModelReply, ModelError, Stopped
from agentkit.events import CallStatus, ModelCalled, ModelReplied, Thinking, Usage
from agentkit.llm.calls import limits, room
from agentkit.llm.calls.ends import cut_by, end_of, half_a_call
from agentkit.llm.calls.stream import Streamed, streaming
from agentkit.llm.calls.thinking import split, thought_in
from agentkit.llm.calls.usage import credible, estimated_usage, usage_from, with_reasoning
from agentkit.llm.model import Model, Reply
from agentkit.llm.response import ModelResponse
from agentkit.messages import (
    Message,
    call_fields,
    check_reply,
    field_of,
    has_calls,
    new_id,
    text_of,
    without_thinking,
)

ATTEMPTS = 3
_FIRST_WAIT_S = 0.5
_LONGEST_WAIT_S = 60.0


def call(
    model: Model,
    messages: Sequence[Message],
    *,
    agent: str = "",
    stream: bool | None = True,
    params: Mapping[str, Any] | None = None,
    attempts: int = ATTEMPTS,
    may_be_empty: bool = False,
) -> Reply:
    """Ask a model, up to `attempts` times where another try can help; with `stream=None` the
    parameter is left out.

    What models thought before earlier replies is not sent, whatever messages hold of it, and what
    does not fit into the model's window is shortened, see `room`; raises ContextTooLong where that
    cannot be done, before anything is sent.

    Emits ModelCalled, TokenDelta and ThinkingDelta for what is streamed, and one ModelReplied per
    attempt. Stopped on the way, it returns the part that had come; stopped before or between
    attempts, it raises Stopped. Raises ModelError, for a reply with nothing in it unless it
    `may_be_empty`, LimitReached before an attempt that would go beyond a limit, and whatever a
    client of somebody else raises.
    """
    said = {} if stream is None else {"stream": stream}
    sent = room.fitted(
        model,
        [without_thinking(message) for message in messages],
        tools_in(params or {}),
        params or {},
        agent,
    )
    request = {"model": model.name, "messages": sent, **said, **(params or {})}
    asked = _Call(model, list(sent), agent, request, may_be_empty, attempts)
    attempt = 1
    while True:
        stopping.check()
        try:
            return asked.attempt(attempt)
        except ModelError as error:
            if (wait := asked.wait_s(error, attempt)) is None:
                raise
        stopping.current().wait(wait)
        attempt += 1


def recalled(
    model: Model,
    messages: Sequence[Message],
    response: ModelResponse,
    *,
    agent: str = "",
    params: Mapping[str, Any] | None = None,
) -> Reply:
    """The reply in a response out of a cache; heard as a call that took and cost nothing.

    The Reply itself tells what the response took when it was made.
    """
    request = {"model": model.name, "messages": messages, **(params or {})}
    return _Call(model, list(messages), agent, request, may_be_empty=True).recalled(response)


@dataclass(slots=True)
class _Call:
    """One call with all its attempts; they share the id."""

    model: Model
    messages: list[Message]
    agent: str
    params: dict[str, Any]
    may_be_empty: bool
    attempts: int = 1
    """How many there may be."""
    id: str = field(default_factory=new_id)

    def wait_s(self, error: Exception, attempt: int) -> float | None:
        """Seconds until the attempt after this one; None for no other."""
        if attempt >= self.attempts or not isinstance(error, ModelError):
            return None
        if error.retry_after_s is None or error.retry_after_s > _LONGEST_WAIT_S:
            return None
        backoff: float = _FIRST_WAIT_S * 2 ** (attempt - 1)
        return max(error.retry_after_s, backoff)

    def attempt(self, number: int) -> Reply:
        with limits.reserved(
            self.model, self.messages, tools_in(self.params), self.params, self.agent
        ) as reservation:
            reply = self._attempt(number, reservation)
        raw = self._figures(reply.raw) if reply.raw is not None else {}
        self._report(number, reply, "stopped" if reply.stopped else "ok", raw)
        return reply

    def _attempt(self, number: int, reservation: limits.Reservation) -> Reply:
        with streaming(self.agent, self.id, self._report_call) as streamed:
            response: ModelResponse | None = None
            try:
                response = self._created(streamed)
                reply = self._reply(response, streamed)
            except Stopped:
                reply = self._partial(streamed)
            except (
                Exception
            ) as error:  # also a foreign client's own error: every attempt gets its row
                failed = self._failed(streamed, response, error)
                reservation.settle(failed.usage, failed.cost)
                if streamed.pieces and isinstance(error, ModelError):
                    error.retry_after_s = None  # what was shown would be shown twice
                self._report(number, failed, "failed", {}, error)
                raise
        reservation.settle(reply.usage, reply.cost)
        return reply

    def recalled(self, response: ModelResponse) -> Reply:
        with streaming(self.agent, self.id) as streamed:
            reply = self._reply(response, streamed)
        raw = self._figures(response)
        self._report_call(self.params)
        self._report(1, replace(reply, usage=Usage(), cost=0.0), "cached", raw)
        return reply

    @property
    def _who(self) -> str:
        return (
            f"{self.agent}: the model {self.model.name}"
            if self.agent
            else f"The model {self.model.name}"
        )

    def _report_call(self, sent: Mapping[str, Any]) -> None:
        if not bus.heard():
            return
        model, messages = (
            self.model,
            [dict(message) for message in sent.get("messages", self.messages)],
        )
        request = around_messages(sent)
        bus.emit(
            ModelCalled(self.id, self.agent, model.provider, model.name, "chat", messages, request)
        )

    def _created(self, streamed: Streamed) -> ModelResponse:
        if not getattr(self.model.client, "says_what_it_sends", False):
            streamed.send(self.params)
        try:
            return self.model.client.create(self.params)
        finally:
            if not streamed.is_told:  # it failed before it sent anything
                streamed.send(self.params)
            streamed.close()

    def _reply(self, response: ModelResponse, streamed: Streamed) -> Reply:
        retrieved = self.model.client.message_retrieval(response)
        first = retrieved[0] if retrieved else None
        message, thinking = message_of(first, self._who), thinking_of(first) or streamed.thinking
        if not (self.may_be_empty or message.get("content") or has_calls(message)):
            raise self._empty(thinking)
        if cut_by(end_of(response)) and (name := half_a_call(message)):
            raise BadModelReply(
                f"{self._who} was cut off while it called {name}, which is not run so; allow more"
                " tokens."
            )
        text = text_of(message.get("content"))
        costs = self._costs(response, text, thinking)
        return self._made(text, message, *costs, streamed, response, thinking)

    def _empty(self, thinking: str) -> BadModelReply:
        if thinking:
            return BadModelReply(
                f"{self._who} thought, but gave no answer; allow more tokens, or choose another"
                " model."
            )
        return BadModelReply(
            f"{self._who} sent an empty reply; ask again, allow more tokens, or choose another"
            " model."
        )

    def _costs(
        self, response: ModelResponse, text: str, thinking: str
    ) -> tuple[Usage, float | None]:
        client = self.model.client
        cost = client.cost(
            response
        )  # before the usage: clients of AutoGen scripts note the cost in the response
        usage = usage_from(self._figures(response))
        # some servers send zeros, or figures by names of their own; limits would never be reached
        if not usage.total:
            usage, estimate = self._estimate(text, thinking)
            return usage, cost if estimate is None else estimate
        usage = with_reasoning(usage, thinking, self.model.name)
        return usage, self.model.price(usage) if self.model.price_1k else cost

    def _figures(self, response: ModelResponse) -> dict[str, Any]:
        return credible(self.model.client.get_usage(response))

    def _estimate(self, text: str, thinking: str) -> tuple[Usage, float | None]:
        tools = tools_in(self.params)
        usage = estimated_usage(self.messages, text, self.model.name, tools, thinking)
        return usage, self.model.price(usage)

    def _partial(self, streamed: Streamed) -> Reply:
        message: Message = {"role": "assistant", "content": streamed.text}
        costs = self._estimate(streamed.text, streamed.thinking)
        return self._made(streamed.text, message, *costs, streamed, None, streamed.thinking)

    def _made(
        self,
        text: str,
        message: Message,
        usage: Usage,
        cost: float | None,
        streamed: Streamed,
        response: Any,
        thinking: str,
    ) -> Reply:
        named = str(getattr(response, "model", "") or self.model.name)
        provider, stopped = self.model.provider, response is None
        said = (
            not usage.estimated and usage_from(self._figures(response)).reasoning > 0
            if response
            else False
        )
        thought = (
            Thinking(thinking, streamed.thinking_s, usage.reasoning, not said) if thinking else None
        )
        return Reply(
            text,
            message,
            usage,
            cost,
            named,
            provider,
            streamed.seconds,
            streamed.first_token_s,
            stopped,
            self.id,
            response,
            None if stopped else end_of(response),
            thought,
        )

    def _failed(
        self, streamed: Streamed, response: ModelResponse | None, error: Exception
    ) -> Reply:
        """A reply that broke off or is of no use has its price; one that never came has none."""
        usage: Usage = Usage()
        cost: float | None = 0.0
        taken = error.taken if isinstance(error, BadModelReply) else None
        if response is not None:
            try:
                usage, cost = self._costs(response, streamed.text, streamed.thinking)
            except Exception:  # noqa: BLE001
                # A client that cannot count; the error to raise is the first one.
                cost = None
        elif taken is not None or streamed.pieces or streamed.thoughts:
            usage, cost = usage_from(taken or {}), None
            if usage.total:
                usage = with_reasoning(usage, streamed.thinking, self.model.name)
                cost = self.model.price(usage)
            else:
                usage, cost = self._estimate(streamed.text, streamed.thinking)
        message: Message = {"role": "assistant", "content": streamed.text}
        return self._made(streamed.text, message, usage, cost, streamed, None, streamed.thinking)

    def _report(
        self,
        number: int,
        reply: Reply,
        status: CallStatus,
        raw: dict[str, Any],
        failure: Exception | None = None,
    ) -> None:
        provider, kind = self.model.provider, type(failure).__name__ if failure else ""
        error, retry_in_s = (
            (str(failure) or kind, self.wait_s(failure, number)) if failure else ("", None)
        )
        bus.emit(
            ModelReplied(
                self.id,
                self.agent,
                provider,
                reply.model,
                "chat",
                status,
                reply.text,
                reply.usage,
                reply.seconds,
                reply.first_token_s,
                reply.cost,
                number,
                error,
                kind,
                raw,
                reply.end,
                reply.thinking,
                retry_in_s,
            )
        )


def tools_in(params: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The definitions of tools, and of functions in the older form, that go along with a call."""
    given = [*(params.get("tools") or ()), *(params.get("functions") or ())]
    return [definition for definition in given if isinstance(definition, Mapping)]


def message_of(retrieved: object, who: str) -> Message:
    """A retrieved message as one for a history; its content is the refusal where there is one.

    It may be a text, a dict, or an object of the SDK or of anybody with attributes of those names.
    Raises BadModelReply, in which `who` names the model, for what can be no message.
    """
    if retrieved is None or isinstance(retrieved, str):
        return {"role": "assistant", "content": retrieved and split(retrieved)[1]}
    if not isinstance(retrieved, Mapping) and not (
        hasattr(retrieved, "content") or has_calls(retrieved)
    ):
        raise BadModelReply(
            f"{who} sent {retrieved!r:.200} as its message; ask again, or choose another model."
        )
    content = _without_thinking(retrieved, field_of(retrieved, "content"))
    message: dict[str, Any] = {
        "role": "assistant",
        "content": content or field_of(retrieved, "refusal"),
    }
    for key, made in call_fields(retrieved).items():
        message[key] = (
            [_plain(each) for each in made] if isinstance(made, list | tuple) else _plain(made)
        )
    check_reply(who, message)
    return cast(Message, message)


def _without_thinking(retrieved: object, content: Any) -> Any:
    """The content, text or parts, but for what the model thought."""
    if isinstance(content, str) and not thought_in(retrieved):
        return split(content)[1]
    if isinstance(content, list | tuple):
        return [part for part in content if not _is_thought(part)]
    return content


def _is_thought(part: object) -> bool:
    return isinstance(part, Mapping) and part.get("type") == "thinking"


def thinking_of(retrieved: object) -> str:
    """What was thought before a retrieved message, by its own field or by tags in its text."""
    content = retrieved if isinstance(retrieved, str) else field_of(retrieved, "content")
    beside = "" if isinstance(retrieved, str) else thought_in(retrieved).strip()
    return beside or (split(content)[0] if isinstance(content, str) else "")


def _plain(made: object) -> Any:
    """A call as a dict: of the SDK, or any object with attributes; what is neither as it is."""
    if isinstance(made, Mapping):
        return dict(made)
    if hasattr(made, "model_dump"):
        return made.model_dump(exclude_none=True)
    return (
        {key: _plain(value) for key, value in vars(made).items()}
        if hasattr(made, "__dict__")
        else made
    )


_NOT_SENT = {"extra_headers", "extra_query", "default_headers", "timeout"}
"""Parameters that are for the client, and no part of what the model is asked."""
_SECRET = re.compile(
    r"(.*[_-])?(api[_-]?key|secret|password|authorization|(access|auth|bearer)[_-]?token)", re.I
)
_HIDDEN = "(not kept)"


def around_messages(request: Mapping[str, Any]) -> dict[str, Any]:
    """All of a request but its messages, in its order, as JSON values; None stands for them.

    Texts by names such as `api_key` are not told, nor is what only the client reads.
    """
    return {
        name: None if name == "messages" else _told(name, value)
        for name, value in request.items()
        if name not in _NOT_SENT
    }


def _told(name: str, value: Any) -> Any:
    try:
        plain = json.loads(json.dumps(value, default=_by_kind, skipkeys=True))
    except (ValueError, RecursionError):  # it holds itself, or nests without an end
        return _by_kind(value)
    return _without_secrets(name, plain)


def _without_secrets(name: str, value: Any) -> Any:
    """A schema may well describe a field `password`: only texts are taken for secrets."""
    match value:
        case str():
            return _HIDDEN if _SECRET.fullmatch(name) else value
        case list():
            return [_without_secrets(name, each) for each in value]
        case dict():
            return {key: _without_secrets(key, each) for key, each in value.items()}
        case _:
            return value


def _by_kind(value: object) -> str:
    kind = value if isinstance(value, type) else type(value)
    return f"<{kind.__module__}.{kind.__qualname__}>"
