"""Which messages belong together, to which of them a transform applies, and the texts in them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet

from agentkit.conversation.transforms.base import Messages
from agentkit.errors import WrongArgument, WrongType
from agentkit.messages import AnyMessage, Given, has_calls, is_result


def group(messages: Messages) -> list[Messages]:
    """The messages in order, a call of tools in one group with its results; a model accepts neither
    without the other.
    """
    groups: list[Messages] = []
    for message in messages:
        if groups and is_result(message) and has_calls(groups[-1][0]):
            groups[-1].append(message)
        else:
            groups.append([message])
    return groups


def split_head(messages: Messages, *, keep_first: bool = False) -> tuple[Messages, list[Messages]]:
    """The system message (or with `keep_first` the first group) that stays at the head, and the
    groups behind it.
    """
    groups = group(messages)
    if groups and (keep_first or groups[0][0].get("role") == "system"):
        return groups[0], groups[1:]
    return [], groups


class MessageFilter:
    """Which messages a transform changes.

    `filter_dict` gives for a key of messages the wanted values; without it all messages are
    changed. With `exclude_filter`, messages that have any of them are left alone; else only those
    that have all of them are changed.
    """

    def __init__(self, filter_dict: Mapping[str, object] | None, exclude_filter: bool) -> None:
        self._wanted = {key: _to_values(wanted) for key, wanted in (filter_dict or {}).items()}
        self._exclude = exclude_filter

    def accepts(self, message: AnyMessage) -> bool:
        """Whether the message is to be changed."""
        if not self._wanted:
            return True
        met = [_has_any(message.get(key), wanted) for key, wanted in self._wanted.items()]
        return not any(met) if self._exclude else all(met)

    def change(self, messages: Messages, change: Callable[[Given], Given]) -> Messages:
        """All messages in order, those that are accepted as `change` makes them."""
        return [change(message) if self.accepts(message) else message for message in messages]


def _has_any(value: object, wanted: Collection[object]) -> bool:
    return any(one in wanted for one in _to_values(value) if one is not None)


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
        content = [content]
    texts = [part.get("text") if isinstance(part, dict) else part for part in content]
    return [text for text in texts if isinstance(text, str)]


def change_texts(content: object, change: Callable[[str], str]) -> object:
    """The content with its texts changed; pictures and the like stay."""
    if isinstance(content, str):
        return change(content)
    if not isinstance(content, list):
        return content
    return [{**part, "text": change(part["text"])} if has_text(part) else part for part in content]


def check_limit(owner: str, argument: str, value: int | None, least: int) -> None:
    """Raise WrongType for what is neither a whole number nor None, WrongArgument for less than
    `least`.
    """
    if value is None:
        return
    if not isinstance(value, int):
        raise WrongType(f"{owner}: {argument}={value!r} is no whole number.")
    if value < least:
        raise WrongArgument(f"{owner}: {argument}={value} must be None or at least {least}.")
