"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.agents.dialog import TemporaryMemory as TemporaryMemory
from agentkit.agentscope.memory import temporary_memory as temporary_memory

__all__: list[str]
