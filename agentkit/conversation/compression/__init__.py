"""Compression of long histories: the capability for any agent, and the strategies by which it
shortens.
"""

from __future__ import annotations

from agentkit.conversation.compression.capability import Compression
from agentkit.conversation.compression.extraction import Extraction
from agentkit.conversation.compression.model_summary import ModelSummary
from agentkit.conversation.compression.shape import summary_message
from agentkit.conversation.compression.strategy import Scope, Strategy
from agentkit.conversation.compression.tool_output import ToolOutput
from agentkit.conversation.compression.window import SlidingWindow

__all__ = [
    "Compression",
    "Extraction",
    "ModelSummary",
    "Scope",
    "SlidingWindow",
    "Strategy",
    "ToolOutput",
    "summary_message",
]
