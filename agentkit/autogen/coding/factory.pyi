"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.coding import CodeExecutorFactory as CodeExecutorFactory

__all__: list[str]
