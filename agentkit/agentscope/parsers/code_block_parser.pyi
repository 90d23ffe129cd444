"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.parsers import MarkdownCodeBlockParser as MarkdownCodeBlockParser

__all__: list[str]
