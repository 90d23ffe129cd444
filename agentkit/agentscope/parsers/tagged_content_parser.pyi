"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.parsers import MultiTaggedContentParser as MultiTaggedContentParser
from agentkit.parsers import TaggedContent as TaggedContent

__all__: list[str]
