"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.llm.cache import DiskCache as DiskCache

__all__: list[str]
