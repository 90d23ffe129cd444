"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.conversation.transforms import MessageHistoryLimiter as MessageHistoryLimiter
from agentkit.conversation.transforms import MessageTokenLimiter as MessageTokenLimiter
from agentkit.conversation.transforms import MessageTransform as MessageTransform
from agentkit.conversation.transforms import TextMessageCompressor as TextMessageCompressor
from agentkit.conversation.transforms import TextMessageContentName as TextMessageContentName

__all__: list[str]
