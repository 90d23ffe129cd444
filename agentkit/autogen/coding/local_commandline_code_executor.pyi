"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.coding import LocalCommandLineCodeExecutor as LocalCommandLineCodeExecutor

__all__: list[str]
