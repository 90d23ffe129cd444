"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.agents import UserProxyAgent as UserProxyAgent

__all__: list[str]
