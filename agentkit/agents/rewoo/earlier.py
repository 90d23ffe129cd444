"""What planner and solver are told of a chat: the agent's role, the newest turns that fit, and the question."""

from __future__ import annotations

from collections.abc import Sequence

from agentkit.agents.rewoo.protocol import ChatMessage
from agentkit.messages import Stored, content_of, text_of

MOST_CHARACTERS = 12_000
"""Of earlier turns together; some 3,000 tokens of English."""
MOST_OF_ONE = 4_000
"""Of a single earlier turn; of a longer one beginning and end are told."""


def as_told(messages: Sequence[Stored], role: str) -> list[ChatMessage]:
    """The role as a system message (none when it is empty), earlier turns, and the last message, which is never cut.

    Turns of others carry their names; calls without words are left out.
    """
    told: list[ChatMessage] = [{"role": "user", "content": text_of(content_of(messages[-1]))}]
    left = MOST_CHARACTERS
    for message in reversed(messages[:-1]):
        if not (text := _shortened(text_of(content_of(message)).strip())):
            continue
        left -= len(text)
        if left < 0:
            break
        told.append(_turn(message, text))
    return [*([{"role": "system", "content": role}] if role else []), *reversed(told)]


def _turn(message: Stored, text: str) -> ChatMessage:
    if message.get("role") == "assistant":
        return {"role": "assistant", "content": text}
    name = message.get("name")
    return {"role": "user", "content": f"{name}: {text}" if name else text}


def _shortened(text: str) -> str:
    if len(text) <= MOST_OF_ONE:
        return text
    half = MOST_OF_ONE // 2
    return f"{text[:half]} [...] {text[-half:]}"
