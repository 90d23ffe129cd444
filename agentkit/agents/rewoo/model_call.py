"""Asking a language model of any kind: a Model, an OpenAIWrapper, a model with lagent's methods, a
function.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, cast

from agentkit.core.given import find_value
from agentkit.core.twin import finish
from agentkit.errors import BadModelReply, Stopped, WrongType
from agentkit.llm.calls.client import call
from agentkit.llm.model import Model
from agentkit.messages import Message, field_of, text_of

Messages = Sequence[Mapping[str, Any]]
_Asked = list[dict[str, Any]]
_Way = Callable[[Any, _Asked, str, Mapping[str, object]], object]


def check_model(llm: object) -> None:
    """Raise WrongType for what `ask` could not ask."""
    _find_way(llm)


def ask(llm: Any, messages: Messages, agent: str, options: Mapping[str, object]) -> str:
    """The model's reply as a text; `options` are parameters for the model, `agent` is who asks.

    Raises what the model raises, BadModelReply for a reply other than a text, and Stopped.
    """
    way = _find_way(llm)
    reply = way(llm, to_acceptable(messages), agent, options)
    return _to_text(finish(reply))


def to_acceptable(messages: Messages) -> list[dict[str, Any]]:
    """The messages with one system message, at the beginning; later ones are the user's. Many chat
    templates take no others.
    """
    leading = list(itertools.takewhile(_is_system, messages))
    asked = list(map(dict, messages[len(leading) :]))
    for message in filter(_is_system, asked):
        message["role"] = "user"
    if leading:
        asked.insert(0, {"role": "system", "content": _join_texts(leading)})
    return asked


def _join_texts(messages: Messages) -> str:
    """What is said in all of them."""
    contents = map(itemgetter("content"), messages)
    return "\n\n".join(map(text_of, contents))


def _is_system(message: Mapping[str, Any]) -> bool:
    return message.get("role") == "system"


# The ways to ask: a reply of any kind, or what is to be waited for to get it.


def _find_way(llm: object) -> _Way:
    if isinstance(llm, Model):
        return _ask_our_model
    way = find_value(_BY_METHOD.items(), lambda method: callable(getattr(llm, method, None)), None)
    if way is None:
        raise WrongType(
            f"{llm!r:.200} is not a language model; give a Model, an OpenAIWrapper, an object with"
            " chat(messages), or a function of the messages that returns a text."
        )
    return way


def _ask_our_model(model: Any, asked: _Asked, agent: str, options: Mapping[str, object]) -> str:
    reply = call(model, cast(Sequence[Message], asked), agent=agent, params=options)
    if reply.stopped:
        stopped = Stopped("stopped by the user")
        stopped.partial = reply.text
        raise stopped
    return reply.text


def _ask_wrapper(llm: Any, asked: _Asked, agent: str, options: Mapping[str, object]) -> object:
    reply = llm.create(messages=asked, agent=agent, **options)
    replies = llm.extract_text_or_completion_object(reply)
    return next(iter(replies), None)


def _chat(llm: Any, asked: _Asked, agent: str, options: Mapping[str, object]) -> object:
    return llm.chat(asked, **options)


def _fill_template(llm: Any, asked: _Asked, agent: str, options: Mapping[str, object]) -> object:
    return llm.generate_from_template(asked, **options)


def _complete(llm: Any, asked: _Asked, agent: str, options: Mapping[str, object]) -> object:
    return llm.generate(_join_texts(asked), **options)


def _ask_function(llm: Any, asked: _Asked, agent: str, options: Mapping[str, object]) -> object:
    return llm(asked, **options)


_BY_METHOD: dict[str, _Way] = {
    "extract_text_or_completion_object": _ask_wrapper,
    "chat": _chat,
    "generate_from_template": _fill_template,
    "generate": _complete,
    "__call__": _ask_function,
}
"""How to ask what has a method of this name; the first that is there counts."""


def _to_text(reply: object) -> str:
    content = _content_of(reply)
    if not isinstance(content, str | list):
        raise BadModelReply(
            f"The model replied {reply!r:.200}, which is not a text; give a model that returns one."
        )
    return text_of(content)


def _content_of(reply: object) -> object:
    """The content of a message, a dict or an object; a batch of one is its text."""
    if isinstance(reply, str):
        return reply
    match reply:
        case [only]:
            return only
    return field_of(reply, "content")
