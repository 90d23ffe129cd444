"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.agents.rewoo import BaseParser as BaseParser
from agentkit.agents.rewoo import JsonParser as JsonParser
from agentkit.agents.rewoo import TupleParser as TupleParser

__all__: list[str]
