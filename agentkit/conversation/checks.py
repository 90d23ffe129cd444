"""What the agents' methods may be given; each check raises at once and names the agent, the
argument and the value.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard, cast

from agentkit.core.given import coalesce
from agentkit.errors import WrongArgument, WrongType
from agentkit.messages import LIST, MAPPING

_FLAGS = (True, False, None)


def check_kind(owner: str, argument: str, value: object, kinds: Any, what: str) -> None:
    """Raise WrongType for a value that is of none of the kinds; `what` says in words what it must
    be.
    """
    if not isinstance(value, kinds):
        raise WrongType(f"{owner}: {argument} must be {what}, not {value!r:.200}.")


def redact(value: object) -> str:
    """A wrong value as an error may show it: of what may hold keys for servers, only what it is."""
    if is_collection(value):
        return f"a {type(value).__name__}"
    return f"{value!r:.80}"


def is_collection(value: object) -> bool:
    """Whether something can be taken from it one by one; a text is not meant as its letters."""
    return isinstance(value, Iterable) and not isinstance(value, str)


def is_whole_number(value: object) -> TypeGuard[int]:
    """Whether it is a whole number; True and False are not."""
    return isinstance(value, int) and not isinstance(value, bool)


def check_text(owner: str, argument: str, value: object) -> None:
    """Raise WrongType for anything but a text or None."""
    check_kind(owner, argument, value, str | None, "a text")


def check_flag(owner: str, argument: str, value: object) -> None:
    """Raise WrongType for anything but True, False and None."""
    if value not in _FLAGS:
        raise WrongType(f"{owner}: {argument} must be True, False or None, not {value!r:.200}.")


def check_count(owner: str, argument: str, value: object) -> None:
    """Raise WrongType for anything but a whole number (or infinity), WrongArgument for a negative
    one.
    """
    if not is_whole_number(value) and value != math.inf:
        raise WrongType(f"{owner}: {argument} must be a whole number, not {value!r:.200}.")
    if cast(float, value) < 0:
        raise WrongArgument(f"{owner}: {argument} must be 0 or more, not {value!r}.")


def check_agent(owner: str, argument: str, value: object, *, needed: bool = False) -> None:
    """Raise WrongType for anything but an agent; None is one unless `needed`, and whatever has a
    name passes.
    """
    if value is None and not needed:
        return
    if not hasattr(value, "name"):
        raise WrongType(f"{owner}: {argument} must be an agent, not {value!r:.200}.")


def check_messages(owner: str, messages: Any) -> None:
    """Raise WrongType for anything but a list of messages; of the messages only the last is looked
    at.
    """
    if type(messages) is list and messages and type(messages[-1]) is dict:
        return  # as good as always
    check_kind(owner, "messages", messages, LIST, "a list of messages")
    check_all(owner, "the messages", messages[-1:], MAPPING, "a dict")


def check_conversations(owner: str, chat_messages: Any) -> None:
    """Raise WrongType for anything but a dict of agents and their messages."""
    check_kind(
        owner, "chat_messages", chat_messages, Mapping | None, "a dict of agents and their messages"
    )
    for peer, messages in coalesce(chat_messages, {}).items():
        check_agent(owner, "each key of chat_messages", peer)
        check_all(owner, "the messages in chat_messages", messages, Mapping, "a dict")


def check_all(owner: str, argument: str, values: Any, kinds: Any, what: str) -> None:
    """Raise WrongType for anything but a list of values of these kinds."""
    check_kind(owner, argument, values, list | tuple, f"a list, each of it {what}")
    for value in values:
        check_kind(owner, f"each of {argument}", value, kinds, what)


def check_ids(owner: str, argument: str, values: object) -> None:
    """Raise WrongType for anything but a collection of ids."""
    if not is_collection(values):
        raise WrongType(f"{owner}: {argument} must be a list, not {values!r:.200}.")


def check_agent_name(name: object) -> str:
    """The name of an agent; raises WrongType and WrongArgument for other values."""
    if not isinstance(name, str):
        raise WrongType(f"An agent's name must be a text, not {name!r}.")
    if not name:
        raise WrongArgument("An agent needs a name that is not empty.")
    return name
