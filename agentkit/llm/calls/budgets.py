"""Budgets of money and tokens at the calls of language models: what is nearly used up is told, what
would go beyond is not asked.

Before a call stands its prompt with its tools: it takes at least that. What embedding and reranking
take is in the sums, and nothing of that is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from agentkit.core import bus
from agentkit.errors import LimitReached
from agentkit.events import LimitTold, Usage
from agentkit.ledger.bill.bill import Purse
from agentkit.ledger.bill.budgets import Standing
from agentkit.llm.calls.limits import in_words
from agentkit.llm.model import Model
from agentkit.llm.tokens.counting import counter_of
from agentkit.messages import AnyMessage
from agentkit.reasons import EndReason


@contextmanager
def budgeted(purse: Purse) -> Iterator[None]:
    """Hold the enclosed work, in its threads and tasks too, to the budgets of a purse."""
    token = _purse.set(purse)
    try:
        yield
    finally:
        _purse.reset(token)


@contextmanager
def reserve(
    model: Model,
    messages: Sequence[AnyMessage],
    tools: Sequence[Mapping[str, object]],
    agent: str,
    call_id: str,
) -> Iterator[None]:
    """Keep free what a call will take at least, until it is stored or has failed; raises
    LimitReached beyond a budget.
    """
    purse = _purse.get()
    if purse is None or not purse.holds():
        yield
        return
    prompt, _ = counter_of(model).prompt(messages, tools)
    _reserve(purse, model, prompt, agent, call_id)
    try:
        yield
    finally:
        purse.release(call_id)


def to_end(told: LimitTold) -> EndReason:
    """Why no call was made, of a budget that is used up."""
    return EndReason("budget", told.agent, told.limit, told.unit, told.used, scope=told.scope)


def _reserve(purse: Purse, model: Model, prompt: int, agent: str, call_id: str) -> None:
    """Reserve it, and tell what there is to tell of the budgets."""
    dollars = model.price(Usage(input=prompt))
    outcome = purse.reserve(call_id, prompt, dollars)
    if outcome.refused is not None:
        told = _tell(outcome.refused, agent, reached=True)
        bus.emit(told)
        error = LimitReached(in_words(told))
        error.end = to_end(told)
        raise error
    for standing in outcome.standings:
        _warn(purse, standing, agent)
        if dollars is None and standing.budget.unit == "dollars":
            _tell_unpriced(purse, standing, model.name, agent)


def _warn(purse: Purse, standing: Standing, agent: str) -> None:
    """Tell once that it is nearly used up."""
    budget = standing.budget
    if standing.share >= budget.warn_at and purse.is_new(budget.id, "warned"):
        bus.emit(_tell(standing, agent))


def _tell_unpriced(purse: Purse, standing: Standing, model: str, agent: str) -> None:
    """Tell once of a model that it cannot be counted."""
    if purse.is_new(standing.budget.id, f"unpriced {model}"):
        bus.emit(_tell(standing, agent, unpriced=model))


def _tell(
    standing: Standing, agent: str, *, reached: bool = False, unpriced: str = ""
) -> LimitTold:
    budget = standing.budget
    return LimitTold(
        agent,
        budget.scope,
        budget.unit,
        standing.used,
        standing.limit,
        reached,
        budget.id,
        unpriced,
    )


_purse: ContextVar[Purse | None] = ContextVar("agentkit_purse", default=None)
