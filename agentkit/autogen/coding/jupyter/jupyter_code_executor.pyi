"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.coding import JupyterCodeExecutor as JupyterCodeExecutor

__all__: list[str]
