"""TextMessageCompressor: what it shortens, what it leaves alone, and that it goes with the other
transforms.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkit import Compression
from agentkit.autogen import MessageHistoryLimiter, TextMessageCompressor, TransformMessages
from agentkit.conversation.compression import Extraction
from agentkit.conversation.transforms import SentenceCompressor
from agentkit.errors import WrongArgument, WrongType
from agentkit.llm.cache import Cache
from tests.conversation.cast import modelled

LONG = (
    "The pump weighs 18 kg. It is a pump. The pump is blue. Its motor needs 230 volts and 4 ampere."
    " The pump is a pump."
)


class Halver:
    """Gives the first half, and counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def compress_text(self, text: str, **compression_params: Any) -> dict[str, Any]:
        self.asked += 1
        return {
            "compressed_prompt": text[: len(text) // 2],
            "origin_tokens": len(text),
            "compressed_tokens": len(text) // 2,
        }


def test_texts_and_text_parts_are_shortened_and_the_originals_stay() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "abcd"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "efgh"},
                {"type": "image_url", "image_url": {"url": "u"}},
            ],
        },
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
    ]
    transform = TextMessageCompressor(Halver())
    made = transform.apply_transform(messages)
    assert made[0]["content"] == "ab"
    assert made[1]["content"] == [
        {"type": "text", "text": "ef"},
        {"type": "image_url", "image_url": {"url": "u"}},
    ]
    assert made[2] is messages[2]
    assert messages[0]["content"] == "abcd"
    assert transform.get_logs(messages, made) == ("4 tokens saved with text compression.", True)


def test_filters_and_the_least_number_of_tokens() -> None:
    messages = [{"role": "system", "content": "abcd"}, {"role": "user", "content": "abcd"}]
    spared = TextMessageCompressor(Halver(), filter_dict={"role": "system"})
    assert [one["content"] for one in spared.apply_transform(messages)] == ["abcd", "ab"]
    small = TextMessageCompressor(Halver(), min_tokens=1_000)
    assert small.apply_transform(messages) == messages
    assert small.get_logs(messages, messages) == ("No tokens saved with text compression.", False)


def test_a_cache_answers_the_second_time(tmp_path: Path) -> None:
    compressor, messages = Halver(), [{"role": "user", "content": "abcd"}]
    with Cache.disk(41, str(tmp_path)) as cache:
        transform = TextMessageCompressor(compressor, cache=cache)
        first, second = transform.apply_transform(messages), transform.apply_transform(messages)
    assert (first, compressor.asked) == (second, 1)


def test_without_a_compressor_the_sentences_that_say_most_stay() -> None:
    made = SentenceCompressor().compress_text(LONG, share=0.6)
    assert "230 volts" in made["compressed_prompt"]
    assert "18 kg" in made["compressed_prompt"]
    assert "The pump is a pump." not in made["compressed_prompt"]
    assert made["compressed_tokens"] < made["origin_tokens"]


@given(st.text(max_size=300), st.floats(0.1, 1.0))
def test_any_text_gets_no_longer_and_nothing_is_invented(text: str, share: float) -> None:
    made = SentenceCompressor().compress_text(text, share)["compressed_prompt"]
    assert len(made) <= len(text)
    assert set(made.split()) <= set(text.split())
    assert bool(made.strip()) == bool(text.strip())


def test_it_goes_with_the_other_transforms() -> None:
    agent, client = modelled("ann", "fine")
    transforms: list[Any] = [
        MessageHistoryLimiter(3),
        TextMessageCompressor(),
        Compression(Extraction(), trigger=5_000),
    ]
    TransformMessages(transforms=transforms, verbose=False).add_to_agent(agent)
    agent.generate_reply(
        messages=[{"role": "user", "content": f"{number}. {LONG}"} for number in range(5)]
    )
    sent = [
        message["content"]
        for message in client.requests[0]["messages"]
        if message["role"] == "user"
    ]
    assert len(sent) == 3
    assert all("230 volts" in text and len(text) < len(LONG) for text in sent)


def test_what_cannot_be_is_told() -> None:
    with pytest.raises(WrongArgument, match="min_tokens=0"):
        TextMessageCompressor(min_tokens=0)
    with pytest.raises(WrongType, match="needs compress_text"):
        TextMessageCompressor("zip")  # type: ignore[arg-type]
    with pytest.raises(WrongArgument, match="share=2"):
        SentenceCompressor().compress_text("a", share=2)

    class Mute:
        def compress_text(self, text: str, **compression_params: Any) -> dict[str, Any]:
            return {}

    with pytest.raises(WrongType, match="must be a dict with a text"):
        TextMessageCompressor(Mute()).apply_transform([{"role": "user", "content": "a"}])
