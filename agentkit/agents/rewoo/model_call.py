"""Asking whatever somebody has as a language model: a model of ours, an OpenAIWrapper, a model of
lagent's kind, a function.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, cast

from agentkit.core.twin import wait_for
from agentkit.errors import BadModelReply, Stopped, WrongType
from agentkit.llm.calls.client import call
from agentkit.llm.model import Model
from agentkit.messages import Message, text_of

Messages = Sequence[Mapping[str, Any]]


def check_model(llm: object) -> None:
    """Raise WrongType for what `ask` could not ask."""
    if not (
        isinstance(llm, Model)
        or callable(llm)
        or any(callable(getattr(llm, way, None)) for way in _WAYS)
    ):
        raise WrongType(
            f"{llm!r:.200} is no language model; give a Model, an OpenAIWrapper, an object with"
            " chat(messages), or a function of the messages that returns a text."
        )


def ask(llm: Any, messages: Messages, agent: str, options: Mapping[str, object]) -> str:
    """The model's reply as a text; `options` are parameters for the model, `agent` is who asks.

    Raises what the model raises, BadModelReply for a reply that is no text, and Stopped.
    """
    asked = acceptable(messages)
    if isinstance(llm, Model):
        return _of_model(llm, asked, agent, options)
    if hasattr(llm, "extract_text_or_completion_object"):
        replies = llm.extract_text_or_completion_object(
            llm.create(messages=asked, agent=agent, **options)
        )
        return _text(replies[0] if replies else None)
    if way := next((way for way in _WAYS[1:3] if callable(getattr(llm, way, None))), ""):
        return _text(getattr(llm, way)(asked, **options))
    if callable(getattr(llm, "generate", None)):
        return _text(
            llm.generate("\n\n".join(text_of(message["content"]) for message in asked), **options)
        )
    return _text(llm(asked, **options))


def acceptable(messages: Messages) -> list[dict[str, Any]]:
    """The messages with one system message, at the beginning; later ones are the user's. Many chat
    templates take no others.
    """
    leading = next(
        (place for place, each in enumerate(messages) if each.get("role") != "system"),
        len(messages),
    )
    system = "\n\n".join(text_of(each["content"]) for each in messages[:leading])
    first = [{"role": "system", "content": system}] if leading else []
    return first + [
        {**each, "role": "user"} if each.get("role") == "system" else dict(each)
        for each in messages[leading:]
    ]


_WAYS = ("extract_text_or_completion_object", "chat", "generate_from_template", "generate")


def _of_model(model: Model, messages: Messages, agent: str, options: Mapping[str, object]) -> str:
    reply = call(model, cast(Sequence[Message], messages), agent=agent, params=options)
    if reply.stopped:
        stopped = Stopped("stopped by the user")
        stopped.partial = reply.text
        raise stopped
    return reply.text


def _text(reply: object) -> str:
    if inspect.isawaitable(reply):
        reply = wait_for(reply)
    content = _content(reply)
    if not isinstance(content, str | list):
        raise BadModelReply(
            f"The model replied {reply!r:.200}, which is no text; give a model that returns one."
        )
    return text_of(content)


def _content(reply: object) -> object:
    """The content of a message, a dict or an object; a batch of one is its text."""
    if isinstance(reply, str):
        return reply
    if isinstance(reply, Mapping):
        return reply.get("content")
    if isinstance(reply, list | tuple) and len(reply) == 1:
        return reply[0]
    return getattr(reply, "content", None)
