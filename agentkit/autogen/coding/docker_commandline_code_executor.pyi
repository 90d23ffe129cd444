"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.coding import DockerCommandLineCodeExecutor as DockerCommandLineCodeExecutor

__all__: list[str]
