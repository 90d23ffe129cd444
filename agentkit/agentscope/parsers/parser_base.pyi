"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.parsers import DictFilterMixin as DictFilterMixin
from agentkit.parsers import ParserBase as ParserBase

__all__: list[str]
