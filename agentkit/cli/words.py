"""The words for facts that the commands tell; nothing reads them but people."""

from __future__ import annotations

import math

from agentkit.events import ReplyEnd, WantedCall
from agentkit.llm.calls.limits import name_limit
from agentkit.options import Moment
from agentkit.reasons import EndKind, EndReason

CUT: dict[ReplyEnd, str] = {
    "token_limit": "the model reached its limit of tokens",
    "filtered": "a filter of the provider stopped the model",
    "broken_off": "the server went away without saying that this was all",
    "too_long": "the model wrote more than is taken of one reply",
}
"""What cut an answer."""
RETRIES = {
    "RateLimited": "rate limited",
    "ModelTimedOut": "no answer in time",
    "ModelUnreachable": "the server could not answer",
}
"""Why a call is tried again, by the kind of error."""
OPTIONS: dict[str, str] = {
    "approve": "Approve",
    "approve_all": "Approve all",
    "always": "Always allow",
    "reject": "Reject",
    "finish": "Finish here",
    "yes": "Yes",
    "no": "No",
    "nobody": "Nobody",
}
"""What a person may choose, by its key."""
MOMENTS: dict[Moment, str] = {
    "turn": (
        "Your turn. Answer {to}, press Enter to let them go on, or type {end} to end with what"
        " there is."
    ),
    "close": "{to} is done. Say what is still missing or wrong, or press Enter to end here.",
}
"""What is asked of a person who takes part."""
_AGAIN = "\n  It had begun when the app was closed, and it is not known whether it was done."
_ENDS: dict[EndKind, str] = {
    "replies": "the limit of {limit} steps was reached",
    "turns": "the limit of {limit} turns was reached",
    "rounds": "the limit of {limit} messages was reached",
    "silent": "{agent} gave no reply",
    "person": "the person behind {agent} ended the chat",
    "finished": "you ended the discussion",
    "speakers": "{told}",
    "allowance": "the limit of {limit} was reached",
    "budget": "the budget of {limit} a {scope} is used up",
    "price": "the price of {what} is unknown, so a limit of {limit} cannot be kept",
    "window": "{agent} has no tokens left",
    "passages": "{agent} has no further passages",
    "no passages": "{agent} found no passages",
    "long passages": "{agent} found only passages that do not fit into {limit} tokens",
    "other": "{told}",
}


def describe_retry(model: str, error_type: str, seconds: float) -> str:
    """What is told when a call of a model that failed is tried again."""
    reason = RETRIES.get(error_type, "no answer")
    return f"{model}: {reason}, next try in {math.ceil(seconds)} s"


def describe_end(end: EndReason) -> str:
    """Why an answer ended, without a full stop; for what needs no words its kind."""
    return _ENDS.get(end.kind, end.kind).format(
        agent=end.agent,
        limit=name_limit(end),
        told=end.told.rstrip("."),
        scope=end.scope,
        what=f"the model {end.model}" if end.model else "earlier calls",
    )


def describe_wanted(wants: WantedCall) -> str:
    """Who asks to use which tool, as a question."""
    server = ""
    if wants.server:
        server = f" of the MCP server {wants.server}"
    asked = f"{wants.agent} asks: May I use {wants.tool}{server}?"
    if wants.again:
        return f"{asked}{_AGAIN}"
    return asked
