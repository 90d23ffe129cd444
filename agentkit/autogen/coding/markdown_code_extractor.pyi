"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.coding import MarkdownCodeExtractor as MarkdownCodeExtractor

__all__: list[str]
