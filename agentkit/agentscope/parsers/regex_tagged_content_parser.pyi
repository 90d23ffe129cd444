"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.parsers import RegexTaggedContentParser as RegexTaggedContentParser

__all__: list[str]
