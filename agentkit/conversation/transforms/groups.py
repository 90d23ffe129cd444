"""Which messages belong together, to which of them a transform applies, and the texts in them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from agentkit.conversation.checks import check_kind
from agentkit.conversation.transforms.base import Messages
from agentkit.core.given import coalesce, list_missing, pick_kind
from agentkit.errors import WrongArgument
from agentkit.messages import AnyMessage, Given, has_calls, is_result


def group(messages: Messages) -> list[Messages]:
    """The messages in order, a call of tools in one group with its results; a model accepts neither
    without the other.
    """
    groups: list[Messages] = []
    follows_call = False
    for message in messages:
        if not (follows_call and is_result(message)):
            follows_call = has_calls(message)
            groups.append([])
        groups[-1].append(message)
    return groups


def split_head(messages: Messages, *, keep_first: bool = False) -> tuple[Messages, list[Messages]]:
    """The system message (or with `keep_first` the first group) that stays at the head, and the
    groups behind it.
    """
    groups = group(messages)
    if keep_first or _begins_with_system(messages):
        return next(iter(groups), []), groups[1:]
    return [], groups


def _begins_with_system(messages: Messages) -> bool:
    first = next(iter(messages), {})
    return first.get("role") == "system"


class MessageFilter:
    """Which messages a transform changes.

    `filter_dict` gives for a key of messages the wanted values; without it all messages are
    changed. With `exclude_filter`, messages that have any of them are left alone; else only those
    that have all of them are changed.
    """

    def __init__(self, filter_dict: Mapping[str, object] | None, exclude_filter: bool) -> None:
        given = coalesce(filter_dict, {})
        self._wanted = {key: _to_values(wanted) for key, wanted in given.items()}
        self._decide: Callable[[Iterable[bool]], bool] = all
        if exclude_filter:
            self._decide = _are_none

    def accepts(self, message: AnyMessage) -> bool:
        """Whether the message is to be changed."""
        met = [_has_any(message.get(key), wanted) for key, wanted in self._wanted.items()]
        return self._decide(met)

    def change(self, messages: Messages, change: Callable[[Given], Given]) -> Messages:
        """All messages in order, those that are accepted as `change` makes them."""
        changed = list(messages)
        for place, message in enumerate(messages):
            if self.accepts(message):
                changed[place] = change(message)
        return changed


def _are_none(met: Iterable[bool]) -> bool:
    return not any(met)


def _has_any(value: object, wanted: Collection[object]) -> bool:
    """Whether the value, or one of several, is wanted; None never is."""
    values = list_missing(_to_values(value), [None])
    return any(each in wanted for each in values)


def _to_values(value: object) -> Collection[object]:
    """A value alone, or what is in a list or set of several."""
    if isinstance(value, Sequence | AbstractSet) and not isinstance(value, str):
        return value
    return [value]


def has_text(part: object) -> bool:
    """Whether this part of a content is a dict with a text that is not empty."""
    return isinstance(part, dict) and bool(part.get("text"))


def find_texts(content: object) -> list[str]:
    """The texts of a content: itself, or those of its parts."""
    if not isinstance(content, list):
        return pick_kind([_get_text(content)], str)
    return pick_kind(map(_get_text, content), str)


def _get_text(part: object) -> object:
    if isinstance(part, dict):
        return part.get("text")
    return part


def change_texts(content: object, change: Callable[[str], str]) -> object:
    """The content with its texts changed; pictures and the like stay."""
    if isinstance(content, str):
        return change(content)
    if not isinstance(content, list):
        return content
    changed = list(content)
    for place, part in enumerate(content):
        if has_text(part):
            changed[place] = {**part, "text": change(part["text"])}
    return changed


def check_limit(owner: str, argument: str, value: int | None, least: int) -> None:
    """Raise WrongType for anything but a whole number or None, WrongArgument for less than
    `least`.
    """
    check_kind(owner, argument, value, int | None, "a whole number")
    if coalesce(value, least) < least:
        raise WrongArgument(f"{owner}: {argument}={value} must be None or at least {least}.")
