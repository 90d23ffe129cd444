"""What a call cost, in US dollars: by a person's own price, else by the price list that is
installed; never asks the network.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Protocol

from agentkit.core.address import on_this_machine
from agentkit.core.rates import FREE, Rates
from agentkit.events import Usage

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice


class Book(Protocol):
    """Prices that people entered."""

    def find(self, model: str, provider: str, at: datetime) -> Rates | None:
        """Those of that moment (UTC); None where nobody entered any."""


@dataclass(frozen=True, slots=True)
class Listed:
    """What the installed price list says of a model from a day on."""

    since: date
    """`date.min`: ever since."""
    rates: Rates


class _NoBook:
    """Nobody entered a price."""

    def find(self, model: str, provider: str, at: datetime) -> Rates | None:
        return None


_books: list[Book] = [_NoBook()]
_HOST = re.compile("[.:]")
"""What hosts have in their names, and no id of the price list."""


def use_book(book: Book) -> None:
    """Let a person's own prices go before the list, in this process; of several the last one."""
    _books.append(book)


def put_away(book: Book) -> None:
    """Look into it no more."""
    with suppress(ValueError):  # a workspace may be closed twice
        _books.remove(book)


def price(model: str, provider: str, usage: Usage, at: datetime | None = None) -> float | None:
    """Dollars for this usage, at the prices of that moment (UTC, by default now); None when the
    price is unknown.

    `provider` is `openai`, another id of the price list, or the host of a server, such as
    `api.mistral.ai`. What a person entered counts first. Else what runs on this machine, in this
    process or at a loopback address, costs nothing.
    """
    when = at or datetime.now(UTC)
    own = find_own(model, provider, when)
    if own is not None:
        return own.cost(usage)
    if on_this_machine(provider):
        return 0.0
    import genai_prices

    counted = genai_prices.Usage(
        input_tokens=usage.prompt,
        cache_read_tokens=usage.cache_read,
        cache_write_tokens=usage.cache_write,
        output_tokens=usage.completion,
    )
    try:
        listed = _find_model(model, provider)
        found = listed.get_prices(when).calc_price(counted)
    except (LookupError, ValueError):
        return None
    return float(found["total_price"])


def find_own(model: str, provider: str, at: datetime) -> Rates | None:
    """What a person entered for that moment (UTC); None for nothing."""
    return _books[-1].find(model, provider, at)


def is_own(model: str, provider: str) -> bool:
    """Whether a person entered a price that counts now."""
    return find_own(model, provider, datetime.now(UTC)) is not None


def find_listed(model: str, provider: str) -> list[Listed]:
    """What the installed list says of a model, by the days from which it counts; empty where it
    does not know it.
    """
    try:
        listed = _find_model(model, provider)
    except LookupError:
        return []
    return list(_read_validity(listed))


def find_rates(model: str, provider: str, at: datetime) -> Rates | None:
    """What a million tokens cost at that moment (UTC), below the steps of prices by length; None
    when that is unknown.
    """
    own = find_own(model, provider, at)
    if own is not None:
        return own
    if on_this_machine(provider):
        return FREE
    listed = find_current(model, provider, at.date())
    if listed is None:
        return None
    return listed.rates


def find_current(model: str, provider: str, day: date) -> Listed | None:
    """What the installed list says of a model on that day; None where it does not know it."""
    begun: list[Listed | None] = [None]
    begun += [one for one in find_listed(model, provider) if one.since <= day]
    return begun[-1]


def _find_model(model: str, provider: str) -> ModelInfo:
    """What the list has of a model; raises LookupError."""
    from genai_prices import data_snapshot

    known = data_snapshot.get_snapshot()
    if _HOST.search(provider):
        address = f"https://{provider}"
        _, found = known.find_provider_model(model, None, None, address)
        return found
    _, found = known.find_provider_model(model, None, provider, None)
    return found


def _read_validity(listed: ModelInfo) -> Iterator[Listed]:
    if not isinstance(listed.prices, list):
        yield Listed(date.min, _to_rates(listed.prices))
        return
    for one in listed.prices:
        begins = getattr(one.constraint, "start_date", date.min)
        yield Listed(begins, _to_rates(one.prices))


def _to_rates(listed: ModelPrice) -> Rates:
    """Where the list says nothing of a cache, its tokens cost what others cost."""
    input_price = _to_number(listed.input_mtok, 0.0)
    return Rates(
        input_price,
        _to_number(listed.output_mtok, 0.0),
        _to_number(listed.cache_read_mtok, input_price),
        _to_number(listed.cache_write_mtok, input_price),
    )


def _to_number(listed: object, missing: float) -> float:
    """A price, or the first of those by length."""
    if listed is None:
        return missing
    return float(str(getattr(listed, "base", listed)))
