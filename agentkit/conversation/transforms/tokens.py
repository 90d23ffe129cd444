"""Limits on the tokens of each message and of all together."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from agentkit.conversation.transforms.base import Messages
from agentkit.conversation.transforms.groups import (
    MessageFilter,
    check_limit,
    find_texts,
    split_head,
)
from agentkit.core.given import coalesce
from agentkit.errors import UnknownModel, WrongArgument
from agentkit.llm.tokens.counting import count_text
from agentkit.llm.tokens.windows import DEFAULT_MODEL, get_max_token_limit, truncate
from agentkit.messages import AnyMessage, Given, functions_of, tool_responses_of, with_responses

log = logging.getLogger(__name__)
_OWNER = "MessageTokenLimiter"


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
    dropped; for `filter_dict` see `agentkit.conversation.transforms.groups.MessageFilter`.

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
        self._max_tokens_per_message = _fit_window(
            "max_tokens_per_message", max_tokens_per_message, model
        )
        self._max_tokens = _fit_window("max_tokens", max_tokens, model)
        check_limit(_OWNER, "min_tokens", min_tokens, 0)
        self._min_tokens = coalesce(min_tokens, 0)
        if self._min_tokens > coalesce(self._max_tokens, self._min_tokens):
            raise WrongArgument(
                f"MessageTokenLimiter: min_tokens={min_tokens} is above"
                f" max_tokens={self._max_tokens}; lower it."
            )
        self._filter = MessageFilter(filter_dict, exclude_filter)

    def apply_transform(self, messages: Messages) -> Messages:
        """The messages that remain, in order, as a new list; those that are cut are new dicts."""
        if self._count(messages) < self._min_tokens:
            return list(messages)
        shortened = list(messages)
        if self._max_tokens_per_message is not None:
            shortened = self._cut_each(messages, self._max_tokens_per_message)
        most = self._max_tokens
        if most is None or self._count(shortened) <= most:
            return shortened
        return self._drop_oldest(shortened, most)

    def _drop_oldest(self, messages: Messages, most: int) -> Messages:
        """The head and the newest messages; the one that does not fit whole is cut."""
        head, rest = split_head(messages)
        head = self._fit(head, most)
        room = most - self._count(head)
        kept: Messages = []
        for group in reversed(rest):
            size = self._count(group)
            if size > room:
                if not kept or room > self._count_least(group):
                    kept = self._fit(group, room) + kept
                break
            kept = group + kept
            room -= size
        return head + kept

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

    def _fit(self, group: Messages, room: int) -> Messages:
        """The group cut to so many tokens as far as that is possible, its newest message last."""
        room -= self._count_least(group)
        fitted: Messages = []
        for message in reversed(group):
            cut = self._cut_each([message], max(0, room))
            room -= self._count(cut) - self._count_least([message])
            fitted += cut
        return fitted[::-1]

    def _count_least(self, group: Messages) -> int:
        """Tokens of what cannot be cut."""
        return self._count(self._cut_each(group, 0))

    def _cut_each(self, messages: Messages, tokens: int) -> Messages:
        """The messages with at most so many tokens of text each; those that the filter spares stay
        whole.
        """
        return self._filter.change(messages, lambda message: self._cut(message, tokens))

    def _cut(self, message: Given, tokens: int) -> Given:
        if responses := tool_responses_of(message):
            return dict(with_responses(message, self._cut_all(responses, "content", tokens)))
        content = message.get("content")
        if isinstance(content, list):
            return {**message, "content": self._cut_all(content, "text", tokens)}
        (cut,) = self._cut_all([message], "content", tokens)
        return dict(cut)

    def _cut_all(self, parts: Sequence[Any], key: str, tokens: int) -> list[Any]:
        """The parts of one message, their texts cut to so many tokens together; the first ones keep
        most.
        """
        cut = []
        for part in parts:
            text = None
            if isinstance(part, dict):
                text = part.get(key)
            if isinstance(text, str):
                text = truncate(text, tokens, self._model)
                tokens -= count_text(text, self._model)[0]
                part = {**part, key: text}
            cut.append(part)
        return cut

    def _count(self, messages: Messages) -> int:
        pieces = chain.from_iterable(map(_find_pieces, messages))
        return sum(count_text(piece, self._model)[0] for piece in pieces)


def _find_pieces(message: Given) -> Iterator[str]:
    """The texts and the calls of a message: what costs tokens."""
    parts: Sequence[AnyMessage] = tool_responses_of(message) or [message]
    for part in parts:
        yield from find_texts(part.get("content"))
    for call in functions_of(message):
        yield json.dumps(call, ensure_ascii=False)


def _fit_window(argument: str, limit: int | None, model: str) -> int | None:
    """The limit, or the model's window where that is smaller; raises WrongType and WrongArgument
    for other values.
    """
    check_limit(_OWNER, argument, limit, 0)
    try:
        window = get_max_token_limit(model)
    except UnknownModel:
        return limit
    if limit is None or limit <= window:
        return limit
    what = "%s: %s=%d is lowered to %d, the window of %s."
    log.warning(what, _OWNER, argument, limit, window, model)
    return window
