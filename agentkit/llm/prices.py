"""What a call cost, in US dollars, from the price list that is installed; never asks the
network.
"""

from __future__ import annotations

from agentkit.core.address import on_this_machine
from agentkit.events import Usage


def price(model: str, provider: str, usage: Usage) -> float | None:
    """Dollars for this usage at today's prices; None when the price is unknown.

    `provider` is `openai`, another id of the price list, or the host of a server, such as
    `api.mistral.ai`. What runs on this machine, in this process or at a loopback address, costs
    nothing.
    """
    if on_this_machine(provider):
        return 0.0
    import genai_prices

    counted = genai_prices.Usage(
        input_tokens=usage.prompt,
        cache_read_tokens=usage.cache_read,
        cache_write_tokens=usage.cache_write,
        output_tokens=usage.completion,
    )
    at_host = "." in provider or ":" in provider
    try:
        if at_host:
            found = genai_prices.calc_price(counted, model, provider_api_url=f"https://{provider}")
        else:
            found = genai_prices.calc_price(counted, model, provider_id=provider)
    except LookupError:
        return None
    return float(found.total_price)
