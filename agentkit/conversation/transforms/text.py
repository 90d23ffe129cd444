"""Shorter texts: each message's text as a text compressor gives it back."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

from agentkit.conversation.transforms.base import Messages
from agentkit.conversation.transforms.groups import MessageFilter, change_texts, find_texts
from agentkit.core.given import coalesce
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
        spans = (text[start:end] for start, end in sentences(text))
        said = list(filter(str.strip, spans))
        kept = _choose(said, share * len(text))
        shorter = " ".join(said[place].strip() for place in kept) or text
        return {
            "compressed_prompt": shorter,
            "origin_tokens": _count(text),
            "compressed_tokens": _count(shorter),
        }


class TextMessageCompressor:
    """Shortens the text of each message by a `text_compressor`, by default a `SentenceCompressor`;
    the originals stay.

    Below `min_tokens` in all nothing is done. `compression_params` go to the compressor; a `cache`
    keeps what it gave (AutoGen's default is a cache on disk, here there is none). For `filter_dict`
    see `agentkit.conversation.transforms.groups.MessageFilter`.
    Raises WrongArgument for `min_tokens` below 1, WrongType for another object.
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
        if coalesce(min_tokens, 1) <= 0:
            raise WrongArgument(
                f"TextMessageCompressor: min_tokens={min_tokens} must be None or above 0."
            )
        self._compressor = compressor
        self._min_tokens = coalesce(min_tokens, 0)
        self._params: dict[str, Any] = dict(coalesce(compression_params, {}))
        self._cache = cache
        self._filter = MessageFilter(filter_dict, exclude_filter)
        self._saved = 0

    def apply_transform(self, messages: Messages) -> Messages:
        """The messages in order, as a new list; those that are shortened are new dicts."""
        self._saved = 0
        if self._min_tokens and _count_tokens(messages) < self._min_tokens:
            return list(messages)
        return self._filter.change(messages, self._compress)

    def get_logs(
        self, pre_transform_messages: Messages, post_transform_messages: Messages
    ) -> tuple[str, bool]:
        """How many tokens the last transform saved as the compressor counts, and whether any."""
        if self._saved <= 0:
            return "No tokens saved with text compression.", False
        return f"{self._saved} tokens saved with text compression.", True

    def _compress(self, message: Given) -> Given:
        if not message.get("content"):
            return message
        return {**message, "content": change_texts(message["content"], self._compress_text)}

    def _compress_text(self, text: str) -> str:
        if not text.strip():
            return text
        shorter, saved = self._look_up(text)
        self._saved += saved
        return str(shorter)

    def _look_up(self, text: str) -> tuple[str, int]:
        """The shorter text, and how many tokens it saves; from the cache where that knows it."""
        if self._cache is None:
            return self._ask(text)
        key = hashlib.sha256(json.dumps([text, self._params], default=repr).encode()).hexdigest()
        found = self._cache.get(key)
        if found is None:
            found = list(self._ask(text))
            self._cache.set(key, found)
        shorter, saved = found
        return shorter, saved

    def _ask(self, text: str) -> tuple[str, int]:
        made: Any = self._compressor.compress_text(text, **self._params)
        shorter = None
        if isinstance(made, Mapping):
            shorter = made.get("compressed_prompt")
        if not isinstance(shorter, str):
            raise WrongType(
                f"The text compressor gave {made!r:.200}; it must be a dict with a text as"
                " compressed_prompt."
            )
        if not made.keys() >= {"origin_tokens", "compressed_tokens"}:
            return shorter, 0
        return shorter, made["origin_tokens"] - made["compressed_tokens"]


def _choose(said: Sequence[str], room: float) -> list[int]:
    """Places of the sentences that say most and fit into so many characters; at least one."""
    worth = _weigh(said)
    kept: list[int] = []
    for place in sorted(range(len(said)), key=worth.__getitem__, reverse=True):
        length = len(said[place])
        if not kept or length <= room:
            kept.append(place)
            room -= length
    return sorted(kept)


def _count(text: str) -> int:
    tokens, _ = count_text(text, DEFAULT_MODEL)
    return tokens


def _count_tokens(messages: Messages) -> int:
    texts = chain.from_iterable(find_texts(message.get("content")) for message in messages)
    return sum(map(_count, texts))


def _weigh(said: Sequence[str]) -> list[float]:
    """How much each sentence says: rare words count more, and half as much again with a figure."""
    words = [set(stems(sentence)) for sentence in said]
    counts = Counter(chain.from_iterable(words))
    worths = []
    for sentence, own in zip(said, words, strict=True):
        rarity = sum(1 / counts[word] for word in own) / (1 + len(own)) ** 0.5
        has_figure = any(map(str.isdigit, sentence))
        worths.append(rarity * (1 + 0.5 * has_figure))
    return worths
