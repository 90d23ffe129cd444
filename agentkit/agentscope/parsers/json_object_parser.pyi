"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.parsers import MarkdownJsonDictParser as MarkdownJsonDictParser
from agentkit.parsers import MarkdownJsonObjectParser as MarkdownJsonObjectParser

__all__: list[str]
