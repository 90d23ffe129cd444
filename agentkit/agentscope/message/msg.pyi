"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.agents.dialog import Msg as Msg

__all__: list[str]
