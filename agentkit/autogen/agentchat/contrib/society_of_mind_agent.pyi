"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.agents.society_of_mind import SocietyOfMindAgent as SocietyOfMindAgent

__all__: list[str]
