"""What a person may choose when a run asks, as keys; the words for them stand where people read
them.
"""

from __future__ import annotations

from typing import Literal

InputMode = Literal["ALWAYS", "NEVER", "TERMINATE"]
"""When the person behind an agent is asked: before each of its replies, never, or when it would
reply no more. Source of the names: AutoGen 0.2.
"""
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh"]
"""How much a model that thinks is to think before it answers. Source of the names: OpenAI."""
Moment = Literal[
    "",  # a question of its own
    "turn",  # the person may speak before the agents go on: an empty answer lets them go on
    "close",  # the agents are done: an empty answer ends it
]
"""When in a chat between agents the person is asked; at a turn and at the close, `END` ends it."""
END = "exit"
"""The answer that ends a chat, as in AutoGen."""
PLAN = "plan"
"""The language of a draft that is a plan; all others are of code, arguments and texts."""
OptionKey = Literal[
    "approve",  # it may run
    "approve_all",  # and all of its kind, until the answer is there
    "always",  # and this tool from now on, in every chat
    "edit",  # what stands below the key is to run instead
    "reject",  # it may not run; below the key may stand why
    "finish",  # nobody of the group is to speak any more
    "yes",
    "no",
    "nobody",  # none of those that are named
]
_LABELS: dict[str, OptionKey] = {
    "Approve": "approve",
    "Approve all": "approve_all",
    "Always allow": "always",
    "Edit": "edit",
    "Reject": "reject",
    "Finish here": "finish",
}
"""What older versions stored, and scripts that were written for them answer, in place of keys."""


def key_of(option: str) -> str:
    """The key of an option, also of one that an older version stored; a name stands for itself."""
    return _LABELS.get(option, option)


def read_choice(answer: str) -> tuple[str, str]:
    """What an answer chooses, as a key or a name, and what goes with it: a draft or a reason."""
    first, _, rest = answer.partition("\n")
    return key_of(first), rest
