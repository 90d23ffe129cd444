"""The one way to a model: `call` sends messages, streams the reply as events, retries, stops and
counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from agentkit.core import bus, replay, stopping
from agentkit.core.given import coalesce, pick
from agentkit.errors import BadModelReply, ModelError, Stopped
from agentkit.events import CallStatus, ModelCalled, ModelReplied, ReplyEnd, Thinking, Usage
from agentkit.llm.calls import budgets, limits, pictures, returned, room, templates, wishes
from agentkit.llm.calls.ends import end_of, find_half_call
from agentkit.llm.calls.requests import describe_request, find_tools
from agentkit.llm.calls.retrieved import read_thinking, to_message
from agentkit.llm.calls.stream import Streamed, streaming
from agentkit.llm.calls.usage import add_reasoning, check_usage, estimate_usage, to_usage
from agentkit.llm.model import Model, Reply
from agentkit.llm.prices import is_own
from agentkit.llm.response import ModelResponse, to_response
from agentkit.messages import (
    THINKING,
    Message,
    has_calls,
    new_id,
    text_of,
    without_thinking,
)

ATTEMPTS = 3
_FIRST_WAIT_S = 0.5
_LONGEST_WAIT_S = 60.0
_OWN = ("model", "messages", "stream")
"""The keys of a request that callers do not give as parameters."""


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

    What models thought before earlier replies is sent to those alone that want it back, see
    `returned`, and what does not fit into the model's window is shortened, see `room`; raises
    ContextTooLong where that cannot be done, before anything is sent.

    A server whose chat template refuses the order of the messages is asked again in the order that
    templates demand, see `templates`; the model is asked so from then on. So it is without a
    parameter that somebody wished for and the server refuses, see `wishes`, and without the
    pictures of a question, see `pictures`.

    Emits ModelCalled, TokenDelta and ThinkingDelta for what is streamed, and one ModelReplied per
    attempt. Stopped on the way, it returns the part that had come; stopped before or between
    attempts, it raises Stopped. Raises ModelError, for a reply with nothing in it unless it
    `may_be_empty`, LimitReached before an attempt that would go beyond a limit, and whatever a
    client of somebody else raises.
    """
    options = wishes.with_parameters(dict(coalesce(params, {})), agent)
    full = pictures.with_pictures(wishes.with_instructions(list(messages), agent), agent)
    plain = list(map(without_thinking, full))
    fingerprint = _hash_request(model, plain, stream, options)
    form = templates.find_form(model)

    def prepare(told: list[Message]) -> tuple[list[Message], _Call]:
        """What is sent of these messages, and the call that sends it."""
        seen = pictures.to_seen(returned.to_wanted(told, model), model, agent)
        fitting = room.fit_messages(model, seen, find_tools(options), options, agent)
        sent = templates.to_form(fitting, form)
        request = _make_request(model, sent, stream, options)
        return fitting, _Call(
            model, sent, agent, request, may_be_empty, attempts, fingerprint=fingerprint
        )

    fitting, asked = prepare(full)
    if (recording := replay.current()) and (
        known := recording.take_reply(agent, fingerprint, plain)
    ):
        return asked.replay(known)
    if (revised := replay.revise(agent, plain)) is not plain:
        full = revised
        fitting, asked = prepare(full)
    asked = asked.with_options(wishes.to_sendable(model, options, agent))
    attempt = 1
    while True:
        stopping.check()
        try:
            reply = asked.attempt(attempt)
        except ModelError as error:
            if _learn_refusal(error, model, fitting, asked, agent):
                fitting, again = prepare(full)
                asked = asked.with_messages(again.messages)
                asked = asked.with_options(wishes.to_sendable(model, options, agent))
            elif stricter := templates.find_stricter(form, error, fitting):
                form = stricter
                asked = asked.with_messages(templates.to_form(fitting, form))
            elif (wait := asked.wait_s(error, attempt)) is None:
                raise
            else:
                stopping.current().wait(wait)
            attempt += 1
            continue
        if form != templates.find_form(model):
            templates.learn(model, form)
        return reply


def _hash_request(
    model: Model, messages: Sequence[Message], stream: bool | None, options: Mapping[str, Any]
) -> str:
    """By what a recording knows the request again; empty where nobody records."""
    if not bus.has_listeners():
        return ""
    asked = {"model": model.name, "messages": messages, "stream": stream, **options}
    asked["model"] = replay.name_of(asked["model"])
    return replay.hash_of(asked)


def _learn_refusal(
    error: ModelError, model: Model, fitting: Sequence[Message], asked: _Call, agent: str
) -> bool:
    """Whether it was refused as something lacked that is sent from now on, or for pictures or a
    wished parameter, which are not sent again.
    """
    if returned.learn_refusal(error, model):
        return True
    if pictures.learn_blindness(error, model, fitting):
        return True
    return wishes.learn_refusal(error, model, asked.params, agent)


def _make_request(
    model: Model, sent: list[Message], stream: bool | None, options: Mapping[str, Any]
) -> dict[str, Any]:
    """What the model's client is given."""
    request: dict[str, Any] = {"model": model.name, "messages": sent}
    if stream is not None:
        request["stream"] = stream
    request.update(options)
    return request


def recall(
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
    request = {"model": model.name, "messages": messages, **coalesce(params, {})}
    return _Call(model, list(messages), agent, request, may_be_empty=True).recall(response)


@dataclass(frozen=True, slots=True)
class _Cost:
    """What a reply took."""

    usage: Usage
    dollars: float | None
    """None when the price is unknown."""
    tells_reasoning: bool = False
    """Whether the server says how much of it was thinking."""


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
    fingerprint: str = ""
    """The hash of what was asked, before it was shortened or put in order."""

    def with_messages(self, messages: list[Message]) -> _Call:
        """The same call with other messages."""
        return replace(self, messages=messages, params={**self.params, "messages": messages})

    def with_options(self, options: Mapping[str, Any]) -> _Call:
        """The same call with other parameters beside its messages."""
        return replace(self, params={**pick(self.params, _OWN), **options})

    def wait_s(self, error: Exception, attempt: int) -> float | None:
        """Seconds until the attempt after this one; None for no other."""
        after_s = None
        if isinstance(error, ModelError):
            after_s = error.retry_after_s
        if after_s is None or after_s > _LONGEST_WAIT_S or attempt >= self.attempts:
            return None
        backoff: float = _FIRST_WAIT_S * 2 ** (attempt - 1)
        return max(after_s, backoff)

    def attempt(self, number: int) -> Reply:
        """Ask once and report how it went."""
        tools = find_tools(self.params)
        # Budgets are kept free until the call is stored, which is when it is reported.
        with budgets.reserve(self.model, self.messages, tools, self.agent, self.id):
            with limits.reserve(
                self.model, self.messages, tools, self.params, self.agent
            ) as reservation:
                reply = self._attempt(number, reservation)
            self._report(number, reply, "stopped" if reply.stopped else "ok")
        return reply

    def _attempt(self, number: int, reservation: limits.Reservation) -> Reply:
        with streaming(self.agent, self.id, self._report_call) as streamed:
            response: ModelResponse | None = None
            try:
                response = self._create(streamed)
                reply = self._read_reply(response, streamed)
            except Stopped:
                cost = self._estimate(streamed.text, streamed.thinking)
                reply = self._make_partial(streamed, cost)
            except Exception as error:  # a foreign client's own, too: each attempt gets its row
                failed = self._make_partial(streamed, self._count_failed(streamed, response, error))
                reservation.settle(failed.usage, failed.cost)
                if streamed.pieces and isinstance(error, ModelError):
                    error.retry_after_s = None  # what was shown would be shown twice
                self._report(number, failed, "failed", error)
                raise
        reservation.settle(reply.usage, reply.cost)
        return reply

    def recall(self, response: ModelResponse) -> Reply:
        """The reply in a response that a cache kept."""
        with streaming(self.agent, self.id) as streamed:
            reply = self._read_reply(response, streamed)
        self._report_call(self.params)
        self._report(1, replace(reply, usage=Usage(), cost=0.0), "cached")
        return reply

    def replay(self, known: ModelReplied) -> Reply:
        """The reply that was recorded when this was asked before; told as it was told then."""
        self.id = known.call_id
        self._report_call(self.params)
        bus.emit(replace(known, replayed=True))
        message = cast(Message, {"content": known.text, **known.message})
        whole = message
        if known.thinking:
            whole = cast(Message, {**message, THINKING: known.thinking.text})
        return Reply(
            known.text,
            message,
            known.usage,
            known.cost,
            known.model,
            known.provider,
            known.seconds,
            known.first_token_s,
            stopped=False,
            call_id=known.call_id,
            raw=to_response(whole, known.model, known.raw_usage, known.end),
            end=known.end,
            thinking=known.thinking,
        )

    @property
    def _who(self) -> str:
        return self.model.name_for(self.agent)

    def _report_call(self, sent: Mapping[str, Any]) -> None:
        if not bus.has_listeners():
            return
        messages = pictures.to_kept([dict(one) for one in sent.get("messages", self.messages)])
        bus.emit(
            ModelCalled(
                self.id,
                self.agent,
                self.model.provider,
                self.model.name,
                "chat",
                messages,
                describe_request(sent),
                self.fingerprint,
            )
        )

    def _create(self, streamed: Streamed) -> ModelResponse:
        if not getattr(self.model.client, "says_what_it_sends", False):
            streamed.send(self.params)
        try:
            return self.model.client.create(pictures.to_sent(self.params))
        finally:
            if not streamed.is_told:  # it failed before it sent anything
                streamed.send(self.params)
            streamed.close()

    def _read_reply(self, response: ModelResponse, streamed: Streamed) -> Reply:
        """The first message of a response; raises BadModelReply when it cannot be used."""
        retrieved = self.model.client.message_retrieval(response)
        first = None
        if retrieved:
            first = retrieved[0]
        message = to_message(first, self._who)
        thinking = read_thinking(first) or streamed.thinking
        self._check(message, thinking, end_of(response))
        cost = self._count(response, text_of(message.get("content")), thinking)
        reply = self._make_reply(message, streamed, thinking, cost)
        return replace(
            reply,
            model=str(getattr(response, "model", "") or self.model.name),
            stopped=False,
            raw=response,
            end=end_of(response),
        )

    def _check(self, message: Message, thinking: str, end: ReplyEnd) -> None:
        """Raise BadModelReply for a message with nothing in it, or with half a call."""
        is_empty = not message.get("content") and not has_calls(message)
        if is_empty and not self.may_be_empty:
            raise self._empty(thinking)
        if end == "whole":
            return
        half = find_half_call(message)
        if half:
            raise BadModelReply(
                f"{self._who} was cut off while it called {half}, which is not run so; allow more"
                " tokens."
            )

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

    def _count(self, response: ModelResponse, text: str, thinking: str) -> _Cost:
        """What a response took, as the server says; as we count it where the server does not."""
        # The cost before the usage: clients of AutoGen scripts note the cost in the response.
        dollars = self.model.client.cost(response)
        usage = to_usage(self._read_figures(response))
        # Some servers send zeros, or figures by names of their own; limits would never be reached.
        if not usage.total:
            estimate = self._estimate(text, thinking)
            if estimate.dollars is not None:
                return estimate
            return replace(estimate, dollars=dollars)
        full = add_reasoning(usage, thinking, self.model.name)
        if dollars is None or self._is_priced_as_asked(response):
            dollars = self.model.price(full)
        return _Cost(full, dollars, tells_reasoning=usage.reasoning > 0)

    def _is_priced_as_asked(self, response: ModelResponse) -> bool:
        """Whether a price was set for the name that was asked, and none for the one that answered:
        gateways call models otherwise.
        """
        asked, provider = self.model.name, self.model.provider
        if self.model.price_1k:
            return True
        answered = str(getattr(response, "model", "") or asked)
        return is_own(asked, provider) and not is_own(answered, provider)

    def _read_figures(self, response: ModelResponse) -> dict[str, Any]:
        return check_usage(self.model.client.get_usage(response))

    def _estimate(self, text: str, thinking: str) -> _Cost:
        """Our own count of a reply to this call."""
        tools = find_tools(self.params)
        usage = estimate_usage(self.messages, text, self.model.name, tools, thinking)
        return _Cost(usage, self.model.price(usage))

    def _count_failed(
        self, streamed: Streamed, response: ModelResponse | None, error: Exception
    ) -> _Cost:
        """A reply that broke off or is of no use has its price; one that never came has none."""
        if response is not None:
            try:
                return self._count(response, streamed.text, streamed.thinking)
            except Exception:  # noqa: BLE001
                # A client that cannot count; the error to raise is the first one.
                return _Cost(Usage(), None)
        taken = getattr(error, "taken", None)
        usage = to_usage(coalesce(taken, {}))
        if usage.total:
            usage = add_reasoning(usage, streamed.thinking, self.model.name)
            return _Cost(usage, self.model.price(usage))
        has_begun = taken is not None or streamed.pieces or streamed.thoughts
        if not has_begun:
            return _Cost(Usage(), 0.0)
        return self._estimate(streamed.text, streamed.thinking)

    def _make_partial(self, streamed: Streamed, cost: _Cost) -> Reply:
        """What had come until the call was stopped or failed."""
        message: Message = {"role": "assistant", "content": streamed.text}
        return self._make_reply(message, streamed, streamed.thinking, cost)

    def _make_reply(
        self, message: Message, streamed: Streamed, thinking: str, cost: _Cost
    ) -> Reply:
        """The reply as far as it is known without a response."""
        usage = cost.usage
        thought = Thinking(thinking, streamed.thinking_s, usage.reasoning, not cost.tells_reasoning)
        return Reply(
            text_of(message.get("content")),
            message,
            usage,
            cost.dollars,
            self.model.name,
            self.model.provider,
            streamed.seconds,
            streamed.first_token_s,
            stopped=True,
            call_id=self.id,
            thinking=thought if thinking else None,
        )

    def _report(
        self, number: int, reply: Reply, status: CallStatus, error: Exception | None = None
    ) -> None:
        """Say how an attempt ended."""
        replied = ModelReplied(
            self.id,
            self.agent,
            self.model.provider,
            reply.model,
            "chat",
            status,
            reply.text,
            reply.usage,
            reply.seconds,
            reply.first_token_s,
            reply.cost,
            number,
            raw_usage=self._read_figures(reply.raw) if reply.raw is not None else {},
            end=reply.end,
            thinking=reply.thinking,
            asked=self.fingerprint,
            message=_shorten_message(reply),
        )
        if error is not None:
            kind = type(error).__name__
            replied = replace(
                replied,
                error=str(error) or kind,
                error_type=kind,
                retry_in_s=self.wait_s(error, number),
            )
        bus.emit(replied)


def _shorten_message(reply: Reply) -> dict[str, Any]:
    """The reply as it goes into a history, but for content that the text has."""
    message: dict[str, Any] = {**reply.message}
    if message.get("content") == reply.text:
        del message["content"]
    return message
