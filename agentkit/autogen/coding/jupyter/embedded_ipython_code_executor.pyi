"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.coding import EmbeddedIPythonCodeExecutor as EmbeddedIPythonCodeExecutor

__all__: list[str]
