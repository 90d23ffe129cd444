"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.agents.rewoo import ActionReturn as ActionReturn
from agentkit.agents.rewoo import ActionStatusCode as ActionStatusCode
from agentkit.agents.rewoo import ActionValidCode as ActionValidCode
from agentkit.agents.rewoo import AgentReturn as AgentReturn
from agentkit.agents.rewoo import AgentStatusCode as AgentStatusCode

__all__: list[str]
