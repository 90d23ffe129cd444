"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.agents.dialog import ModelWrapperBase as ModelWrapperBase

__all__: list[str]
