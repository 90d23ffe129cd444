"""The models that are offered or were called, with what they cost today and who says so."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Literal

from agentkit.core.address import on_this_machine
from agentkit.core.rates import Rates
from agentkit.errors import ConfigError
from agentkit.ledger import Ledger
from agentkit.ledger.bill import buckets
from agentkit.llm.connections.config import connections, provider_to
from agentkit.llm.prices import find_current, find_own, find_rates
from agentkit.settings import Settings

Origin = Literal["own", "machine", "list", "unknown"]
"""A person's own entry, this machine, where nothing is to be paid, or the installed price list."""
_IN_THIS_PROCESS = ("local", "offline", "scripted", "")


@dataclass(frozen=True, slots=True)
class PricedModel:
    """A model at its server, with what a million tokens cost today."""

    provider: str
    model: str
    origin: Origin
    since: date | None
    """From when on the price of the list counts; None where it does not say."""
    rates: Rates | None
    """None where the price is unknown."""


def list_priced(settings: Settings, ledger: Ledger, owner: str) -> list[PricedModel]:
    """The models of all connections, then those that the owner's calls went to, each once; models
    of this process are left out.
    """
    called = buckets.list_called(ledger, owner)
    each = dict.fromkeys([*_list_offered(settings), *called])
    now = datetime.now(UTC)
    return [
        _price_today(provider, model, now)
        for provider, model in each
        if provider not in _IN_THIS_PROCESS
    ]


def _list_offered(settings: Settings) -> list[tuple[str, str]]:
    """The servers and models of all connections; none where those cannot be read, which is told
    where they are set.
    """
    try:
        known = connections(settings)
    except ConfigError:
        return []
    return [
        (provider_to(one), model) for one in known for model in (*one.models, *one.embedding_models)
    ]


def _price_today(provider: str, model: str, now: datetime) -> PricedModel:
    rates = find_rates(model, provider, now)
    if find_own(model, provider, now) is not None:
        return PricedModel(provider, model, "own", None, rates)
    if on_this_machine(provider):
        return PricedModel(provider, model, "machine", None, rates)
    listed = find_current(model, provider, now.date())
    if listed is None:
        return PricedModel(provider, model, "unknown", None, rates)
    since = None if listed.since == date.min else listed.since
    return PricedModel(provider, model, "list", since, rates)
