"""Why a chat or an answer ended, as a value; sentences are made of it where somebody reads them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

EndKind = Literal[
    "answered",  # the answer is there
    "no evidence",  # it cites nothing
    "stopped",  # the person stopped it
    "terminated",  # `agent` sent a termination message
    "replies",  # `agent` made `limit` automatic replies in a row
    "turns",  # `limit` round trips
    "rounds",  # `limit` messages of a group
    "silent",  # `agent` gave no reply
    "person",  # the person behind `agent` ended it
    "finished",  # the person who watches a group wants to hear nobody any more
    "speakers",  # nobody may speak next, because of `told`
    "allowance",  # the next call would go beyond `limit` `unit`
    "budget",  # the next call would go beyond the budget of `limit` `unit` a `scope`
    "price",  # as the price of `model` (empty: of earlier calls) is unknown, `limit` cannot be kept
    "window",  # `agent` has `used` of the `limit` tokens of `model`
    "passages",  # `agent` has no further passages
    "no passages",  # `agent` found none
    "long passages",  # `agent` found none that fit into `limit` tokens
    "other",  # as `told` says
]
Unit = Literal["tokens", "dollars"]
_NOT_GIVEN = (None, "")


@dataclass(frozen=True, slots=True)
class EndReason:
    """Why something ended; which of the fields are given depends on the kind."""

    kind: EndKind
    agent: str = ""
    """Name of the agent that the reason is about."""
    limit: float | None = None
    """The limit that was reached."""
    unit: Unit | None = None
    """What the limit counts, where the kind does not say it."""
    used: float | None = None
    model: str = ""
    scope: str = ""
    """Of what a budget is: a question, chat, day or month."""
    told: str = ""
    """What a function or an error of somebody else says about it."""

    @property
    def is_final(self) -> bool:
        """Whether the agent replies to nothing more in this chat; else the other one may go on."""
        return self.kind in ("person", "replies", "terminated", "window")

    def to_json(self) -> dict[str, Any]:
        """The fields that are given, as they travel with a message."""
        fields = dataclasses.asdict(self).items()
        return {name: value for name, value in fields if value not in _NOT_GIVEN}


ANSWERED = EndReason("answered")
NO_EVIDENCE = EndReason("no evidence")
STOPPED = EndReason("stopped")
_FIELDS = frozenset(one.name for one in dataclasses.fields(EndReason))


def end_from_json(data: object) -> EndReason | None:
    """What `to_json` made; None for what this version cannot read."""
    if not isinstance(data, Mapping) or data.get("kind") not in get_args(EndKind):
        return None
    return EndReason(**{name: data[name] for name in _FIELDS & data.keys()})
