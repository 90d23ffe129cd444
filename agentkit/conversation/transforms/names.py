"""The speaker's name in the text, for models that ignore the field `name`."""

from __future__ import annotations

from collections import deque
from itertools import compress, count

from agentkit.conversation.transforms.base import Messages
from agentkit.conversation.transforms.groups import MessageFilter, has_text
from agentkit.errors import WrongArgument
from agentkit.messages import Given


class TextMessageContentName:
    """Puts the name of each message's speaker before (`position="start"`) or behind (`"end"`) its
    text.

    `format_string` holds `{name}` and no other field. With `deduplicate` a text that has it there
    already is left alone, as are messages without a name or a text; of a list of parts, the first
    or the last text gets it. For `filter_dict` see
    `agentkit.conversation.transforms.groups.MessageFilter`. Raises WrongArgument for other
    arguments.
    """

    def __init__(
        self,
        position: str = "start",
        format_string: str = "{name}:\n",
        deduplicate: bool = True,
        filter_dict: Given | None = None,
        exclude_filter: bool = True,
    ) -> None:
        if position not in ("start", "end"):
            raise WrongArgument(
                f"TextMessageContentName: position={position!r} must be 'start' or 'end'."
            )
        if not isinstance(deduplicate, bool):
            raise WrongArgument(
                f"TextMessageContentName: deduplicate={deduplicate!r} must be True or False."
            )
        if not _is_format(format_string):
            raise WrongArgument(
                f"TextMessageContentName: format_string={format_string!r} must be a text with"
                " {name} alone in it."
            )
        self._at_start = position == "start"
        self._format_string = format_string
        self._deduplicate = deduplicate
        self._filter = MessageFilter(filter_dict, exclude_filter)

    def apply_transform(self, messages: Messages) -> Messages:
        """All messages, as a new list; those that are changed are new dicts."""
        return self._filter.change(messages, self._add_name)

    def get_logs(
        self, pre_transform_messages: Messages, post_transform_messages: Messages
    ) -> tuple[str, bool]:
        """How many messages were changed, and whether any were."""
        pairs = zip(pre_transform_messages, post_transform_messages, strict=False)
        changed = sum(before.get("content") != after.get("content") for before, after in pairs)
        if not changed:
            return "No messages changed to incorporate name.", False
        return f"{changed} message(s) changed to incorporate name.", True

    def _add_name(self, message: Given) -> Given:
        content, name = message.get("content"), message.get("name")
        if not content or not name:
            return message
        label = self._format_string.format(name=name)
        if isinstance(content, str):
            return {**message, "content": self._add_label(content, label)}
        parts = list(content)
        places = deque(compress(count(), map(has_text, parts)))
        if not places:
            return message
        place = places.popleft() if self._at_start else places.pop()
        part = parts[place]
        parts[place] = {**part, "text": self._add_label(part["text"], label)}
        return {**message, "content": parts}

    def _add_label(self, text: str, label: str) -> str:
        if self._at_start:
            return label + text.removeprefix(self._find_repeated(label))
        return text.removesuffix(self._find_repeated(label)) + label

    def _find_repeated(self, label: str) -> str:
        """What goes from a text that has the label already."""
        if self._deduplicate:
            return label
        return ""


def _is_format(text: str) -> bool:
    try:
        return "{name}" in str(text) and bool(text.format(name="x"))
    except (LookupError, ValueError):
        return False
