"""Limits on the tokens of each message and of all together."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from agentkit.conversation.transforms.base import Messages
from agentkit.conversation.transforms.groups import applies, head_and_rest
from agentkit.errors import UnknownModel, WrongArgument, WrongType
from agentkit.llm.tokens.counting import count_text
from agentkit.llm.tokens.windows import DEFAULT_MODEL, get_max_token_limit, truncated
from agentkit.messages import Given, functions_of, tool_responses_of, with_responses

log = logging.getLogger(__name__)


class MessageTokenLimiter:
    """Cuts the end off long messages, and drops the oldest messages.

    Each message keeps `max_tokens_per_message` tokens of its text at most, then all together
    `max_tokens`, newest first:
    the message that does not fit whole is cut, and what is older goes. Below `min_tokens` in all
    nothing is done. Limits above the model's window are lowered to it.

    Counted are the texts (results of tools included) and the calls of tools; pictures are not. A
    call and its results stay or go together; a system message at the head stays, and counts. A call
    is never cut: only where the newest one alone exceeds `max_tokens`, the limit is exceeded, since
    a model cannot go on without it. Messages that the filter spares are not cut, but may be
    dropped; for `filter_dict` see `agentkit.conversation.transforms.groups.applies`.

    Raises WrongArgument for negative limits and for `min_tokens` above `max_tokens`, WrongType for
    no whole numbers.
    """

    def __init__(
        self,
        max_tokens_per_message: int | None = None,
        max_tokens: int | None = None,
        min_tokens: int | None = None,
        model: str = DEFAULT_MODEL,
        filter_dict: Mapping[str, object] | None = None,
        exclude_filter: bool = True,
    ) -> None:
        self._model = model
        self._max_tokens_per_message = _within_window(
            "max_tokens_per_message", max_tokens_per_message, model
        )
        self._max_tokens = _within_window("max_tokens", max_tokens, model)
        self._min_tokens = _checked("min_tokens", min_tokens) or 0
        if self._max_tokens is not None and self._min_tokens > self._max_tokens:
            raise WrongArgument(
                f"MessageTokenLimiter: min_tokens={min_tokens} is above"
                f" max_tokens={self._max_tokens}; lower it."
            )
        self._filter_dict = filter_dict
        self._exclude_filter = exclude_filter

    def apply_transform(self, messages: Messages) -> Messages:
        """The messages that remain, in order, as a new list; those that are cut are new dicts."""
        if self._count(messages) < self._min_tokens:
            return list(messages)
        shortened = [self._cut(message, self._max_tokens_per_message) for message in messages]
        if self._max_tokens is None or self._count(shortened) <= self._max_tokens:
            return shortened
        head, rest = head_and_rest(shortened)
        head = self._fitted(head, self._max_tokens)
        room = self._max_tokens - self._count(head)
        kept: list[Messages] = []
        for group in reversed(rest):
            whole = self._count(group)
            if kept and room < whole and room <= self._least(group):
                break
            kept.append(group if whole <= room else self._fitted(group, room))
            room -= whole
            if room < 0:
                break
        return head + [message for group in reversed(kept) for message in group]

    def get_logs(
        self, pre_transform_messages: Messages, post_transform_messages: Messages
    ) -> tuple[str, bool]:
        """How many tokens were cut off or dropped, and whether any were."""
        before, after = self._count(pre_transform_messages), self._count(post_transform_messages)
        if before <= after:
            return "No tokens were truncated.", False
        return (
            f"Truncated {before - after} tokens. Number of tokens reduced from {before} to {after}",
            True,
        )

    def _fitted(self, group: Messages, room: int) -> Messages:
        """The group cut to so many tokens as far as that is possible, its newest message last."""
        room -= self._least(group)
        fitted: Messages = []
        for message in reversed(group):
            fixed = self._least([message])
            fitted.append(self._cut(message, max(0, room)))
            room -= self._count(fitted[-1:]) - fixed
        return fitted[::-1]

    def _least(self, group: Messages) -> int:
        """Tokens of what cannot be cut."""
        return self._count([self._cut(message, 0) for message in group])

    def _cut(self, message: Given, tokens: int | None) -> Given:
        """The message with at most so many tokens of text, unless the filter spares it."""
        if tokens is None or not applies(message, self._filter_dict, self._exclude_filter):
            return message
        if responses := tool_responses_of(message):
            return dict(with_responses(message, self._cut_all(responses, "content", tokens)))
        content = message.get("content")
        if isinstance(content, list):
            return {**message, "content": self._cut_all(content, "text", tokens)}
        return (
            {**message, "content": truncated(content, tokens, self._model)}
            if isinstance(content, str)
            else message
        )

    def _cut_all(self, parts: list[Any], key: str, tokens: int) -> list[Any]:
        """The parts of one message, their texts cut to so many tokens together; the first ones keep
        most.
        """
        cut = []
        for part in parts:
            if isinstance(part, dict) and isinstance(part.get(key), str):
                part = {**part, key: truncated(part[key], tokens, self._model)}
                tokens -= count_text(part[key], self._model)[0]
            cut.append(part)
        return cut

    def _count(self, messages: Messages) -> int:
        return sum(
            count_text(text, self._model)[0] for message in messages for text in _texts(message)
        )


def _texts(message: Given) -> list[str]:
    """The pieces of a message that cost tokens."""
    parts: list[Any] = [message.get("content")]
    if responses := tool_responses_of(message):
        parts = [response.get("content") for response in responses]
    elif isinstance(parts[0], list):
        parts = [part.get("text") if isinstance(part, dict) else part for part in parts[0]]
    calls = [json.dumps(call, ensure_ascii=False) for call in functions_of(message)]
    return [part for part in parts if isinstance(part, str)] + calls


def _checked(name: str, value: int | None) -> int | None:
    if value is not None and not isinstance(value, int):
        raise WrongType(f"MessageTokenLimiter: {name}={value!r} is no whole number.")
    if value is not None and value < 0:
        raise WrongArgument(f"MessageTokenLimiter: {name}={value} must be None or at least 0.")
    return value


def _within_window(name: str, value: int | None, model: str) -> int | None:
    if _checked(name, value) is None:
        return None
    try:
        window = get_max_token_limit(model)
    except UnknownModel:
        return value
    if value is not None and value > window:
        log.warning(
            "MessageTokenLimiter: %s=%d is lowered to %d, the window of %s.",
            name,
            value,
            window,
            model,
        )
        return window
    return value
