"""Changes to the messages that a model is shown: limits on their number and tokens, shorter texts,
names in their text.
"""

from __future__ import annotations

from agentkit.conversation.transforms.base import (
    AgentCapability,
    MessageTransform,
    TransformMessages,
)
from agentkit.conversation.transforms.history import MessageHistoryLimiter
from agentkit.conversation.transforms.names import TextMessageContentName
from agentkit.conversation.transforms.text import (
    SentenceCompressor,
    TextCompressor,
    TextMessageCompressor,
)
from agentkit.conversation.transforms.tokens import MessageTokenLimiter

__all__ = [
    "AgentCapability",
    "MessageHistoryLimiter",
    "MessageTokenLimiter",
    "MessageTransform",
    "SentenceCompressor",
    "TextCompressor",
    "TextMessageCompressor",
    "TextMessageContentName",
    "TransformMessages",
]
