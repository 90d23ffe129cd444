"""Which messages belong together, and to which of them a transform applies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentkit.conversation.transforms.base import Messages
from agentkit.messages import AnyMessage, has_calls, is_result


def groups(messages: Messages) -> list[Messages]:
    """The messages in order, a call of tools in one group with its results; a model accepts neither
    without the other.
    """
    found: list[Messages] = []
    for message in messages:
        if found and is_result(message) and has_calls(found[-1][0]):
            found[-1].append(message)
        else:
            found.append([message])
    return found


def head_and_rest(
    messages: Messages, *, keep_first: bool = False
) -> tuple[Messages, list[Messages]]:
    """The system message (or with `keep_first` the first group) that stays at the head, and the
    groups behind it.
    """
    found = groups(messages)
    if found and (keep_first or found[0][0].get("role") == "system"):
        return found[0], found[1:]
    return [], found


def applies(
    message: AnyMessage, filter_dict: Mapping[str, object] | None, exclude_filter: bool
) -> bool:
    """Whether a transform with this filter is to change the message.

    `filter_dict` gives for a key of messages the wanted values. With `exclude_filter`, messages
    that have any of them are left alone; else only those that have all of them are changed.
    """
    if not filter_dict:
        return True
    met = [_meets(message.get(key), wanted) for key, wanted in filter_dict.items()]
    return not any(met) if exclude_filter else all(met)


def _meets(value: object, wanted: object) -> bool:
    values = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    allowed = wanted if isinstance(wanted, (list, tuple, set, frozenset)) else [wanted]
    return any(item is not None and item in allowed for item in values)
