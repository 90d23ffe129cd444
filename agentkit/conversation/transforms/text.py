"""Shorter texts: each message's text as a text compressor gives it back."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from agentkit.conversation.transforms.base import Messages
from agentkit.conversation.transforms.groups import applies
from agentkit.core.text import sentences
from agentkit.errors import WrongArgument, WrongType
from agentkit.llm.offline.words import stems
from agentkit.llm.tokens.counting import count_text
from agentkit.llm.tokens.windows import DEFAULT_MODEL
from agentkit.messages import Given

if TYPE_CHECKING:
    from agentkit.llm.cache import AbstractCache


class TextCompressor(Protocol):
    """Makes a text shorter; AutoGen's protocol, which LLMLingua's adapter there fulfils."""

    def compress_text(self, text: str, **compression_params: object) -> dict[str, Any]:
        """`compressed_prompt`, and where they are known `origin_tokens` and `compressed_tokens`."""


class SentenceCompressor:
    """Leaves out the sentences that say least, without a model: those whose words are said
    elsewhere in the text, too.

    Sentences with figures count more.
    """

    def compress_text(
        self, text: str, share: float = 0.5, **compression_params: object
    ) -> dict[str, Any]:
        """The sentences that say most, in their order, up to this share of the text's characters;
        at least one of them.
        """
        if not 0 < share <= 1:
            raise WrongArgument(
                f"SentenceCompressor: share={share!r} must be above 0 and at most 1."
            )
        spans = [span for span in sentences(text) if text[slice(*span)].strip()]
        worth = _worth([text[slice(*span)] for span in spans])
        room, kept = share * len(text), set[int]()
        for place in sorted(range(len(spans)), key=lambda place: (-worth[place], place)):
            start, end = spans[place]
            if not kept or end - start <= room:
                kept.add(place)
                room -= end - start
        shorter = (
            " ".join(text[slice(*spans[place])].strip() for place in sorted(kept))
            if spans
            else text
        )
        return {
            "compressed_prompt": shorter,
            "origin_tokens": count_text(text, DEFAULT_MODEL)[0],
            "compressed_tokens": count_text(shorter, DEFAULT_MODEL)[0],
        }


class TextMessageCompressor:
    """Shortens the text of each message by a `text_compressor`, by default a `SentenceCompressor`;
    the originals stay.

    Below `min_tokens` in all nothing is done. `compression_params` go to the compressor; a `cache`
    keeps what it gave (AutoGen's default is a cache on disk, here there is none). For `filter_dict`
    see `agentkit.conversation.transforms.groups.applies`.
    Raises WrongArgument for `min_tokens` below 1, WrongType for what is no compressor.
    """

    def __init__(
        self,
        text_compressor: TextCompressor | None = None,
        min_tokens: int | None = None,
        compression_params: Mapping[str, object] | None = None,
        cache: AbstractCache | None = None,
        filter_dict: Mapping[str, object] | None = None,
        exclude_filter: bool = True,
    ) -> None:
        compressor = SentenceCompressor() if text_compressor is None else text_compressor
        if not callable(getattr(compressor, "compress_text", None)):
            raise WrongType(
                "TextMessageCompressor: text_compressor needs compress_text(text, ...);"
                f" {compressor!r:.200} has none."
            )
        if min_tokens is not None and min_tokens <= 0:
            raise WrongArgument(
                f"TextMessageCompressor: min_tokens={min_tokens} must be None or above 0."
            )
        self._compressor = compressor
        self._min_tokens = min_tokens or 0
        self._params: dict[str, Any] = dict(compression_params or {})
        self._cache = cache
        self._filter_dict = filter_dict
        self._exclude_filter = exclude_filter
        self._saved = 0

    def apply_transform(self, messages: Messages) -> Messages:
        """The messages in order, as a new list; those that are shortened are new dicts."""
        self._saved = 0
        if self._min_tokens and _tokens(messages) < self._min_tokens:
            return list(messages)
        return [
            (
                self._of(message)
                if applies(message, self._filter_dict, self._exclude_filter)
                else message
            )
            for message in messages
        ]

    def get_logs(
        self, pre_transform_messages: Messages, post_transform_messages: Messages
    ) -> tuple[str, bool]:
        """How many tokens the last transform saved as the compressor counts, and whether any."""
        if self._saved > 0:
            return f"{self._saved} tokens saved with text compression.", True
        return "No tokens saved with text compression.", False

    def _of(self, message: Given) -> Given:
        content = message.get("content")
        if isinstance(content, str) and content.strip():
            return {**message, "content": self._shorter(content)}
        if isinstance(content, list):
            parts = [
                (
                    {**part, "text": self._shorter(part["text"])}
                    if isinstance(part, dict) and part.get("text")
                    else part
                )
                for part in content
            ]
            return {**message, "content": parts}
        return message

    def _shorter(self, text: str) -> str:
        key = hashlib.sha256(json.dumps([text, self._params], default=repr).encode()).hexdigest()
        found = self._cache.get(key) if self._cache is not None else None
        if found is None:
            made: Any = self._compressor.compress_text(text, **self._params)
            if not isinstance(made, Mapping) or not isinstance(made.get("compressed_prompt"), str):
                raise WrongType(
                    f"The text compressor gave {made!r:.200}; it must be a dict with a text as"
                    " compressed_prompt."
                )
            saved = (
                made["origin_tokens"] - made["compressed_tokens"]
                if {"origin_tokens", "compressed_tokens"} <= made.keys()
                else 0
            )
            found = [made["compressed_prompt"], saved]
            if self._cache is not None:
                self._cache.set(key, found)
        self._saved += found[1]
        return str(found[0])


def _tokens(messages: Messages) -> int:
    texts = [message["content"] for message in messages if isinstance(message.get("content"), str)]
    parts = [
        part
        for message in messages
        if isinstance(message.get("content"), list)
        for part in message["content"]
    ]
    texts += [part["text"] for part in parts if isinstance(part, dict) and part.get("text")]
    return sum(count_text(text, DEFAULT_MODEL)[0] for text in texts)


def _worth(said: Sequence[str]) -> list[float]:
    """How much each sentence says: rare words count more, and half as much again with a figure."""
    words = [set(stems(sentence)) for sentence in said]
    counts = Counter(word for each in words for word in each)
    rarity = [sum(1 / counts[word] for word in each) / (1 + len(each)) ** 0.5 for each in words]
    has_figure = [any(sign.isdigit() for sign in sentence) for sentence in said]
    return [
        value * 1.5 if figure else value for value, figure in zip(rarity, has_figure, strict=True)
    ]
