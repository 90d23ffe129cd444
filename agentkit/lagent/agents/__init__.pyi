"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.agents.rewoo import BaseAgent as BaseAgent
from agentkit.agents.rewoo import ReWOO as ReWOO
from agentkit.lagent.agents import base_agent as base_agent
from agentkit.lagent.agents import rewoo as rewoo

__all__: list[str]
