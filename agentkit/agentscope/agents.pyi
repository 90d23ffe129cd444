"""Written by `python -m tests.stubs` from `agentkit.names`; change it there."""

from agentkit.agents.dialog import AgentBase as AgentBase
from agentkit.agents.dialog import DialogAgent as DialogAgent
from agentkit.agents.dialog import DictDialogAgent as DictDialogAgent
from agentkit.agents.dialog import UserAgent as UserAgent

__all__: list[str]
