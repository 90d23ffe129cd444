"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.core.io import IOConsole as IOConsole

__all__: list[str]
