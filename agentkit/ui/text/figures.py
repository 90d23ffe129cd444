"""Numbers as people read them: thousands separators, units, and what an answer took."""

from __future__ import annotations

import math
from typing import Protocol

from agentkit.core.given import join_filled
from agentkit.ledger.queries import Totals

_MOST_DIGITS = 10


def count(number: int, noun: str = "") -> str:
    """`1,203`, or with a noun `1,203 chunks` and `1 chunk`."""
    if not noun:
        return f"{number:,}"
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


class _Estimated(Protocol):
    @property
    def estimated(self) -> bool: ...


def about(told: _Estimated) -> str:
    """What stands before numbers that are estimated."""
    if told.estimated:
        return "about "
    return ""


def short(number: int) -> str:
    """`980`, `12.4k`, `1.05M`, `17.86B`."""
    if number < 1_000:
        return str(number)
    if number >= 999_995_000:
        return f"{number / 1_000_000_000:,.2f}B"
    if number < 999_950:
        return f"{number / 1_000:.1f}k"
    return f"{number / 1_000_000:.2f}M"


def seconds(value: float) -> str:
    """`0.04 s`, `3.2 s`, `2 min 5 s`, `6 h 4 min`."""
    if value >= 3600:
        return f"{int(value // 3600):,} h {int(value % 3600 // 60)} min"
    if value >= 60:
        return f"{int(value // 60)} min {int(value % 60)} s"
    if value < 1:
        return f"{value:.2f} s"
    return f"{value:.1f} s"


def ends(low: float, high: float) -> str:
    """`-0.16 to +0.03`: between which values two shares differ, which is never by more than 1."""
    return f"{max(-1.0, low):+.2f} to {min(1.0, high):+.2f}"


def milliseconds(value: float) -> str:
    """Seconds as `4.7 ms` or `1,240 ms`."""
    if value < 0.01:
        return f"{value * 1_000:.1f} ms"
    return f"{value * 1_000:,.0f} ms"


def dollars(value: float) -> str:
    """US dollars with enough digits that a small amount is not shown as nothing."""
    if value == 0 or value >= 1:
        return f"${value:,.2f}"
    if value >= 0.01:
        return f"${value:.4f}"
    digits = 1 - math.floor(math.log10(value))  # two that are not 0
    if digits <= _MOST_DIGITS:
        return "$" + f"{value:.{digits}f}".rstrip("0")
    return "under $0.000000001"


def cost(totals: Totals) -> str:
    """What the calls cost, in words that never show an unknown price as nothing."""
    if totals.unpriced:
        if totals.cost:
            return f"{dollars(totals.cost)} and {count(totals.unpriced, 'call')} of unknown price"
        return "price unknown"
    if totals.cost:
        return dollars(totals.cost)
    return _free(totals)


def _free(totals: Totals) -> str:
    """Why calls cost nothing."""
    if totals.elsewhere:
        return "free of charge"
    if totals.answered:
        return "free, on this machine"
    if totals.cached:
        return "cached, nothing to pay"
    if totals.failed:
        return "failed, nothing to pay"
    return "free, on this machine"


def briefly(totals: Totals, model: str) -> str:
    """The line under an answer: model, seconds, and what is to be paid for it."""
    parts = [model, seconds(totals.seconds), dollars(totals.cost) if totals.cost else ""]
    return join_filled(" · ", parts)


def took(totals: Totals, model: str) -> list[str]:
    """All that is known of what an answer took: model, tokens in and out, cost, seconds, time to
    the first word.
    """
    tokens = f"{about(totals)}{count(totals.prompt_tokens)} tokens in"
    parts = [
        model,
        f"{tokens}, {count(totals.completion_tokens)} out",
        cost(totals),
        seconds(totals.seconds),
    ]
    if totals.first_token_p50_s is not None:
        parts.append(f"first word after {seconds(totals.first_token_p50_s)}")
    return [part for part in parts if part]


def so_far(totals: Totals) -> str:
    """What a run has taken by now: tokens in and out together, and cost; empty for nothing."""
    tokens = totals.prompt_tokens + totals.completion_tokens
    if not tokens:
        return ""
    about = "about " * totals.estimated
    paid = ""
    if totals.cost or totals.unpriced:
        paid = f", {cost(totals)}"
    return f"{about}{count(tokens, 'token')} so far{paid}"


def size(number: int) -> str:
    """Bytes as `640 bytes`, `12 kB`, `3.4 MB`."""
    if number < 1000:
        return count(number, "byte")
    if number < 1e6:
        return f"{number / 1e3:,.0f} kB"
    return f"{number / 1e6:,.1f} MB"
