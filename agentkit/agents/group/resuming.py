"""Reading back the messages of an earlier group chat."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from typing import Any

from agentkit.errors import WrongArgument, WrongType
from agentkit.messages import Stored


def parsed(text: str) -> list[Stored]:
    """The messages in a JSON text; raises WrongArgument for what is no list of messages, WrongType for what is no text."""
    if not isinstance(text, str):
        raise WrongType(f"messages_from_string reads a JSON text, not {text!r:.80}.")
    try:
        messages = json.loads(text)
    except json.JSONDecodeError as error:
        raise WrongArgument(f"The messages are no valid JSON ({error}): {text!r:.80}.") from None
    return _list_of_messages(messages)


def checked(messages: Any, names: Collection[str], manager: str) -> list[Stored]:
    """Copies of the messages, each with the name of an agent of the group or of the manager.

    Raises WrongType for no list, WrongArgument for an empty one and for names of strangers.
    """
    if not isinstance(messages, list):
        raise WrongType(f"{manager}: the messages to resume must be a list of dicts or a JSON text, not {messages!r:.80}.")
    if not messages:
        raise WrongArgument(f"{manager}: there are no messages to resume; begin a new chat with initiate_chat.")
    copies: list[Stored] = [{**message, "name": message.get("name") or manager} for message in _list_of_messages(messages)]
    for index, message in enumerate(copies):
        if message["name"] not in (*names, manager) and message.get("role") != "function":
            raise WrongArgument(
                f"{manager}: message {index} is by {message['name']!r}, who is not in the group {[*names]}; add that agent first."
            )
    return copies


def without_termination(message: Stored, remove: str | Callable[[str], str] | None) -> Stored:
    """The message without the termination string: the text to delete, or a function over the content."""
    content = message.get("content")
    if remove is None or not isinstance(content, str):
        return message
    if not isinstance(remove, str) and not callable(remove):
        raise WrongType(f"remove_termination_string must be a text, a function or None, not {remove!r}.")
    return {**message, "content": content.replace(remove, "") if isinstance(remove, str) else remove(content)}


def _list_of_messages(value: Any) -> list[Stored]:
    if not isinstance(value, list) or not all(isinstance(message, dict) for message in value):
        raise WrongArgument(f"Messages must be a list of dicts, not {value!r:.80}.")
    return value
