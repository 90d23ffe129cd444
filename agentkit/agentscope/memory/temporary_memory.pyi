"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.agents.dialog import TemporaryMemory as TemporaryMemory

__all__: list[str]
