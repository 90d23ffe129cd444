"""Limits of a run and of a chat, in tokens or US dollars: what is nearly used up is told, what
would go beyond is not asked.

They hold for all calls of language models in the enclosed work, in its threads and tasks too.
Embedding and reranking are not counted: what they take follows from the documents and the
questions, and mostly they run on this
    machine.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Literal

from agentkit.core import bus
from agentkit.core.given import coalesce, find_first, pick_given
from agentkit.core.lenient import is_number
from agentkit.errors import LimitReached, WrongArgument, WrongType
from agentkit.events import LimitTold, Usage
from agentkit.llm.calls.room import find_reply_limit
from agentkit.llm.model import Model
from agentkit.llm.tokens.counting import counter_of
from agentkit.messages import AnyMessage
from agentkit.reasons import EndReason, Unit


@dataclass(frozen=True, slots=True)
class Limit:
    """What may be taken at most; None for any amount. Raises WrongType, or WrongArgument for
    amounts that cannot be.
    """

    tokens: int | None = None
    """Of prompts and replies together."""
    dollars: float | None = None
    warn_at: float = 0.8
    """The share at which it counts as nearly used up."""

    def __post_init__(self) -> None:
        for name in ("tokens", "dollars", "warn_at"):
            _check_amount(name, getattr(self, name))
        if self.warn_at > 1:
            raise WrongArgument(
                f"warn_at of a limit is {self.warn_at!r}; it is a share of the limit, at most 1."
            )


def _check_amount(name: str, value: object) -> None:
    """Raise for anything but None and numbers above 0."""
    if value is None:
        return
    if not is_number(value):
        raise WrongType(f"{name} of a limit is {value!r:.80}; it must be a number.")
    if not 0 < value < math.inf:
        raise WrongArgument(f"{name} of a limit is {value!r}; it must be a number above 0.")


@dataclass(frozen=True, slots=True)
class Used:
    """What calls have taken."""

    tokens: int = 0
    dollars: float | None = 0.0
    """None when the price of one of them is unknown."""


@contextmanager
def limited(
    run: Limit | None = None, chat: Limit | None = None, used_before: Used | None = None
) -> Iterator[None]:
    """Hold the enclosed work to a limit for itself (`run`), and to one for a `chat` that has
    `used_before` what is given.

    Before each call stands what was taken so far, the prompt of the call with its tools, and its
    `max_tokens` where given. At `warn_at` that is told once for each limit; beyond the limit the
    call is not made: LimitTold with `reached`, and LimitReached.
    A chat of agents ends by that, with the reason. Calls that are made side by side count in one
    another with what is known before them. What a cache answers takes nothing. With a limit in
    dollars, a call of unknown price raises LimitReached too.
    Limits around these ones go on to hold. Raises WrongType for anything but a Limit.
    """
    before = coalesce(used_before, Used())
    meters = [*_make_meters("run", run, Used()), *_make_meters("chat", chat, before)]
    token = _active.set((*_active.get(), *meters))
    try:
        yield
    finally:
        _active.reset(token)


def in_words(told: LimitTold) -> str:
    """What a LimitTold says, in a sentence."""
    if told.budget:
        return _describe_budget(told)
    if told.reached:
        who = ""
        if told.agent:
            who = f" of {told.agent}"
        needed = amount(told.unit, told.used)
        return (
            f"The {_limit(told)} was reached: with the next call{who}, the {told.scope} would take"
            f" at least {needed}."
        )
    return (
        f"The {told.scope} has nearly used up the {_limit(told)}: {amount(told.unit, told.used)}"
        " with the call that is made now."
    )


def _describe_budget(told: LimitTold) -> str:
    name, used = f"budget of {amount(told.unit, told.limit)} a {told.scope}", told.used
    if told.unpriced:
        return (
            f"The price of the model {told.unpriced} is unknown: the {name} cannot count its calls."
        )
    needed = amount(told.unit, used)
    if not told.reached:
        return f"The {name} is nearly used up: {needed} with the call that is made now."
    who = ""
    if told.agent:
        who = f" of {told.agent}"
    return f"The {name} is used up: with the next call{who}, it would be at least {needed}."


def end_of(error: LimitReached) -> EndReason:
    """Why no call was made, as the reason for the end of a chat."""
    return coalesce(error.end, EndReason("other", told=str(error).rstrip(".")))


@dataclass(slots=True, eq=False)
class _Meter:
    """One limit in one unit and what has been taken of it."""

    scope: Literal["run", "chat"]
    unit: Unit
    limit: float
    warn_at: float
    taken: float | None
    """None when the price of an earlier call is unknown."""
    pending: dict[Reservation, float] = field(default_factory=dict)
    """What is known of the calls that are under way."""
    has_warned: bool = False

    def is_priced(self) -> bool:
        """Whether it needs the price of every call."""
        return self.unit == "dollars"

    def with_call(self, needed: float) -> float:
        """What is taken, by the calls under way, and by another one."""
        return coalesce(self.taken, 0.0) + sum(self.pending.values()) + needed

    def add(self, spent: float | None) -> None:
        """Count what a call took; None when its price is unknown."""
        if self.taken is None or spent is None:
            self.taken = None
            return
        self.taken += spent

    def allows(self, used: float) -> bool:
        """Whether that is within the limit; sums of prices may miss it by a rounding error."""
        return used <= self.limit or math.isclose(used, self.limit)

    def warn(self, agent: str, used: float) -> LimitTold | None:
        """The event that the limit is nearly used up: once, from `warn_at` on."""
        if self.has_warned or used < self.warn_at * self.limit:
            return None
        self.has_warned = True
        return self.tell(agent, used, reached=False)

    def tell(self, agent: str, used: float, reached: bool) -> LimitTold:
        """The event."""
        return LimitTold(agent, self.scope, self.unit, used, self.limit, reached)


class Reservation:
    """What a call will take at least, kept free of other calls until it is over."""

    def __init__(self, model: Model, meters: Sequence[_Meter]) -> None:
        self._model = model
        self._meters = meters

    def settle(self, usage: Usage, cost: float | None) -> None:
        """Replace it by what the call took; a cost of None is looked up."""
        spent: dict[Unit, float | None] = {"tokens": usage.total, "dollars": cost}
        if cost is None:
            spent["dollars"] = self._model.price(usage)
        with _lock:
            for meter in self._meters:
                meter.add(spent[meter.unit])
        self.release()

    def release(self) -> None:
        """Give back what was not settled."""
        with _lock:
            for meter in self._meters:
                meter.pending.pop(self, None)


@contextmanager
def reserve(
    model: Model,
    messages: Sequence[AnyMessage],
    tools: Sequence[Mapping[str, object]],
    params: Mapping[str, object],
    agent: str,
) -> Iterator[Reservation]:
    """Keep free what a call will take at least, until it is settled or fails; raises LimitReached
    beyond a limit.
    """
    meters = _active.get()
    held = Reservation(model, meters)
    if meters:
        _reserve(held, meters, _find_needs(meters, model, messages, tools, params), agent)
    try:
        yield held
    finally:
        held.release()


def _is_beyond(reckoned: tuple[_Meter, float]) -> bool:
    """Whether a limit does not allow what would be taken of it in all."""
    meter, total = reckoned
    return not meter.allows(total)


def _reserve(
    held: Reservation, meters: Sequence[_Meter], needs: Mapping[Unit, float], agent: str
) -> None:
    told: list[LimitTold | None] = []
    with _lock:
        totals = [(meter, meter.with_call(needs[meter.unit])) for meter in meters]
        beyond = find_first(totals, _is_beyond)
        if beyond is None:
            for meter, total in totals:
                meter.pending[held] = needs[meter.unit]
                told.append(meter.warn(agent, total))
    for warning in filter(None, told):
        bus.emit(warning)
    if beyond is None:
        return
    meter, total = beyond
    reached = meter.tell(agent, total, reached=True)
    bus.emit(reached)
    end = EndReason("allowance", agent, reached.limit, reached.unit)
    raise _refuse(f"{in_words(reached)} Allow more, or let the conversation be shorter.", end)


def _find_needs(
    meters: Sequence[_Meter],
    model: Model,
    messages: Sequence[AnyMessage],
    tools: Sequence[Mapping[str, object]],
    params: Mapping[str, object],
) -> dict[Unit, float]:
    """What is known of a call before it, by unit; raises LimitReached when a price is needed
    and unknown.
    """
    prompt, _ = counter_of(model).prompt(messages, tools)
    reply = find_reply_limit(params)
    priced = list(filter(_Meter.is_priced, meters))
    if not priced:
        return {"tokens": prompt + reply}
    dollars = model.price(Usage(input=prompt, output=reply))
    limit = amount("dollars", priced[0].limit)
    end = EndReason("price", limit=priced[0].limit, unit="dollars")
    if dollars is None:
        raise _refuse(
            f"The price of the model {model.name} is unknown, so a limit of {limit} cannot be kept:"
            ' choose a model of known price, limit the tokens instead, or add "price" to the entry'
            " of a config_list.",
            replace(end, model=model.name),
        )
    if None in map(attrgetter("taken"), priced):
        raise _refuse(
            f"The price of earlier calls is unknown, so a limit of {limit} cannot be kept: begin a"
            " new chat, or limit the tokens instead.",
            end,
        )
    return {"tokens": prompt + reply, "dollars": dollars}


def _make_meters(
    scope: Literal["run", "chat"], limit: Limit | None, before: Used
) -> Iterator[_Meter]:
    if limit is None:
        return
    if not isinstance(limit, Limit):
        raise WrongType(
            f"The limit of a {scope} must be a Limit, such as Limit(tokens=10_000), not {limit!r}."
        )
    most: dict[Unit, float | None] = {"tokens": limit.tokens, "dollars": limit.dollars}
    taken: dict[Unit, float | None] = {"tokens": before.tokens, "dollars": before.dollars}
    for unit, value in pick_given(most).items():
        yield _Meter(scope, unit, value, limit.warn_at, taken[unit])


def _refuse(message: str, end: EndReason) -> LimitReached:
    error = LimitReached(message)
    error.end = end
    return error


def _limit(told: LimitTold) -> str:
    return f"limit of {amount(told.unit, told.limit)}"


def amount(unit: Unit, value: float) -> str:
    """So many tokens or US dollars."""
    if unit == "tokens":
        return f"{value:,.0f} tokens"
    has_whole_cents = math.isclose(value, round(value, 2))
    if value >= 1 or has_whole_cents:
        return f"${value:,.2f}"
    return f"${value:.6f}".rstrip("0")


def name_limit(end: EndReason) -> str | float | None:
    """What was reached: an amount of its unit, or a number of turns or the like."""
    if end.unit and end.limit is not None:
        return amount(end.unit, end.limit)
    return end.limit


_active: ContextVar[tuple[_Meter, ...]] = ContextVar("agentkit_limits", default=())
_lock = threading.Lock()
