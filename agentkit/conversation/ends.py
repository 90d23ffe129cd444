"""Why a chat ended, as `stop_reason` and the console say it; what decides is the EndReason."""

from __future__ import annotations

from agentkit.llm.calls.limits import name_limit
from agentkit.reasons import EndKind, EndReason

_WORDS: dict[EndKind, str] = {
    "terminated": "{agent} sent a termination message",
    "replies": "{agent} reached its limit of automatic replies ({limit})",
    "turns": "the limit of {limit} turns was reached",
    "rounds": "max_round reached ({limit})",
    "silent": "{agent} gave no reply",
    "person": "the person behind {agent} ended the chat",
    "finished": "no eligible speaker: the person who watches ended the discussion",
    "speakers": "no eligible speaker: {told}",
    "allowance": "the limit of {limit} was reached",
    "budget": "the budget of {limit} a {scope} is used up",
    "price": "the price of {what} is unknown, so a limit of {limit} cannot be kept",
    "window": "{agent} has no tokens left: {used} of the {limit} of {model} are used",
    "passages": "{agent} has no further passages",
    "no passages": "{agent} found no passages",
    "long passages": "{agent} found only passages that do not fit into {limit} tokens",
    "other": "{told}",
}


def stop_reason(end: EndReason) -> str:
    """The reason in words."""
    return _WORDS.get(end.kind, end.kind).format(
        agent=end.agent,
        limit=name_limit(end),
        used=end.used,
        model=end.model,
        told=end.told,
        scope=end.scope,
        what=f"the model {end.model}" if end.model else "earlier calls",
    )
